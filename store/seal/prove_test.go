package seal_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// edited is a log with another text in the place of an entry, and without those after cut, if
// that is not zero.
type edited struct {
	store.Log
	position, cut int64
}

func (l edited) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range l.Log.Read(ctx, key, after) {
			if err == nil && e.Position == l.position {
				e.Data = []byte("{}")
			}
			if err == nil && l.cut > 0 && e.Position > l.cut || !yield(e, err) {
				return
			}
		}
	}
}

// No proof is made from entries that are not those that were sealed, also if the hashes of
// their blocks are kept. Proofs of other blocks are.
func TestProveRewritten(t *testing.T) {
	o, log := newOperator(t), memory.New()
	appendAll(t, log, thread, events("r1", store.BlockEntries))
	appendAll(t, log, thread, events("r2", 444))
	o.sealed(t, log, thread)
	appendAll(t, log, thread, events("r3", 300))
	o.sealed(t, log, thread)
	var runs []store.Run
	for run, err := range log.Runs(t.Context(), store.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	for _, test := range []struct {
		position int64 // that is changed
		proves   [3]bool
	}{{0, [3]bool{true, true, true}}, {100, [3]bool{false, true, true}}, {500, [3]bool{true, false, true}}} {
		changed := edited{Log: log, position: test.position}
		for i := range runs {
			want := test.proves[i]
			_, err := seal.ProveRun(t.Context(), changed, thread, &runs[i], nil)
			if found, _ := errors.AsType[finding.Finding](err); (err == nil) != want || !want && found.Code != finding.ThreadRewritten {
				t.Errorf("%d is changed: the proof of run %d: %v", test.position, i+1, err)
			}
			position := []int64{99, 501, 900}[i]
			_, err = seal.Prove(t.Context(), changed, thread, position, nil)
			if found, _ := errors.AsType[finding.Finding](err); (err == nil) != want || !want && found.Code != finding.ThreadRewritten {
				t.Errorf("%d is changed: the proof of %d: %v", test.position, position, err)
			}
		}
	}
	short := edited{Log: log, cut: 512} // the kept blocks are not all
	if _, err := seal.Prove(t.Context(), short, thread, 600, nil); err == nil {
		t.Error("an entry that is lost was proved")
	}
	if _, err := seal.ProveRun(t.Context(), short, thread, &runs[1], nil); err == nil {
		t.Error("a run that lost its end was proved")
	}
}
