package seal_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

var cases = flag.Int("cases", 250, "the number of threads that each test of tampering tampers with")

// victim is a thread that is sealed honestly. Then somebody tampers with it.
type victim struct {
	key     store.Key
	entries []*store.Entry // when it was sealed last, or later
	old     int            // the number of entries when an older copy of the database was made
	seals   []store.Seal   // all that were made
	known   []store.Seal   // those that a verifier has
}

// step is a step of the growth of a thread: the entries of an append, and whether a seal follows.
type step struct {
	entries []store.Entry
	seal    bool
}

// steps generates the steps of a thread.
func steps(r *rand.Rand) []step {
	var all []step
	for i := range 2 + r.IntN(4) {
		entries := events(fmt.Sprint("run ", i), 2+r.IntN(9))
		if r.IntN(20) == 0 {
			entries = events(fmt.Sprint("run ", i), 250+r.IntN(80))
		}
		if r.IntN(2) == 0 {
			request := store.Entry{Stream: entries[0].Stream, Kind: store.Input, Data: fmt.Appendf(nil, `{"runId":"run %d","messages":[]}`, i)}
			entries = slices.Insert(entries, 0, request)
		}
		if r.IntN(2) == 0 {
			entries = append(entries, store.Entry{Stream: entries[0].Stream, Kind: store.End, Data: []byte("eof")})
		}
		for j := range entries {
			if r.IntN(3) > 0 {
				entries[j].Arrived = time.UnixMicro(1764360000000000 + int64(i*1000+j)).UTC()
			}
		}
		all = append(all, step{entries, r.IntN(2) == 0})
	}
	all[r.IntN(len(all))].seal = true
	return all
}

// grow appends steps to a thread and seals it.
func (v *victim) grow(t testing.TB, log store.Log, o *operator, steps []step) {
	t.Helper()
	for _, s := range steps {
		appendAll(t, log, v.key, s.entries)
		if s.seal {
			v.seals = append(v.seals, o.sealed(t, log, v.key).Seal)
		}
	}
}

// growOld grows a thread, and makes an older copy in between.
func (v *victim) growOld(t testing.TB, r *rand.Rand, log store.Log, o *operator) {
	t.Helper()
	all := steps(r)
	early := 1 + r.IntN(len(all)-1)
	for _, s := range all[:early] {
		v.old += len(s.entries)
	}
	v.grow(t, log, o, all)
}

// readAll returns the entries of a thread, or nothing if it is lost.
func readAll(t testing.TB, log store.Log, key store.Key) []*store.Entry {
	t.Helper()
	var all []*store.Entry
	for e, err := range log.Read(t.Context(), key, 0) {
		if err != nil {
			t.Fatalf("%s: %v", key.Thread, err)
		}
		c := *e
		c.Data = bytes.Clone(e.Data)
		all = append(all, &c)
	}
	return all
}

// learn chooses what the verifier has: the entries do not matter yet.
func (v *victim) learn(r *rand.Rand, entries []*store.Entry) {
	v.entries = entries
	for _, s := range v.seals {
		if r.IntN(2) == 0 {
			v.known = append(v.known, s)
		}
	}
	if len(v.known) == 0 {
		v.known = append(v.known, v.seals[r.IntN(len(v.seals))])
	}
}

// limit is the number of entries that a known seal covers.
func (v *victim) limit() int { return int(v.known[len(v.known)-1].Size) }

