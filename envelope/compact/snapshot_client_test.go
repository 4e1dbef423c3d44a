//go:build client

package compact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/reduce"
)

// TestClientSnapshot asks the reference client about compacted streams: it accepts them and
// their events, and has the same messages and state after them.
func TestClientSnapshot(t *testing.T) {
	j := judge.Start(t)
	checked, streams := 0, judge.Streams(2000)
	for seed := range uint64(streams) {
		events := withoutParents(judge.Generate(rand.New(rand.NewPCG(seed, 2)), closed))
		var got []string
		c := newSnapshots(Options{}, emitTo(t, &got), defaultLimits)
		c.options.Dialect = reduce.Client
		c.reducer = reduce.New(c.options)
		if err := feed(t, c, events); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		list := strings.Join(events, "\n") + "\nbecomes\n" + strings.Join(got, "\n")
		if i, text := j.Verify(got); i >= 0 {
			t.Fatalf("seed %d: the client refuses event %d: %s\n%s", seed, i, text, list)
		}
		for i, problem := range j.Schemas(got) {
			if problem != "" {
				t.Fatalf("seed %d: event %d is not valid: %s\n%s", seed, i, problem, list)
			}
		}
		messages, state, err := j.Reduce(events)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, list)
		}
		nowMessages, nowState, err := j.Reduce(got)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, list)
		}
		if !judge.Equal(state, nowState) {
			t.Fatalf("seed %d: the state is\n%s\nand then\n%s\n%s", seed, state, nowState, list)
		}
		if hasRepeats(t, got) {
			continue
		}
		if judge.Equal(messages, nowMessages) {
			checked++
		} else if !isMoved(t, messages, nowMessages) {
			t.Fatalf("seed %d: the messages are\n%s\nand then\n%s\n%s", seed, messages, nowMessages, list)
		}
	}
	if checked < streams*9/10 {
		t.Errorf("the messages of only %d streams were compared", checked)
	}
}
