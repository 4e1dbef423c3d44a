package restore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

// losing is a log that loses what it keeps, now and then: a process was killed while it kept
// something, rows were dropped, or bytes of them changed.
type losing struct {
	store.Log
	random *rand.Rand
}

var errKilled = errors.New("killed")

func (l losing) Keep(ctx context.Context, key store.Key, kind string, list []store.Derived) error {
	if l.random.IntN(4) > 0 {
		return l.Log.Keep(ctx, key, kind, list)
	}
	if err := l.Log.Keep(ctx, key, kind, list[:l.random.IntN(len(list)+1)]); err != nil {
		return err
	}
	return errKilled
}

// lose loses something that is kept.
func (l losing) lose(t fataler, kind string) {
	list, err := l.Kept(context.Background(), key, kind, 0, 1<<62, true)
	if err != nil || len(list) == 0 {
		return
	}
	i := l.random.IntN(len(list))
	switch d := &list[i]; l.random.IntN(4) {
	case 0:
		list = list[:i]
	case 1:
		list = slices.Delete(list, i, i+1)
	case 2:
		if len(d.Head) > 0 {
			d.Head[l.random.IntN(len(d.Head))] ^= byte(1 << l.random.IntN(8))
		}
	default:
		d.Data[l.random.IntN(len(d.Data))] ^= byte(1 << l.random.IntN(8))
	}
	if err := errors.Join(l.Forget(context.Background(), key, kind), l.Log.Keep(context.Background(), key, kind, list)); err != nil {
		t.Fatal(err)
	}
}

// TestKept restores moments of generated threads that grow, from checkpoints and without.
func TestKept(t *testing.T) {
	t.Parallel()
	kept := 0
	rapid.Check(t, func(t *rapid.T) {
		g := generate(shape{
			runs:   rapid.IntRange(1, 12).Draw(t, "runs"),
			inputs: rapid.SampledFrom([]string{"none", "full", "mixed"}).Draw(t, "inputs"),
			open:   rapid.IntRange(1, 3).Draw(t, "open"),
			broken: rapid.Bool().Draw(t, "broken"),
		}, rapid.Uint64().Draw(t, "seed"))
		kept += compareKept(t, g.entries)
	})
	if kept == 0 {
		t.Error("there was no checkpoint")
	}
}

// TestKeptHostile does so with entries of any kind and content, in any order.
func TestKeptHostile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if entries := hostile(t); len(entries) > 0 {
			compareKept(t, entries)
		}
	})
}

// TestKeptStreams does so with streams of all events that AG-UI has or had, and deviations from it.
func TestKeptStreams(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		compareKept(t, streams(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), rapid.IntRange(1, 3).Draw(t, "streams")))
	})
}

// streams returns the entries of so many streams, in turn.
func streams(random *rand.Rand, n int) (entries []store.Entry) {
	todo := make([][]string, n)
	for i := range todo {
		todo[i] = judge.Generate(random, judge.Generator{With: judge.UnknownTypes | judge.ExtraKeys | judge.Legacy | judge.OddPatches | judge.UnknownOperations})
		if random.IntN(3) == 0 {
			todo[i] = judge.Damage(random, todo[i])
		}
	}
	for len(todo) > 0 {
		i := random.IntN(len(todo))
		if len(todo[i]) == 0 {
			todo = slices.Delete(todo, i, i+1)
			continue
		}
		e := todo[i][0]
		todo[i] = todo[i][1:]
		entries = append(entries, store.Entry{Stream: fmt.Sprint("s", len(todo)-i), Kind: store.Event, Data: []byte(e)})
	}
	return entries
}

// compareKept returns how many checkpoints there were in the end.
func compareKept(t *rapid.T, entries []store.Entry) int {
	o := restore.Options{
		Input:   restore.Input(rapid.SampledFrom(restore.Inputs()).Draw(t, "input")),
		Dialect: rapid.SampledFrom([]reduce.Dialect{reduce.RFC6902, reduce.Client}).Draw(t, "dialect"),
	}
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1))
	loses := random.IntN(2) == 0
	plainLog, log := memory.New(), losing{Log: memory.New(), random: random}
	spaced := o.WithSpacing(1 + random.IntN(8))
	w := restore.NewWalker(log, key, spaced, []int64{0, 1 << 14, 1 << 30}[random.IntN(3)])
	last, kept := 0, 0
	for last < len(entries) {
		n := min(len(entries), last+1+random.IntN(len(entries)))
		for _, l := range []store.Log{plainLog, log} {
			if _, err := l.Append(t.Context(), key, int64(last), entries[last:n]); err != nil {
				t.Fatal(err)
			}
		}
		last = n
		for range 1 + random.IntN(3) {
			if err := reopen(t, log, spaced).KeepCheckpoints(t.Context(), 1+random.Int64N(int64(last))); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
		}
		if loses {
			log.lose(t, spaced.Kinds()[random.IntN(2)])
		}
		with, without := reopen(t, log, spaced), reopen(t, plainLog, o)
		for range 12 {
			at := 1 + random.Int64N(int64(last))
			want, err := without.At(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			got, err := with.At(t.Context(), at)
			if err != nil {
				t.Fatalf("position %d: %v", at, err)
			}
			if diff := cmp.Diff(plainOf(want), plainOf(got)) + cmp.Diff(want.Findings, got.Findings); diff != "" {
				t.Fatalf("position %d: without checkpoints -, with +\n%s", at, diff)
			}
			m, err := w.Moment(t.Context(), at)
			if err != nil {
				t.Fatalf("position %d: %v", at, err)
			}
			if diff := cmp.Diff(plainOf(want), plainOf(m.Result())); diff != "" {
				t.Fatalf("position %d: without checkpoints -, walked with +\n%s", at, diff)
			}
		}
		for i := range without.Graph.Nodes {
			compareRun(t, without, with, i)
		}
		list, err := log.Kept(t.Context(), key, spaced.Kinds()[0], 0, int64(last), false)
		if err != nil {
			t.Fatal(err)
		}
		kept = max(kept, len(list))
	}
	return kept
}