// changes has the ways to change entries. Each changes one of the first n, or loses it. The
// entries may be changed in place; positions are set later.
func changes() map[string]func(r *rand.Rand, v *victim, all []*store.Entry, n int) []*store.Entry {
	type entries = []*store.Entry
	return map[string]func(r *rand.Rand, v *victim, all entries, n int) entries{
		"data": func(r *rand.Rand, v *victim, all entries, n int) entries {
			e := all[r.IntN(n)]
			switch i := r.IntN(len(e.Data)); r.IntN(3) {
			case 0:
				e.Data[i] ^= 1 << r.IntN(8)
			case 1:
				e.Data = slices.Insert(e.Data, i, ' ')
			default:
				e.Data = e.Data[:i]
			}
			return all
		},
		"drop": func(r *rand.Rand, v *victim, all entries, n int) entries {
			i := r.IntN(n)
			return slices.Delete(all, i, i+1)
		},
		"insert": func(r *rand.Rand, v *victim, all entries, n int) entries {
			i := r.IntN(n)
			c := *all[i]
			c.Data = []byte(`{"type":"CUSTOM","name":"inserted"}`)
			return slices.Insert(all, i, &c)
		},
		"swap": func(r *rand.Rand, v *victim, all entries, n int) entries {
			i, j := r.IntN(n), r.IntN(len(all))
			all[i], all[j] = all[j], all[i]
			return all
		},
		"time": func(r *rand.Rand, v *victim, all entries, n int) entries {
			e := all[r.IntN(n)]
			if e.Arrived.IsZero() || r.IntN(2) == 0 {
				e.Arrived = time.UnixMicro(1764360000000000 + r.Int64N(1000)).UTC()
			} else {
				e.Arrived = time.Time{}
			}
			return all
		},
		"kind": func(r *rand.Rand, v *victim, all entries, n int) entries {
			all[r.IntN(n)].Kind = []store.Kind{store.Event, store.Input, store.Closing, store.End}[r.IntN(4)]
			return all
		},
		"stream": func(r *rand.Rand, v *victim, all entries, n int) entries {
			if r.IntN(2) == 0 {
				all[r.IntN(n)].Stream = all[r.IntN(len(all))].Stream
				return all
			}
			id := all[r.IntN(n)].Stream
			for _, e := range all {
				if e.Stream == id {
					e.Stream = "renamed"
				}
			}
			return all
		},
		"cut off":     func(r *rand.Rand, v *victim, all entries, n int) entries { return all[:r.IntN(n)] },
		"rolled back": func(r *rand.Rand, v *victim, all entries, n int) entries { return all[:v.old] },
		"rolled back and gone on": func(r *rand.Rand, v *victim, all entries, n int) entries {
			other := generate(r, 1+r.IntN(2*len(all)))
			return append(all[:v.old:v.old], other.entries...)
		},
		"written again": func(r *rand.Rand, v *victim, all entries, n int) entries { return generate(r, len(all)).entries },
		"several": func(r *rand.Rand, v *victim, all entries, n int) entries {
			for range 3 {
				all[r.IntN(n)].Data = fmt.Append(nil, r.Uint64())
			}
			return slices.Delete(all, n-1, n)
		},
	}
}

// change changes the entries of a victim in a random way, and returns them with the first position
// that differs.
func (v *victim) change(r *rand.Rand) (name string, after []*store.Entry, first int64) {
	all := changes()
	names := slices.Sorted(maps.Keys(all))
	for {
		name = names[r.IntN(len(names))]
		after = all[name](r, v, clones(v.entries), v.limit())
		for i, e := range after {
			e.Position = int64(i + 1)
		}
		if first = difference(v.entries, after); first > 0 && first <= int64(v.limit()) {
			return name, after, first
		}
	}
}

func clones(entries []*store.Entry) []*store.Entry {
	var all []*store.Entry
	for _, e := range entries {
		c := *e
		c.Data = bytes.Clone(e.Data)
		all = append(all, &c)
	}
	return all
}

// difference returns the first position at which entries differ, or 0.
func difference(a, b []*store.Entry) int64 {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || !bytes.Equal(seal.AppendLeaf(nil, a[i]), seal.AppendLeaf(nil, b[i])) {
			return int64(i + 1)
		}
	}
	return 0
}

