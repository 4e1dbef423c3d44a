// Package tracediff compares captures event by event, in the normal form of docs/traces.md, with
// each other and with goldens.
//
// It must not contain rules of that form, and its results are not evidence.
package tracediff

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// Equal is the verdict on two captures whose traces are equal.
const Equal project.Verdict = "equal"

// Settings say what counts.
type Settings struct {
	trace.Options
	trace.Comparison
}

// Unmatched is the verdict on a capture or a golden that is not there.
const Unmatched project.Verdict = "unmatched"

// Trace is what is compared: the trace of a capture, or a golden, which is a file with the lines
// of a trace.
type Trace struct {
	Path string
	// Name is the name of the comparison if this is B. The default is the base name.
	Name   string
	Golden bool
	// Progress, if not nil, is called with the number of bytes read. A capture is read twice.
	Progress scan.Progress
}

// File is one of the two captures, or a golden.
type File struct {
	Capture string          `json:"capture"`
	Verdict project.Verdict `json:"verdict"`
	// Events is the number of events, or of the lines of a golden, and Digest the digest of the
	// response or file. They are nil if it could not be read.
	Events   *int              `json:"events"`
	Digest   *digest.Digest    `json:"digest"`
	Findings []finding.Finding `json:"findings"`

	// Incomplete says why the capture is not a whole run: it was cut off, or a run has no end.
	Incomplete string `json:"-"`
	// Response is the file that offsets refer to, and Bytes its size.
	Response string `json:"-"`
	Bytes    int64  `json:"-"`
}

// Row is the outcome of comparing two captures, or a golden with a capture.
type Row struct {
	// Name is the name of the captures: that of B, or of A if there is no B.
	Name string `json:"name"`
	// Verdict is Equal or project.Differs. If one of the two cannot be read or is missing, it is
	// the verdict on that one.
	Verdict project.Verdict `json:"verdict"`
	A       File            `json:"a"`
	B       File            `json:"b"`
	// Missing is the number of events that only A has.
	Missing int `json:"missing"`
	// Added is the number of events that only B has.
	Added int `json:"added"`
	// Changed is the number of events that have other values in B.
	Changed int `json:"changed"`
	// Moved is the number of events that B has in another place.
	Moved int `json:"moved"`
}

// Place is the place of an event, or of the first of several that count as one.
type Place struct {
	// Event is the index of the event in the capture, from 0.
	Event int `json:"event"`
	// Last is the index of the last of several events that count as one, or Event.
	Last int `json:"last"`
	// Offset is the offset of the event's first data byte in the response.
	Offset int64 `json:"offset"`
	// Line is the line of the response with that byte, from 1.
	Line int `json:"line"`
	// After is the type of the event before it that counts, or "" for the first one.
	After string `json:"after"`
}

// Difference is one difference.
type Difference struct {
	// Name is that of the row that follows.
	Name      string     `json:"name"`
	Kind      trace.Kind `json:"what"`
	EventType string     `json:"event_type"`
	// A and B are the places in the captures, and nil where the event is not.
	A *Place `json:"a"`
	B *Place `json:"b"`
	// Text is the event in normal form: in A, unless it was added.
	Text string `json:"text"`
	// Changes are the values that differ in a changed event.
	Changes []Change `json:"changes"`
}

// Change is a value that differs.
type Change struct {
	Pointer finding.Pointer `json:"pointer"`
	// Path is the JSON Pointer of what an operation of a patch changes in the state or
	// activity, or empty if the value is not in such an operation.
	Path finding.Pointer `json:"path"`
	// A and B are the JSON texts of the values, and nil where there is none.
	A *string `json:"a"`
	B *string `json:"b"`
}

