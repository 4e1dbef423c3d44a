package finding

import "slices"

// MaxListed is the maximum number of findings listed for one file, run or capture.
// The others are only counted.
const MaxListed = 100

// List collects findings. It keeps the first MaxListed findings in the order of
// Sort and counts the rest. The order of calls to Add does not matter. The zero
// value is an empty list.
type List struct {
	// GravestFirst makes the list keep errors rather than warnings, and warnings rather
	// than infos, wherever they are. Findings has them in the order of Sort.
	GravestFirst bool

	kept    []Finding // if full, the first MaxListed are sorted
	dropped int
	full    bool    // findings were dropped
	last    Finding // if full, the last of the first MaxListed
	failed  bool
}

// Add adds a finding.
func (l *List) Add(f Finding) {
	l.failed = l.failed || f.Severity == Error
	if l.full && l.isAfter(f.Severity, offset(f)) {
		l.dropped++
		return
	}
	l.kept = append(l.kept, f)
	if len(l.kept) >= 2*MaxListed {
		l.truncate()
	}
}

// CountUnlisted reports whether List would not keep an error at the given offset.
// If so, CountUnlisted counts the error. This saves the cost of creating findings
// that are not listed, because a hostile file may cause millions of them.
func (l *List) CountUnlisted(offset int64) bool {
	if !l.full || !l.isAfter(Error, offset) {
		return false
	}
	l.failed = true
	l.dropped++
	return true
}

// isAfter reports whether a full list drops a finding with this severity and offset.
func (l *List) isAfter(s Severity, at int64) bool {
	if graver := s.Grade() - l.last.Severity.Grade(); l.GravestFirst && graver != 0 {
		return graver < 0
	}
	return at > offset(l.last)
}

// Failed reports whether any finding was an error, listed or not.
func (l *List) Failed() bool { return l.failed }

// Findings returns the findings that the list keeps in the order of Sort. If more were
// added, a last finding findings_past_limit has the number of the others.
func (l *List) Findings() []Finding {
	if len(l.kept) > MaxListed {
		l.truncate()
	}
	Sort(l.kept)
	if l.dropped == 0 {
		return l.kept
	}
	return append(l.kept[:len(l.kept):len(l.kept)], New(FindingsUnlisted, "%d more findings are not listed", l.dropped))
}

// Unlisted returns the number of findings that Findings does not return. It must be called
// after Findings.
func (l *List) Unlisted() int { return l.dropped }

// truncate sorts the findings and drops all but the first MaxListed.
func (l *List) truncate() {
	Sort(l.kept)
	if l.GravestFirst {
		slices.SortStableFunc(l.kept, func(a, b Finding) int { return b.Severity.Grade() - a.Severity.Grade() })
	}
	l.dropped += len(l.kept) - MaxListed
	clear(l.kept[MaxListed:])
	l.kept = l.kept[:MaxListed]
	l.full, l.last = true, l.kept[MaxListed-1]
}
