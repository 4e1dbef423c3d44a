package seal

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// Open returns the checkpoint of a seal without judging its signatures. The error is the
// finding seal_malformed.
func Open(s *store.Seal) (*Checkpoint, error) {
	c, err := textOf(s.Checkpoint)
	if err == nil && c.Size != s.Size {
		err = fmt.Errorf("its checkpoint is of %d entries", c.Size)
	}
	if err != nil {
		return nil, finding.New(finding.SealMalformed, "%s: %s", nameOf(s), finding.Printable(err.Error()))
	}
	return c, nil
}

func nameOf(s *store.Seal) string { return fmt.Sprintf("the seal of %d entries", s.Size) }

// Compare compares seals, which are ordered by size, with the entries of a thread from the
// first one on. It judges no signatures. The error is the finding seal_malformed,
// thread_rewritten or thread_cut_off, or that of entries.
func Compare(seals []store.Seal, entries iter.Seq2[*store.Entry, error]) error {
	var all []*Checkpoint
	var sizes []int64
	for i := range seals {
		c, err := Open(&seals[i])
		if err != nil {
			return err
		}
		all, sizes = append(all, c), append(sizes, c.Size)
	}
	h := startHashing(sizes)
	defer h.stop()
	for e, err := range entries {
		if err != nil {
			return err
		}
		h.add(e)
	}
	roots, count, err := h.end()
	if err != nil {
		return err
	}
	from := int64(1)
	for i, c := range all {
		root, exists := roots[c.Size]
		if !exists {
			return finding.New(finding.ThreadCutOff, "there are only %d entries for %s", count, nameOf(&seals[i]))
		}
		if root != c.Root {
			return finding.New(finding.ThreadRewritten, "%s was made at %s of other entries; %s", nameOf(&seals[i]), c.Time.Format(time.RFC3339), between(from, c.Size))
		}
		from = c.Size + 1
	}
	return nil
}

// Judge judges the signatures and the token of a seal that must be signed by a trusted key.
// The seal is acceptable if no finding is an error.
func (p *Policy) Judge(ctx context.Context, s *store.Seal) []finding.Finding {
	o := p.open(ctx, s, nameOf(s))
	for i, f := range o.found {
		if f.Code == finding.SealUntrusted {
			o.found[i] = f.WithSeverity(finding.Error)
		}
	}
	return o.found
}
