package finding

// MaxListed is how many findings of one file, run or capture are listed one by
// one; the others are counted.
const MaxListed = 100

// List collects findings and keeps the first MaxListed of them in the order of
// Sort, however many there are and in whatever order they come. The zero value
// is empty.
type List struct {
	kept    []Finding // the first MaxListed are sorted once there have been more
	dropped int
	full    bool
	last    int64 // when full, the offset of the last one listed
	failed  bool
}

// Add adds a finding.
func (l *List) Add(f Finding) {
	l.failed = l.failed || f.Severity == Error
	if l.full && offset(f) > l.last {
		l.dropped++
		return
	}
	l.kept = append(l.kept, f)
	if len(l.kept) >= 2*MaxListed {
		l.cut()
	}
}

// CountUnlisted reports whether an error at this offset would only be counted, and
// counts it then. It spares the cost of making a finding nobody will see: a
// hostile file may hold a million.
func (l *List) CountUnlisted(at int64) bool {
	if !l.full || at <= l.last {
		return false
	}
	l.failed = true
	l.dropped++
	return true
}

// Failed reports whether any finding was an error.
func (l *List) Failed() bool { return l.failed }

// Findings returns the first MaxListed in the order of Sort and, when there are
// more, a findings_past_limit with their number.
func (l *List) Findings() []Finding {
	if len(l.kept) > MaxListed {
		l.cut()
	}
	Sort(l.kept)
	if l.dropped == 0 {
		return l.kept
	}
	return append(l.kept[:len(l.kept):len(l.kept)], New(FindingsUnlisted, "%d more findings are not listed", l.dropped))
}

func (l *List) cut() {
	Sort(l.kept)
	l.dropped += len(l.kept) - MaxListed
	clear(l.kept[MaxListed:])
	l.kept = l.kept[:MaxListed]
	l.full, l.last = true, offset(l.kept[MaxListed-1])
}
