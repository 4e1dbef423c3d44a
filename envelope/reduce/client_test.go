//go:build client

package reduce

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/judge"
)

// TestClientReduce compares messages and state with those of the reference client at the
// end of generated streams.
func TestClientReduce(t *testing.T) {
	j := judge.Start(t)
	for seed := range uint64(judge.Streams(2000)) {
		events := judge.Generate(rand.New(rand.NewPCG(seed, 17)), judge.Generator{})
		r := New(Options{Dialect: Client})
		apply(t, r, events...)
		check(t, r)
		messages, state, err := j.Reduce(events)
		if err != nil {
			t.Fatalf("seed %d: the client refuses the stream: %v", seed, err)
		}
		if got := string(r.AppendMessages(nil)); !judge.Equal(got, messages) {
			t.Errorf("seed %d: messages\n%s, want\n%s\n%s", seed, got, messages, strings.Join(events, "\n"))
		}
		if got := string(r.AppendState(nil)); !judge.Equal(got, state) {
			t.Errorf("seed %d: state\n%s, want\n%s\n%s", seed, got, state, strings.Join(events, "\n"))
		}
		if t.Failed() {
			return
		}
	}
}
