package restore

import (
	"context"
	"fmt"
	"slices"

	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/saving"
	"github.com/p20export/p20export/store"
)

// maxSkip is how many entries are read and skipped, because that is faster than reading at
// another position.
const maxSkip = 100

// A segment is a range of positions in which a run has entries: its request, or its events
// with those of other streams between them.
type segment struct {
	run      *lineage.Node
	start    int64 // of the run; 0 if the segment is its request
	from, to int64 // from <= to
}

func (s segment) isRequest() bool { return s.start == 0 }

// plan returns what has to be read to replay runs that continue each other: each as far as
// the next one, and the last as far as a position.
func (t *Thread) plan(path []*lineage.Node, position int64) (plan []segment) {
	for i, n := range path {
		r, to := &t.runs[n.Index], position
		if i+1 < len(path) {
			to = min(to, t.runs[path[i+1].Index].Start-1)
		}
		if r.Input != 0 && r.Input <= to {
			plan = append(plan, segment{n, 0, r.Input, r.Input})
		}
		if r.Start <= to {
			plan = append(plan, segment{n, r.Start, r.Start, min(r.Last, to)})
		}
	}
	return plan
}

// read reads segments, and calls visit for the entries of their runs. It ends with the error of
// visit.
func (t *Thread) read(ctx context.Context, plan []segment, visit func(*lineage.Node, *store.Entry) error) error {
	for i := 0; i < len(plan); {
		first, at := i, plan[i].from-1
		for e, err := range t.log.Select(ctx, t.Key, selection(plan[i:])) {
			if err != nil {
				return err
			}
			s := plan[i]
			at = e.Position
			if e.Position >= s.from && (s.isRequest() || e.Run == s.start) {
				if err := visit(s.run, e); err != nil {
					return err
				}
			}
			if e.Position < s.to {
				continue
			}
			i++
			if i == len(plan) || plan[i].from <= e.Position || plan[i].from > e.Position+maxSkip {
				break
			}
		}
		if i == first {
			return fmt.Errorf("thread %q has no entry at position %d: the log is damaged", t.Key.Thread, at+1)
		}
	}
	return nil
}

// selection returns what is read for the first segments of a plan, and perhaps for all. The data
// of requests, which can be most of a thread, is read only if one of the segments needs it.
func selection(plan []segment) store.Selection {
	if plan[0].isRequest() {
		return store.At(plan[0].from)
	}
	which := store.Selection{After: plan[0].from - 1}
	for _, s := range plan {
		which.To = max(which.To, s.to)
	}
	if !slices.ContainsFunc(plan, segment.isRequest) {
		which.Bare = []store.Kind{store.Input}
	}
	return which
}

// findings collects warnings. The first finding.MaxListed are kept, the others counted.
type findings struct {
	kept []finding.Finding
	more int
}

// add adds a finding about the entry at a position, or about no entry if it is 0.
func (l *findings) add(position int64, f finding.Finding) {
	if len(l.kept) == finding.MaxListed {
		l.more++
		return
	}
	if position > 0 {
		f.Message = fmt.Sprintf("position %d: %s", position, f.Message)
	}
	f.EventIndex = nil // of an event without a capture
	l.kept = append(l.kept, f.WithSeverity(finding.Warning))
}

// join adds the findings of another list, which are about later entries.
func (l *findings) join(o *findings) {
	for _, f := range o.kept {
		if len(l.kept) == finding.MaxListed {
			l.more++
		} else {
			l.kept = append(l.kept, f)
		}
	}
	l.more += o.more
}

// code writes or reads the findings.
func (l *findings) code(c *saving.Coder) {
	c.Int(&l.more)
	saving.List(c, &l.kept, finding.MaxListed, func(f *finding.Finding) {
		for _, text := range []*string{
			(*string)(&f.Code), (*string)(&f.Severity), &f.Message, &f.Hint, &f.Rule, &f.Spec, (*string)(&f.Pointer),
		} {
			c.String(text)
		}
		for _, n := range []*int{&f.Line, &f.Column, &f.ResponseLine} {
			c.Int(n)
		}
		hasOffset := f.Offset != nil
		if c.Bool(&hasOffset); hasOffset {
			if c.Reading() {
				f.Offset = new(int64)
			}
			c.Int64(f.Offset)
		}
	})
}

func (l *findings) list() []finding.Finding {
	if l.more == 0 {
		return l.kept
	}
	return append(l.kept, finding.New(finding.FindingsUnlisted, "%d more findings are not listed", l.more))
}