// Compare compares two traces and passes each difference to each, in the order of the events.
// The differences are valid only if the verdict says so. Captures are read twice: ids are
// collected first. The error is that of each.
func Compare(ctx context.Context, a, b Trace, s Settings, each func(Difference) error) (Row, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errStopped)
	sides := [2]*side{newSide(a, s.Options), newSide(b, s.Options)}
	row := func(v project.Verdict) Row {
		return Row{Name: cmp.Or(b.Name, capture.BaseName(b.Path)), Verdict: v, A: sides[0].file, B: sides[1].file}
	}
	both(func(i int) { sides[i].prepare(ctx) })
	if v := worst(sides); v != project.Accepted {
		return row(v), nil
	}
	if !a.Golden && !b.Golden && *sides[0].file.Digest == *sides[1].file.Digest {
		return row(Equal), nil // the same bytes
	}
	out := row(Equal)
	var reported error
	_ = trace.Compare(sides[0].lines(ctx), sides[1].lines(ctx), s.Comparison, func(d *trace.Difference) error {
		if d.Kind != trace.Same {
			out.Verdict = project.Differs
		}
		out.count(d.Kind)
		reported = each(differenceOf(out.Name, d))
		return reported
	})
	cancel(errStopped)
	both(func(i int) { sides[i].wait() })
	if reported != nil {
		return out, reported
	}
	if v := worst(sides); v != project.Accepted {
		out.Verdict = v
	}
	out.A, out.B = sides[0].file, sides[1].file
	return out, nil
}

// Alone returns the row of a trace that cannot be compared, because only one of a and b
// exists. The finding is about the one that does not, which is a if missingA is set, and whose
// path can be empty.
func Alone(name, a, b string, missingA bool, f finding.Finding) Row {
	row := Row{Name: name, Verdict: Unmatched, A: newFile(a), B: newFile(b)}
	file := &row.B
	if missingA {
		file = &row.A
	}
	file.Verdict, file.Findings = Unmatched, []finding.Finding{f}
	return row
}

func newFile(path string) File {
	return File{Capture: path, Verdict: project.Accepted, Findings: []finding.Finding{}, Response: path}
}

// both calls do for both sides at the same time.
func both(do func(i int)) {
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// worst returns the verdict on the sides: that the first could not be read, or the second, or
// that the first is refused, or the second.
func worst(sides [2]*side) project.Verdict {
	v := project.Accepted
	for _, s := range sides {
		if v == project.Accepted || s.file.Verdict == project.Failed {
			v = s.file.Verdict
		}
	}
	return v
}

func (row *Row) count(k trace.Kind) {
	switch k {
	case trace.Missing:
		row.Missing++
	case trace.Added:
		row.Added++
	case trace.Changed:
		row.Changed++
	case trace.Moved:
		row.Moved++
	}
}

func differenceOf(name string, d *trace.Difference) Difference {
	out := Difference{Name: name, Kind: d.Kind, A: placeOf(d.A), B: placeOf(d.B), Changes: []Change{}}
	line := d.A
	if line == nil {
		line = d.B
	}
	out.EventType, out.Text = line.Type, string(line.Text)
	for _, c := range d.Changes {
		of := d.A
		if c.A == nil {
			of = d.B
		}
		out.Changes = append(out.Changes, Change{Pointer: c.Pointer, Path: pathOf(of, c.Pointer), A: textOf(c.A), B: textOf(c.B)})
	}
	return out
}

// pathOf returns what the operation changes that a pointer into an event is to, or "".
func pathOf(l *trace.Line, p finding.Pointer) finding.Pointer {
	member := ""
	switch l.Type {
	case eventnames.StateDelta:
		member = "delta"
	case eventnames.ActivityDelta:
		member = "patch"
	}
	parts := strings.SplitN(string(p), "/", 5)
	if member == "" || len(parts) < 3 || parts[1] != member {
		return ""
	}
	var line map[string]jsontext.Value
	var ops []struct {
		Path string `json:"path"`
	}
	i, err := strconv.Atoi(parts[2])
	if err != nil || json.Unmarshal(l.Text, &line) != nil || json.Unmarshal(line[member], &ops) != nil || i >= len(ops) {
		return ""
	}
	path := ops[i].Path
	if len(parts) == 5 && parts[3] == "value" {
		path += "/" + parts[4]
	}
	return finding.Pointer(path)
}

func placeOf(l *trace.Line) *Place {
	if l == nil {
		return nil
	}
	return &Place{Event: l.First.Index, Last: l.Last.Index, Offset: l.First.Offset, Line: l.First.Line, After: l.After}
}

func textOf(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}
