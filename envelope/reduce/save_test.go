package reduce

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/internal/saving"
)

// saves is what a Saver saved of a Reducer, again and again.
type saves struct {
	saver Saver
	list  []Saved
}

func (s Saved) clone() Saved { return Saved{s.Same, slices.Clone(s.Messages), slices.Clone(s.Rest)} }

// reloaded saves a Reducer once more, and returns the one that is loaded. What is loaded has the same
// bytes when it is saved.
func (s *saves) reloaded(t *rapid.T, r *Reducer) *Reducer {
	t.Helper()
	s.list = append(s.list, s.saver.Save(r).clone())
	again, ok := Load(r.options, s.list)
	if !ok {
		t.Fatalf("it cannot be loaded: %+v", s.list)
	}
	if diff := differ(everythingOf(r), everythingOf(again)); diff != "" {
		t.Fatalf("saved -, loaded +\n%s", diff)
	}
	whole, twice := new(Saver).Save(r), new(Saver).Save(again)
	if whole.Same != 0 || !bytes.Equal(whole.Messages, twice.Messages) || !bytes.Equal(whole.Rest, twice.Rest) {
		t.Fatalf("saved again:\n%+v\nwant\n%+v", twice, whole)
	}
	return again
}

// drawReducer returns a source of random numbers, and a Reducer with one of the dialects.
func drawReducer(t *rapid.T) (*rand.Rand, *Reducer) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	return random, New(Options{Dialect: rapid.SampledFrom([]Dialect{RFC6902, Client}).Draw(t, "dialect")})
}

// TestSaver saves one Reducer many times, so that a few messages of many differ.
func TestSaver(t *testing.T) {
	t.Parallel()
	same := 0
	rapid.Check(t, func(rt *rapid.T) {
		random, r := drawReducer(rt)
		var s saves
		for range 5 {
			for _, e := range judge.Generate(random, judge.Generator{With: oddEvents}) {
				apply(t, r, e)
				if random.IntN(10) == 0 {
					s.reloaded(rt, r)
					same += s.list[len(s.list)-1].Same
				}
			}
		}
	})
	if same == 0 {
		t.Error("all messages were written each time")
	}
}

// TestLoadLimit does not load more messages than a Reducer can have.
func TestLoadLimit(t *testing.T) {
	t.Parallel()
	one := coder{Coder: new(saving.Coder)}
	one.message(newText("", "", ""))
	for n, want := range map[int]bool{maxLoaded/messageMemory - 1: true, maxLoaded/messageMemory + 1: false} {
		saved := []Saved{{Messages: bytes.Repeat(one.Bytes, n)}, new(Saver).Save(New(Options{}))}
		if _, ok := Load(Options{}, saved); ok != want {
			t.Errorf("%d messages: %v", n, ok)
		}
	}
	if _, ok := Load(Options{}, nil); ok {
		t.Error("nothing was loaded")
	}
}

const oddEvents = judge.UnknownTypes | judge.ExtraKeys | judge.Legacy | judge.OddPatches | judge.UnknownOperations

// TestLoadHostile changes bytes of saved Reducers. What can be loaded takes events.
func TestLoadHostile(t *testing.T) {
	t.Parallel()
	loaded := 0
	rapid.Check(t, func(rt *rapid.T) {
		random, r := drawReducer(rt)
		var saver Saver
		var list []Saved
		for range 3 {
			for _, e := range judge.Generate(random, judge.Generator{With: oddEvents}) {
				apply(t, r, e)
			}
			list = append(list, saver.Save(r).clone())
		}
		for range 50 {
			var damaged []Saved
			for _, s := range list {
				damaged = append(damaged, s.clone())
			}
			for range 1 + random.IntN(3) {
				s := &damaged[random.IntN(len(damaged))]
				part := []*[]byte{&s.Messages, &s.Messages, &s.Rest}[random.IntN(3)]
				if random.IntN(10) == 0 {
					s.Same += random.IntN(5) - 2
				}
				if len(*part) == 0 {
					continue
				}
				switch at := random.IntN(len(*part)); random.IntN(3) {
				case 0:
					(*part)[at] = byte(random.Uint32())
				case 1:
					*part = slices.Delete(*part, at, at+1)
				default:
					*part = slices.Insert(*part, at, byte(random.Uint32()))
				}
			}
			again, ok := Load(r.options, damaged)
			if !ok {
				continue
			}
			loaded++
			for _, e := range judge.Generate(random, judge.Generator{With: oddEvents}) {
				apply(t, again, e)
			}
			new(Saver).Save(again)
			again.View()
			again.Changes()
			again.PendingToolCalls()
			again.AppendInterrupts(nil)
		}
	})
	if loaded == 0 {
		t.Error("nothing was loaded")
	}
}

// TestSaveFunction saves a state in whose place a patch of the client has put a function. A further patch
// fails with the same reason.
func TestSaveFunction(t *testing.T) {
	t.Parallel()
	r := New(Options{Dialect: Client})
	apply(t, r, `{"type":"STATE_DELTA","delta":[{"op":"copy","from":"/toString","path":""}]}`)
	if !r.state.doc.IsFunction() {
		t.Fatal("the state is not a function")
	}
	again, ok := Load(r.options, []Saved{new(Saver).Save(r)})
	if !ok {
		t.Fatal("it cannot be loaded")
	}
	const patch = `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/name/x","value":1}]}`
	if diff := differ(apply(t, r, patch), apply(t, again, patch)); diff != "" {
		t.Errorf("saved -, loaded +\n%s", diff)
	}
}
