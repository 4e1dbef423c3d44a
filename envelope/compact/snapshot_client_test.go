//go:build client

package compact

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/strictjson"
)

// TestClientSnapshot asks the reference client about compacted streams: it accepts them and
// their events, and has the same messages and state after them.
func TestClientSnapshot(t *testing.T) {
	j := judge.Start(t)
	checked, streams := 0, judge.Streams(2000)
	for seed := range uint64(streams) {
		events := withoutParents(judge.Generate(rand.New(rand.NewPCG(seed, 2)), closed))
		var got []string
		c := newSnapshots(Options{Dialect: reduce.Client}, emitTo(t, &got), defaultLimits)
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
		messages, state, err := j.ReduceFrom("[]", judge.FirstState(events), events)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, list)
		}
		nowMessages, nowState, err := j.ReduceFrom("[]", judge.FirstState(got), got)
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

// TestClientSnapshotSeed is TestClientSnapshot for a client that holds a request.
func TestClientSnapshotSeed(t *testing.T) {
	j := judge.Start(t)
	checked, streams := 0, judge.Streams(500)
	for seed := range uint64(streams) {
		request, events := seededStream(t, rand.New(rand.NewPCG(seed, 5)))
		got, _, err := snapshotFrom(t, Options{Dialect: reduce.Client}, request, events)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var o strictjson.Object
		if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), request); err != nil {
			t.Fatal(err)
		}
		list, _ := o.Get("messages")
		held, _ := o.Get("state")
		messages, state, err := j.ReduceFrom(string(list.Raw), string(held.Raw), events)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(events, "\n"))
		}
		nowMessages, nowState, err := j.ReduceFrom(string(list.Raw), string(held.Raw), got)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(got, "\n"))
		}
		if !judge.Equal(state, nowState) {
			t.Fatalf("seed %d: the state is\n%s\nand then\n%s\n%s\n%s", seed, state, nowState, request, strings.Join(events, "\n"))
		}
		if judge.Equal(messages, nowMessages) {
			checked++
		} else if !hasRepeats(t, got) && !isMoved(t, messages, nowMessages) {
			t.Fatalf("seed %d: the messages are\n%s\nand then\n%s\n%s\n%s", seed, messages, nowMessages, request, strings.Join(events, "\n"))
		}
	}
	if checked < streams*9/10 {
		t.Errorf("the messages of only %d streams are equal", checked)
	}
}
