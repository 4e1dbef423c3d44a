package reduce

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
)

// generate returns a random stream of events.
func generate(t *rapid.T, g judge.Generator) []string {
	seed := rapid.Uint64().Draw(t, "seed")
	return judge.Generate(rand.New(rand.NewPCG(seed, 0)), g)
}

// TestInvariants compares what a Reducer knows about its messages with the messages, after
// every event of generated and damaged streams.
func TestInvariants(t *testing.T) {
	t.Parallel()
	odd := judge.UnknownTypes | judge.ExtraKeys | judge.Legacy | judge.OddPatches | judge.UnknownOperations
	rapid.Check(t, func(rt *rapid.T) {
		events := generate(rt, judge.Generator{With: odd})
		if rapid.Bool().Draw(rt, "damaged") {
			events = judge.Damage(rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "damage"), 0)), events)
		}
		r := New(Options{Dialect: rapid.SampledFrom([]Dialect{RFC6902, Client}).Draw(rt, "dialect")})
		for _, event := range events {
			apply(t, r, event)
			check(t, r)
			for _, text := range [][]byte{r.AppendMessages(nil), r.AppendInterrupts(nil)} {
				read(text) // panics if the text is not JSON
			}
			if t.Failed() {
				rt.Fatalf("after %s", event)
			}
		}
	})
}

// TestChunks checks that chunks and the events that they stand for have the same effect.
func TestChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		events := generate(rt, judge.Generator{})
		whole := New(Options{})
		var x chunk.Expander
		for _, text := range events {
			e, err := envelope.ReadEvent([]byte(text))
			if err != nil {
				rt.Fatal(err)
			}
			x.Expand(e, func(e *envelope.Event) { whole.Event(e) })
		}
		chunked := New(Options{})
		apply(t, chunked, events...)
		equal(rt, whole, chunked)
	})
}

// TestReplay checks that a snapshot of the messages and the state at the end of a stream
// changes nothing, and gives them to a new Reducer.
func TestReplay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := New(Options{})
		apply(t, r, generate(rt, judge.Generator{Without: judge.Collisions})...)
		messages, state := r.AppendMessages(nil), r.AppendState(nil)
		snapshots := []string{`{"type":"MESSAGES_SNAPSHOT","messages":` + string(messages) + `}`, `{"type":"STATE_SNAPSHOT","snapshot":` + string(state) + `}`}
		fresh, restored := New(Options{}), New(Options{})
		apply(t, fresh, snapshots...)
		if err := restored.Restore(messages, state); err != nil {
			t.Fatal(err)
		}
		list := []*Reducer{fresh, restored}
		// A snapshot with one id twice is not the same when it is applied again. It can
		// have one without collisions: a tool call makes a message with its id.
		if len(r.conversation.byID) == r.conversation.Len() {
			apply(t, r, snapshots...)
			list = append(list, r)
		}
		for _, r := range list {
			check(t, r)
			if got := r.AppendMessages(nil); string(got) != string(messages) {
				rt.Fatalf("messages\n%s, want\n%s", got, messages)
			}
			if got := r.AppendState(nil); string(got) != string(state) {
				rt.Fatalf("state %s, want %s", got, state)
			}
		}
	})
}

// TestDialects checks that the dialects differ only in the patches on which the client
// and RFC 6902 differ: without patches they never do.
func TestDialects(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		events := generate(rt, judge.Generator{Without: judge.Activities})
		a, b := New(Options{Dialect: RFC6902}), New(Options{Dialect: Client})
		apply(t, a, events...)
		apply(t, b, events...)
		if a, b := a.AppendMessages(nil), b.AppendMessages(nil); string(a) != string(b) {
			rt.Fatalf("rfc6902\n%s, client\n%s", a, b)
		}
	})
}

// equal compares two Reducers.
func equal(t *rapid.T, a, b *Reducer) {
	for _, text := range []func(r *Reducer) []byte{
		func(r *Reducer) []byte { return r.AppendMessages(nil) },
		func(r *Reducer) []byte { return r.AppendState(nil) },
		func(r *Reducer) []byte { return r.AppendInterrupts(nil) },
	} {
		if a, b := text(a), text(b); string(a) != string(b) {
			t.Fatalf("\n%s\n%s", a, b)
		}
	}
}

// TestTyped reads the messages of generated streams with package event.
func TestTyped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := New(Options{})
		apply(t, r, generate(rt, judge.Generator{With: judge.ExtraKeys | judge.Legacy})...)
		list, i := r.Messages(), 0
		for m := range r.conversation.All {
			if got := list[i]; got.Role() != m.Role() || got.Common().ID != m.ID() {
				rt.Fatalf("message %d is %v", i, got)
			}
			i++
		}
	})
	r := New(Options{})
	apply(t, r, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":5},{"role":"tool"}]}`)
	for _, m := range r.Messages() {
		if _, ok := m.(*event.UnknownMessage); !ok {
			t.Errorf("the message %v is known", m)
		}
	}
}