// compareRun compares what precedes a run, and what a client that joins it gets.
func compareRun(t *rapid.T, without, with *restore.Thread, i int) {
	want, err := without.Before(t.Context(), without.Graph.Nodes[i])
	if err != nil {
		t.Fatal(err)
	}
	got, err := with.Before(t.Context(), with.Graph.Nodes[i])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plainOf(want), plainOf(got)); diff != "" {
		t.Fatalf("before run %d: without checkpoints -, with +\n%s", i, diff)
	}
	if a, b := preludeOf(t, without, i), preludeOf(t, with, i); a != b {
		t.Fatalf("the prelude of run %d: without checkpoints -, with +\n%s", i, cmp.Diff(a, b))
	}
}

func preludeOf(t *rapid.T, th *restore.Thread, i int) string {
	live, err := th.Live(t.Context(), th.Graph.Nodes[i])
	if err != nil {
		t.Fatal(err)
	}
	list, err := live.Prelude()
	if err != nil {
		return err.Error()
	}
	return string(bytes.Join(list, []byte("\n")))
}

// TestKeptCaptures restores each committed capture at every position, from a checkpoint after each
// entry.
func TestKeptCaptures(t *testing.T) {
	t.Parallel()
	for path, entries := range captured(t) {
		if len(entries) > 300 {
			continue
		}
		log := memory.New()
		if _, err := log.Append(t.Context(), key, 0, entries); err != nil {
			t.Fatal(err)
		}
		o := restore.Options{}.WithSpacing(1)
		with, without := reopen(t, log, o), open(t, entries, restore.Options{})
		if err := with.KeepCheckpoints(t.Context(), with.Last); err != nil {
			t.Fatal(err)
		}
		for at := int64(1); at <= with.Last; at++ {
			want, err := without.At(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			got, err := with.At(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plainOf(want), plainOf(got)); diff != "" {
				t.Fatalf("%s: position %d: without checkpoints -, with +\n%s", path, at, diff)
			}
		}
	}
}

// TestKeptFlipped changes each bit of the numbers that describe a checkpoint, in a thread whose runs
// overlap.
func TestKeptFlipped(t *testing.T) {
	t.Parallel()
	entries := streams(rand.New(rand.NewPCG(20, 1)), 2)
	log, o := memory.New(), restore.Options{}.WithSpacing(3)
	if _, err := log.Append(t.Context(), key, 0, entries); err != nil {
		t.Fatal(err)
	}
	with, without := reopen(t, log, o), open(t, entries, restore.Options{})
	wants := make([]any, len(entries))
	for i := range entries {
		if err := with.KeepCheckpoints(t.Context(), int64(i+1)); err != nil {
			t.Fatal(err)
		}
		want, err := without.At(t.Context(), int64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		wants[i] = plainOf(want)
	}
	kind := o.Kinds()[0]
	list, err := log.Kept(t.Context(), key, kind, 0, with.Last, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("only %d checkpoints", len(list))
	}
	for i := range list {
		head := list[i].Head
		for bit := 8 * sha256.Size; bit < 8*(len(head)-2*sha256.Size); bit++ {
			head[bit/8] ^= 1 << (bit % 8)
			if err := errors.Join(log.Forget(t.Context(), key, kind), log.Keep(t.Context(), key, kind, list)); err != nil {
				t.Fatal(err)
			}
			for at := bit % 5; at < len(entries); at += 5 {
				got, err := with.At(t.Context(), int64(at+1))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(wants[at], any(plainOf(got))); diff != "" {
					t.Fatalf("position %d, bit %d of checkpoint %d: without checkpoints -, with +\n%s", at+1, bit, i+1, diff)
				}
			}
			head[bit/8] ^= 1 << (bit % 8)
		}
	}
}