// forge makes the seal of the first entries with any key.
func forge(t testing.TB, o *operator, key store.Key, entries []*store.Entry, size int64) store.Seal {
	t.Helper()
	roots, err := seal.Roots(slices.Values(entries), []int64{size})
	if err != nil {
		t.Fatal(err)
	}
	c := seal.Checkpoint{
		Origin: seal.OriginOf(o.Name, key), Size: size, Root: roots[size],
		Tenant: digest.Of([]byte(key.Tenant)), Thread: digest.Of([]byte(key.Thread)),
		Time: time.Date(2026, 11, 28, 20, 10, 0, 0, time.UTC),
	}
	return store.Seal{Size: size, Checkpoint: []byte(o.signAs(t, c.Origin, c.String()))}
}

// cover covers up a change: it returns the seals that the log has afterwards.
func (v *victim) cover(t testing.TB, r *rand.Rand, o, other *operator, after []*store.Entry) (name string, seals []store.Seal) {
	t.Helper()
	var sizes []int64
	for _, s := range v.seals {
		if s.Size <= int64(len(after)) {
			sizes = append(sizes, s.Size)
		}
	}
	if n := int64(len(after)); n > 0 && !slices.Contains(sizes, n) {
		sizes = append(sizes, n)
	}
	switch r.IntN(6) {
	case 0:
		return "the seals are kept", v.seals
	case 1:
		return "the last seal is removed", v.seals[:len(v.seals)-1]
	case 2:
		return "all seals are removed", nil
	case 3:
		for _, size := range sizes {
			seals = append(seals, forge(t, o, v.key, after, size))
		}
		return "all is sealed again with the key", seals
	case 4:
		for _, size := range sizes {
			seals = append(seals, forge(t, other, v.key, after, size))
		}
		return "all is sealed again with another key", seals
	default:
		for _, s := range v.seals {
			if slices.Contains(sizes, s.Size) && r.IntN(2) == 0 {
				s = forge(t, o, v.key, after, s.Size)
			}
			seals = append(seals, s)
		}
		return "some seals are made again with the key", seals
	}
}

// seen is the result of a case, as a second verifier has to see it, too.
type seen struct {
	name string
	victim
	row seal.Row
}

// judge verifies a thread with which somebody has tampered, and checks the verdict. first is the
// first position that differs.
func (v *victim) judge(t *testing.T, o *operator, log store.Log, name string, after []*store.Entry, first int64) seen {
	t.Helper()
	row := o.verify(t, log, v.key, seal.Known{From: "a mail", Seals: v.known})
	fail := func(row seal.Row, format string, args ...any) {
		t.Helper()
		t.Errorf("%s, %s: %s\n%d entries were %d, the first difference is at %d, the verifier has seals of %v\n%+v",
			v.key.Thread, name, fmt.Sprintf(format, args...), len(after), len(v.entries), first, sizesOf(v.known), row)
	}
	switch {
	case row.Verdict != seal.Rewritten && row.Verdict != seal.CutOff && row.Verdict != seal.Forked:
		fail(row, "the verdict is %s", row.Verdict)
	case row.DiffersFrom == nil || *row.DiffersFrom > first || *row.DiffersTo < first:
		fail(row, "the difference is elsewhere")
	case len(row.Findings) == 0:
		fail(row, "there is no finding")
	}
	copied := seal.Known{From: "an export", Seals: v.known, Entries: func(yield func(*store.Entry, error) bool) {
		for _, e := range v.entries {
			if !yield(e, nil) {
				return
			}
		}
	}}
	exact := o.verify(t, log, v.key, copied)
	if exact.DiffersFrom == nil || *exact.DiffersFrom != first || *exact.DiffersTo != first {
		fail(exact, "with an earlier copy, the difference is elsewhere")
	}
	return seen{name, *v, row}
}

func sizesOf(seals []store.Seal) []int64 {
	var sizes []int64
	for _, s := range seals {
		sizes = append(sizes, s.Size)
	}
	return sizes
}
