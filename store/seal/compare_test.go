package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// sealsOf returns the seals of a thread.
func sealsOf(t testing.TB, log store.Log, key store.Key) (all []store.Seal) {
	t.Helper()
	for s, err := range log.Seals(t.Context(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *s)
	}
	return all
}

// TestCompare compares seals with the entries that were sealed, and with others.
func TestCompare(t *testing.T) {
	log, o := memory.New(), newOperator(t)
	for i, n := range []int{3, 300, 40} {
		appendAll(t, log, thread, events(fmt.Sprint(i), n))
		o.sealed(t, log, thread)
	}
	appendAll(t, log, thread, events("later", 5))
	seals, entries := sealsOf(t, log, thread), log.Read(t.Context(), thread, 0)
	if err := seal.Compare(seals, entries); err != nil {
		t.Errorf("the entries that were sealed: %v", err)
	}
	if err := seal.Compare(seals[1:2], entries); err != nil {
		t.Errorf("one seal: %v", err)
	}
	if err := seal.Compare(nil, entries); err != nil {
		t.Errorf("no seal: %v", err)
	}
	edited := func(position int64) iter.Seq2[*store.Entry, error] {
		return editedLog{log, func(e *store.Entry) {
			if e.Position == position {
				e.Stream += "x"
			}
		}}.Read(t.Context(), thread, 0)
	}
	for position, want := range map[int64]string{1: "1 and 3", 3: "1 and 3", 4: "4 and 303", 303: "4 and 303", 343: "304 and 343"} {
		err := seal.Compare(seals, edited(position))
		if !isFinding(err, finding.ThreadRewritten) || !bytes.HasSuffix([]byte(err.Error()), []byte("between the positions "+want)) {
			t.Errorf("entry %d is another one: %v", position, err)
		}
	}
	if err := seal.Compare(seals, edited(344)); err != nil {
		t.Errorf("an entry that was not sealed is another one: %v", err)
	}
	short := func(yield func(*store.Entry, error) bool) {
		for e, err := range entries {
			if e.Position > 342 || !yield(e, err) {
				return
			}
		}
	}
	if err := seal.Compare(seals, short); !isFinding(err, finding.ThreadCutOff) {
		t.Errorf("an entry is missing: %v", err)
	}
	broken := errors.New("broken")
	if err := seal.Compare(seals, unreadable{log, broken}.Read(t.Context(), thread, 0)); !errors.Is(err, broken) {
		t.Errorf("entries that cannot be read: %v", err)
	}
	other := seals[0]
	other.Size++
	if err := seal.Compare([]store.Seal{other}, entries); !isFinding(err, finding.SealMalformed) {
		t.Errorf("a seal that says another size: %v", err)
	}
}

// TestJudge judges the seals of a trusted and of another key, and one that was changed.
func TestJudge(t *testing.T) {
	log, o, other := memory.New(), newOperator(t), newOperator(t)
	appendAll(t, log, thread, events("r", 5))
	s := o.sealed(t, log, thread).Seal
	if found := o.policy.Judge(t.Context(), &s); len(found) > 0 {
		t.Errorf("a seal of a trusted key: %v", found)
	}
	if found := other.policy.Judge(t.Context(), &s); len(found) != 1 || found[0].Code != finding.SealUntrusted || !finding.Failed(found) {
		t.Errorf("a seal of another key: %v", found)
	}
	changed := s
	changed.Checkpoint = bytes.Replace(s.Checkpoint, []byte("\ntime 2"), []byte("\ntime 1"), 1)
	if found := o.policy.Judge(t.Context(), &changed); !finding.Has(found, finding.SealBroken) {
		t.Errorf("a seal that was changed: %v", found)
	}
	changed.Checkpoint = s.Checkpoint[1:]
	if found := o.policy.Judge(t.Context(), &changed); !finding.Failed(found) {
		t.Errorf("a seal of another origin: %v", found)
	}
}
