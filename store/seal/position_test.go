package seal_test

import (
	"fmt"
	"iter"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// TestPositions rewrites a thread and seals it again with the key of the operator, so that seals
// of the log match. The first difference is then only known from what the verifier has.
func TestPositions(t *testing.T) {
	log, forged, o := memory.New(), memory.New(), newOperator(t)
	var honest []store.Seal
	for i := range 4 {
		entries := events(fmt.Sprint(i), 10)
		appendAll(t, log, thread, entries)
		honest = append(honest, o.sealed(t, log, thread).Seal)
		if i == 0 {
			entries[2].Data = []byte("{}")
		}
		if i < 2 {
			appendAll(t, forged, thread, entries)
			o.sealed(t, forged, thread)
		}
	}
	copied := seal.Known{From: "an export", Entries: log.Read(t.Context(), thread, 0)}
	part := seal.Known{From: "a proof", Entries: only(log.Read(t.Context(), thread, 0), 3, 7)}
	later := seal.Known{From: "a proof", Entries: only(log.Read(t.Context(), thread, 0), 25, 30)}
	for _, tt := range []struct {
		name     string
		known    []seal.Known
		verdict  any
		from, to int64
	}{
		{"the seal at 20", []seal.Known{{Seals: honest[1:2]}}, seal.Forked, 1, 20},
		{"the seal at 40", []seal.Known{{Seals: honest[3:]}}, seal.CutOff, 1, 21},
		{"all seals", []seal.Known{{Seals: honest}}, seal.Forked, 1, 10},
		{"an earlier copy", []seal.Known{copied}, seal.Rewritten, 3, 3},
		{"an earlier copy and seals", []seal.Known{copied, {Seals: honest}}, seal.Forked, 3, 3},
		{"a part of an earlier copy", []seal.Known{part}, seal.Rewritten, 1, 3},
		{"a later part", []seal.Known{later}, seal.CutOff, 1, 21},
	} {
		row := o.verify(t, forged, thread, tt.known...)
		if row.Verdict != tt.verdict || *row.DiffersFrom != tt.from || *row.DiffersTo != tt.to || len(row.Findings) == 0 {
			t.Errorf("%s: %s between %d and %d, %v", tt.name, row.Verdict, *row.DiffersFrom, *row.DiffersTo, row.Findings)
		}
	}
}

// only yields the entries between two positions.
func only(all iter.Seq2[*store.Entry, error], from, to int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range all {
			if (err != nil || e.Position >= from && e.Position <= to) && !yield(e, err) {
				return
			}
		}
	}
}
