package analysis

import (
	"html"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Difference compares the messages folded from request and stream with the text
// subset of the last snapshot that the run emitted.
type Difference struct {
	Folded  int `json:"folded"`
	Emitted int `json:"emitted"`
	// Same counts the pairs of equal messages.
	Same int `json:"same"`
	// Mismatches lists the other messages, in order.
	Mismatches []Mismatch `json:"apart"`
	// RequestTaken reports that messages of the request were folded.
	RequestTaken bool `json:"-"`
}

// Mismatch is a message that differs between the two lists or is in only one of them.
// Folded and Emitted are its indexes in the lists, counted from 0; nil if it is not in
// the list.
type Mismatch struct {
	Folded  *int   `json:"folded,omitzero"`
	Emitted *int   `json:"emitted,omitzero"`
	Role    string `json:"role"`
	// Aspects lists what differs. It is empty for a message in only one list.
	Aspects []Aspect `json:"in,omitzero"`
}

// Aspect is a way in which two messages differ.
type Aspect string

// The aspects. Content that differs only in white space, or only in HTML escapes,
// does not count as AspectContent.
const (
	AspectID         Aspect = "id"
	AspectName       Aspect = "name"
	AspectWhiteSpace Aspect = "white space"
	AspectEscapes    Aspect = "HTML escapes"
	AspectContent    Aspect = "content"
)

// Count returns the number of messages that differ in an aspect.
func (d *Difference) Count(a Aspect) (n int) {
	for _, one := range d.Mismatches {
		if slices.Contains(one.Aspects, a) {
			n++
		}
	}
	return n
}

// Unmatched returns the number of messages that are only in the folding, and the number
// that are only in the snapshot.
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

// IDCounts says how many ids of messages that the run streamed, and of messages in its
// request, are also in its last snapshot. Ids are counted only if there is a snapshot.
type IDCounts struct {
	Streamed      int `json:"streamed"`
	StreamedKept  int `json:"streamed_kept"`
	Requested     int `json:"requested"`
	RequestedKept int `json:"requested_kept"`
}

// Add adds the counts of other to i.
func (i *IDCounts) Add(other IDCounts) {
	i.Streamed += other.Streamed
	i.StreamedKept += other.StreamedKept
	i.Requested += other.Requested
	i.RequestedKept += other.RequestedKept
}

// compareFolding sets IDs and Difference from the folding and the last snapshot.
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

// difference pairs the messages of two lists. It first pairs messages of the same role
// and content along the longest common subsequence, and then, between these pairs,
// messages of the same role in order.
func difference(folded, emitted []artifact.Message) *Difference {
	d := &Difference{Folded: len(folded), Emitted: len(emitted), Mismatches: []Mismatch{}}
	i, j := 0, 0
	for _, p := range append(longestCommon(texts(folded), texts(emitted)), pair{len(folded), len(emitted)}) {
		d.between(folded, emitted, i, p.folded, j, p.emitted)
		if p.folded < len(folded) {
			d.pair(folded, emitted, p)
		}
		i, j = p.folded+1, p.emitted+1
	}
	return d
}

// texts returns the roles and contents of messages, by which difference pairs them.
func texts(messages []artifact.Message) [][2]string {
	list := make([][2]string, len(messages))
	for i, m := range messages {
		list[i] = [2]string{m.Role, m.Content}
	}
	return list
}

type pair struct{ folded, emitted int }

// between pairs messages of folded[i:iEnd] with messages of emitted[j:jEnd] by role.
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

// maxCells limits the table of longestCommon: two lists of 2,000 messages with different
// beginnings and ends. In larger lists, only equal beginnings and ends are paired.
const maxCells = 4_000_000

// longestCommon returns the longest common subsequence of two lists.
func longestCommon[T comparable](a, b []T) (pairs []pair) {
	lo := 0
	for lo < len(a) && lo < len(b) && a[lo] == b[lo] {
		pairs = append(pairs, pair{lo, lo})
		lo++
	}
	n, m := len(a), len(b)
	var tail []pair
	for n > lo && m > lo && a[n-1] == b[m-1] {
		n, m = n-1, m-1
		tail = append(tail, pair{n, m})
	}
	slices.Reverse(tail)
	rows, columns := n-lo, m-lo
	if rows*columns > maxCells {
		return append(pairs, tail...)
	}
	// longest[i*(columns+1)+j] is the length for a[lo+i:n] and b[lo+j:m].
	longest := make([]int32, (rows+1)*(columns+1))
	for i := rows - 1; i >= 0; i-- {
		for j := columns - 1; j >= 0; j-- {
			at := i*(columns+1) + j
			if a[lo+i] == b[lo+j] {
				longest[at] = 1 + longest[at+columns+2]
			} else {
				longest[at] = max(longest[at+columns+1], longest[at+1])
			}
		}
	}
	for i, j := 0, 0; i < rows && j < columns; {
		at := i*(columns+1) + j
		switch {
		case a[lo+i] == b[lo+j]:
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
