package seal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/transfer"
)

// changedLog has other entries and seals of one thread than the log.
type changedLog struct {
	store.Log
	entries []*store.Entry
	seals   []store.Seal
}

func (l changedLog) Thread(ctx context.Context, key store.Key) (store.Thread, error) {
	t, err := l.Log.Thread(ctx, key)
	t.Last, t.Sealed = int64(len(l.entries)), 0
	return t, err
}

func (l changedLog) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return list{entries: l.entries}.Read(ctx, key, after)
}

func (l changedLog) Seals(_ context.Context, _ store.Key, after int64) iter.Seq2[*store.Seal, error] {
	return func(yield func(*store.Seal, error) bool) {
		for _, s := range l.seals {
			if s.Size > after && !yield(&s, nil) {
				return
			}
		}
	}
}

// export writes the export of a thread with seals to a file.
func (l changedLog) export(t testing.TB, key store.Key, file string) {
	t.Helper()
	var b bytes.Buffer
	without := l
	without.seals = nil
	if row := transfer.Export(t.Context(), without, key, &b, 0); row.Entries == nil {
		t.Fatalf("%+v", row)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
	lines[0] = strings.Replace(lines[0], "p20export.log.v1", "p20export.log.v2", 1)
	lines = lines[:len(lines)-1]
	for _, s := range l.seals {
		text, err := json.Marshal(string(s.Checkpoint))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf(`{"seal":{"size":%d,"checkpoint":%s}}`+"\n", s.Size, text))
	}
	all := strings.Join(lines, "")
	all += fmt.Sprintf(`{"entries":%d,"digest":"sha256:%x"}`+"\n", len(l.entries), sha256.Sum256([]byte(all)))
	testkit.Write(t, file, all)
}

// tamperExports tampers with threads in memory, and exports them to a directory, if there is one.
func tamperExports(t *testing.T, o *operator, dir string) []seen {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 38))
	other := newOperator(t)
	var all []seen
	for i := range *cases {
		log, v := memory.New(), &victim{key: store.Key{Thread: fmt.Sprint("thread ", i)}}
		v.growOld(t, r, log, o)
		v.learn(r, readAll(t, log, v.key))
		name, after, first := v.change(r)
		covered, seals := v.cover(t, r, o, other, after)
		changed := changedLog{log, after, seals}
		all = append(all, v.judge(t, o, changed, name+", "+covered, after, first))
		if dir != "" {
			changed.export(t, v.key, filepath.Join(dir, fmt.Sprint(i)))
		}
	}
	return all
}

// TestTamperedMemory tampers with threads in memory, as with those of exports.
func TestTamperedMemory(t *testing.T) {
	t.Parallel()
	tamperExports(t, newOperator(t), "")
}

// TestTamperedSeals tampers only with the seals of a thread.
func TestTamperedSeals(t *testing.T) {
	t.Parallel()
	o, other := newOperator(t), newOperator(t)
	log := memory.New()
	v := &victim{key: thread}
	v.grow(t, log, o, []step{{events("a", 10), true}, {events("b", 10), true}, {events("c", 10), true}})
	v.entries, v.known = readAll(t, log, thread), v.seals[2:]
	known := seal.Known{From: "a mail", Seals: v.known}
	changed := clones(v.entries)
	changed[4].Data = []byte("x")
	replaced := func(i int, s store.Seal) []store.Seal {
		all := append([]store.Seal(nil), v.seals...)
		all[i] = s
		return all
	}
	flipped := bytes.Clone(v.seals[2].Checkpoint)
	flipped[len(flipped)-10] ^= 1
	for name, tt := range map[string]struct {
		seals    []store.Seal
		verdict  any
		position int64
		from, to int64
	}{
		"the last seal is of other entries":       {replaced(2, forge(t, o, thread, changed, 30)), seal.Forked, 30, 21, 30},
		"an earlier seal is of other entries":     {replaced(0, forge(t, o, thread, changed, 10)), seal.Forked, 30, 1, 10},
		"a byte of the last seal is changed":      {replaced(2, store.Seal{Size: 30, Checkpoint: flipped}), seal.Broken, 30, 0, 0},
		"the last seal has the row of another":    {replaced(2, store.Seal{Size: 29, Checkpoint: v.seals[2].Checkpoint}), seal.Broken, 30, 0, 0},
		"a seal is of another thread":             {replaced(1, forge(t, o, store.Key{Thread: "another"}, v.entries, 20)), seal.Broken, 30, 0, 0},
		"the last seal is of more entries":        {replaced(2, forge(t, o, thread, append(clones(v.entries), clones(v.entries)...), 60)), seal.CutOff, 30, 31, 31},
		"another key seals other entries":         {replaced(2, forge(t, other, thread, changed, 30)), seal.Unchanged, 30, 0, 0},
		"the seals are lost":                      {nil, seal.Unchanged, 30, 0, 0},
		"the last seal is lost":                   {v.seals[:2], seal.Unchanged, 30, 0, 0},
		"the seals are made again for the thread": {[]store.Seal{forge(t, o, thread, v.entries, 30)}, seal.Unchanged, 30, 0, 0},
	} {
		row := o.verify(t, changedLog{log, v.entries, tt.seals}, thread, known)
		var from, to int64
		if row.DiffersFrom != nil {
			from, to = *row.DiffersFrom, *row.DiffersTo
		}
		if row.Verdict != tt.verdict || row.Position != tt.position || from != tt.from || to != tt.to {
			t.Errorf("%s: %+v between %d and %d", name, row, from, to)
		}
	}
}

// TestErasedAndLost verifies threads that were deleted or lost.
func TestErasedAndLost(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	log, shorter := memory.New(), memory.New()
	var v victim
	v.key = thread
	v.grow(t, log, o, []step{{events("a", 10), true}, {events("b", 10), true}})
	appendAll(t, shorter, thread, events("a", 10))
	o.sealed(t, shorter, thread)
	for _, l := range []store.Log{log, shorter} {
		if _, err := l.Delete(t.Context(), thread); err != nil {
			t.Fatal(err)
		}
	}
	other := generate(rand.New(rand.NewPCG(1, 1)), 20).entries
	for _, tt := range []struct {
		name    string
		log     store.Log
		known   []store.Seal
		verdict any
		to      int64
	}{
		{"deleted", log, nil, seal.Erased, 0},
		{"deleted, with its seals", log, v.seals, seal.Erased, 0},
		{"deleted, with a seal of other entries", log, []store.Seal{forge(t, o, thread, other, 20)}, seal.Forked, 20},
		{"deleted after it was cut off", shorter, v.seals, seal.CutOff, 11},
		{"lost", memory.New(), v.seals, seal.CutOff, 1},
	} {
		var known []seal.Known
		if tt.known != nil {
			known = append(known, seal.Known{From: "a mail", Seals: tt.known})
		}
		row := o.verify(t, tt.log, thread, known...)
		if row.Verdict != tt.verdict || (row.DiffersTo != nil) != (tt.to > 0) || tt.to > 0 && (*row.DiffersTo != tt.to || *row.DiffersFrom != 1) {
			t.Errorf("%s: %+v", tt.name, row)
		}
	}
	if _, err := o.policy.Verify(t.Context(), memory.New(), thread); !errors.Is(err, store.ErrNoThread) {
		t.Errorf("a thread that never was: %v", err)
	}
}
