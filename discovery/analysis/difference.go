package analysis

import (
	"html"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Difference says how the messages folded from input and stream differ from
// the text subset of the last snapshot that the run emitted.
type Difference struct {
	Folded  int `json:"folded"`
	Emitted int `json:"emitted"`
	// Same counts the pairs that are equal in everything.
	Same int `json:"same"`
	// Mismatches lists the others, in their order.
	Mismatches []Mismatch `json:"apart"`
	// RequestTaken says that messages of the request were folded.
	RequestTaken bool `json:"-"`
}

// Mismatch is a message that is not the same in both, or is in one alone. Folded
// and Emitted count each list from 0; nil where it is not there.
type Mismatch struct {
	Folded  *int   `json:"folded,omitzero"`
	Emitted *int   `json:"emitted,omitzero"`
	Role    string `json:"role"`
	// Aspects says what differs; empty for a message in one alone.
	Aspects []Aspect `json:"in,omitzero"`
}

// Aspect is in what two messages differ.
type Aspect string

// The aspects. Content that differs only in white space or only in HTML's
// escapes is told apart from other text.
const (
	AspectID         Aspect = "id"
	AspectName       Aspect = "name"
	AspectWhiteSpace Aspect = "white space"
	AspectEscapes    Aspect = "HTML escapes"
	AspectContent    Aspect = "content"
)

// Count returns how many messages differ in an aspect.
func (d *Difference) Count(a Aspect) (n int) {
	for _, one := range d.Mismatches {
		if slices.Contains(one.Aspects, a) {
			n++
		}
	}
	return n
}

// Unmatched returns how many messages are in the folding alone, and in the snapshot
// alone.
func (d *Difference) Unmatched() (folded, emitted int) {
	for _, one := range d.Mismatches {
		switch {
		case one.Emitted == nil:
			folded++
		case one.Folded == nil:
			emitted++
		}
	}
	return folded, emitted
}

// IDCounts says whether the ids of messages outlive the stream: how many of those
// that the run streamed, and of those that its request had, are in its last
// snapshot. They are counted where there is a snapshot.
type IDCounts struct {
	Streamed      int `json:"streamed"`
	StreamedKept  int `json:"streamed_kept"`
	Requested     int `json:"requested"`
	RequestedKept int `json:"requested_kept"`
}

// Add counts the messages of other as well.
func (i *IDCounts) Add(other IDCounts) {
	i.Streamed += other.Streamed
	i.StreamedKept += other.StreamedKept
	i.Requested += other.Requested
	i.RequestedKept += other.RequestedKept
}

// compareFolding fills in what needs both the folding and the last snapshot.
func (e *Run) compareFolding(f project.FoldResult, last *project.Output, ids []string, r request) {
	if len(e.Snapshots) == 0 {
		return
	}
	e.IDs = IDCounts{len(f.Streamed), countKept(f.Streamed, ids), len(r.ids), countKept(r.ids, ids)}
	if last != nil && !finding.Failed(f.Findings) {
		e.Difference = difference(f.Messages, last.Artifact.Messages)
		e.Difference.RequestTaken = f.FromRequest && len(r.ids) > 0
	}
}

func countKept(ids, in []string) (n int) {
	there := make(map[string]bool, len(in))
	for _, id := range in {
		there[id] = true
	}
	for _, id := range ids {
		if there[id] {
			n++
		}
	}
	return n
}

// difference pairs the messages of two lists: those of the same role and
// content along their longest common subsequence, and between two such pairs
// those of the same role in their order.
func difference(folded, emitted []artifact.Message) *Difference {
	d := &Difference{Folded: len(folded), Emitted: len(emitted), Mismatches: []Mismatch{}}
	i, j := 0, 0
	for _, p := range append(longestCommon(folded, emitted), pair{len(folded), len(emitted)}) {
		d.between(folded, emitted, i, p.folded, j, p.emitted)
		if p.folded < len(folded) {
			d.pair(folded, emitted, p)
		}
		i, j = p.folded+1, p.emitted+1
	}
	return d
}

type pair struct{ folded, emitted int }

// between pairs folded[i:iEnd] with emitted[j:jEnd], no two of which have the
// same text in order.
func (d *Difference) between(folded, emitted []artifact.Message, i, iEnd, j, jEnd int) {
	for ; i < iEnd; i++ {
		at := slices.IndexFunc(emitted[j:jEnd], func(m artifact.Message) bool { return m.Role == folded[i].Role })
		if at < 0 {
			d.Mismatches = append(d.Mismatches, Mismatch{Folded: &[]int{i}[0], Role: folded[i].Role})
			continue
		}
		d.unmatched(emitted, j, j+at)
		d.pair(folded, emitted, pair{i, j + at})
		j += at + 1
	}
	d.unmatched(emitted, j, jEnd)
}

func (d *Difference) unmatched(emitted []artifact.Message, j, end int) {
	for ; j < end; j++ {
		d.Mismatches = append(d.Mismatches, Mismatch{Emitted: &[]int{j}[0], Role: emitted[j].Role})
	}
}

func (d *Difference) pair(folded, emitted []artifact.Message, p pair) {
	a, b := folded[p.folded], emitted[p.emitted]
	var in []Aspect
	if a.ID != b.ID {
		in = append(in, AspectID)
	}
	if a.Name != b.Name {
		in = append(in, AspectName)
	}
	switch {
	case a.Content == b.Content:
	case normalizeSpace(a.Content) == normalizeSpace(b.Content):
		in = append(in, AspectWhiteSpace)
	case html.UnescapeString(a.Content) == html.UnescapeString(b.Content):
		in = append(in, AspectEscapes)
	default:
		in = append(in, AspectContent)
	}
	if in == nil {
		d.Same++
		return
	}
	d.Mismatches = append(d.Mismatches, Mismatch{Folded: &p.folded, Emitted: &p.emitted, Role: b.Role, Aspects: in})
}

func normalizeSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// maxCells bounds the table of common: two lists of 2,000 messages that share
// neither their beginning nor their end. Past it only those are paired.
const maxCells = 4_000_000

// longestCommon returns the longest common subsequence of two lists by role and
// content.
func longestCommon(a, b []artifact.Message) (pairs []pair) {
	same := func(i, j int) bool { return a[i].Role == b[j].Role && a[i].Content == b[j].Content }
	lo := 0
	for lo < len(a) && lo < len(b) && same(lo, lo) {
		pairs = append(pairs, pair{lo, lo})
		lo++
	}
	n, m := len(a), len(b)
	var tail []pair
	for n > lo && m > lo && same(n-1, m-1) {
		n, m = n-1, m-1
		tail = append(tail, pair{n, m})
	}
	slices.Reverse(tail)
	rows, columns := n-lo, m-lo
	if rows*columns > maxCells {
		return append(pairs, tail...)
	}
	// longest[i*(columns+1)+j] is of a[lo+i:n] and b[lo+j:m].
	longest := make([]int32, (rows+1)*(columns+1))
	for i := rows - 1; i >= 0; i-- {
		for j := columns - 1; j >= 0; j-- {
			at := i*(columns+1) + j
			if same(lo+i, lo+j) {
				longest[at] = 1 + longest[at+columns+2]
			} else {
				longest[at] = max(longest[at+columns+1], longest[at+1])
			}
		}
	}
	for i, j := 0, 0; i < rows && j < columns; {
		at := i*(columns+1) + j
		switch {
		case same(lo+i, lo+j):
			pairs = append(pairs, pair{lo + i, lo + j})
			i, j = i+1, j+1
		case longest[at+columns+1] >= longest[at+1]:
			i++
		default:
			j++
		}
	}
	return append(pairs, tail...)
}
