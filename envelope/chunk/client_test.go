//go:build client

package chunk_test

import (
	"errors"
	"math/rand"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
	"github.com/p20export/p20export/envelope/judge"
)

// TestClientExpand compares expansions with those of the reference client, up to the first
// event that one of them refuses.
func TestClientExpand(t *testing.T) {
	j := judge.Start(t)
	for seed := range int64(judge.Streams(2000)) {
		events := randomEvents(rand.New(rand.NewSource(seed)))
		var got []string
		var fault *chunk.Fault
		var x chunk.Expander
		refused := -1
		for i, text := range events {
			var list []string
			if fault = x.Expand(read(t, i, text), func(e *envelope.Event) { list = append(list, string(e.Data)) }); fault != nil {
				refused = i
				break
			}
			got = append(got, list...)
		}
		want, err := j.Expand(events)
		first := -1
		if r := new(judge.Refused); errors.As(err, &r) {
			first = r.Index
		}
		if first != refused {
			t.Fatalf("seed %d: the client refuses event %d (%v), we refuse event %d (%v)\n%q", seed, first, err, refused, fault, events)
		}
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d events, want %d\n%q\n%q", seed, len(got), len(want), got, want)
		}
		for i := range want {
			if !judge.Equal(want[i], got[i]) {
				t.Fatalf("seed %d: event %d is %s, want %s", seed, i, got[i], want[i])
			}
		}
	}
}
