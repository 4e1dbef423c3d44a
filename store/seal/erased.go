package seal

import (
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// erased judges the seals of a deleted thread, and compares copies of its entries with them.
func (v *verification) erased(known []Known) error {
	for _, k := range known {
		if err := v.compareCopy(k); err != nil {
			return err
		}
	}
	var kept *opened
	if v.own > 0 && v.seals[v.own-1].trusted() {
		kept = v.seals[v.own-1]
	}
	for _, s := range v.seals[v.own:] {
		switch {
		case kept == nil || !s.trusted():
		case s.Checkpoint.Size > kept.Checkpoint.Size:
			v.erasedAs(CutOff, kept.Checkpoint.Size+1)
			v.add(finding.ThreadCutOff, "%s is of %d entries, and the last seal of the deleted thread of %d", s.from, s.Checkpoint.Size, kept.Checkpoint.Size)
		case s.Checkpoint.Size == kept.Checkpoint.Size && s.Root != kept.Root:
			v.erasedAs(Forked, s.Checkpoint.Size)
			v.add(finding.ThreadForked, "%s and %s are of other entries", s.from, kept.from)
		}
	}
	v.settle(kept, "the thread was deleted, and no seal by a trusted key says what it had", Erased)
	return v.ctx.Err()
}

// compareCopy compares a whole copy of the entries of a deleted thread with the seals.
func (v *verification) compareCopy(k Known) error {
	if k.Entries == nil {
		return nil
	}
	h := startHashing(v.sizes())
	defer h.stop()
	for e, err := range k.Entries {
		if err != nil {
			return err
		}
		if e.Position != h.added+1 {
			return nil // it has no tree
		}
		h.add(e)
	}
	roots, _, err := h.end()
	for _, s := range v.seals {
		if root, exists := roots[s.Checkpoint.Size]; exists && s.trusted() && root != s.Root {
			v.add(finding.LogFileMalformed, "the entries of %s are not those of %s: the file was changed", k.From, s.from)
			break
		}
	}
	return err
}

// erasedAs records that a deleted thread had other entries, at the latest from a position on.
func (v *verification) erasedAs(verdict project.Verdict, to int64) {
	if r := &v.row; r.Verdict != Forked {
		r.Verdict, r.DiffersFrom, r.DiffersTo = verdict, new(int64(1)), &to
	}
}
