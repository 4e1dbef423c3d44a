package discovery

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// Observe does to a capture what an expectation describes: it freezes it under
// every projection into dir, and says what came of it. Captures of scenarios
// hold one run at most.
func Observe(ctx context.Context, path, dir string) (Expectation, error) {
	l, err := readOutline(ctx, path)
	if err != nil {
		return Expectation{}, err
	}
	return l.observe(ctx, path, dir)
}

// observe is Observe of a capture whose outline was read.
func (l *outline) observe(ctx context.Context, path, dir string) (Expectation, error) {
	seen := l.seen
	for _, name := range project.Names() {
		rows, err := freeze.Freeze(ctx, path, freeze.Settings{
			Settings: project.Settings{Projection: name},
			Dir:      dir,
			Name:     string(name),
			Tool:     project.Tool{Name: "p20export", Version: "observed"},
		})
		if err != nil {
			return seen, err
		}
		if len(rows) != 1 {
			return seen, finding.New(finding.ScenarioUnexpected, "the capture holds %d runs where a scenario has one", len(rows)).
				Hinting("the endpoint should answer a request with one run")
		}
		if *seen.Freeze.Of(name), err = seen.outcome(rows[0], &l.types); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// outcome describes a row, and takes from a frozen one what all projections of
// the run share.
func (e *Expectation) outcome(row freeze.Row, of *types) (Outcome, error) {
	o := Outcome{Verdict: row.Verdict}
	if row.Verdict != freeze.Frozen {
		for _, f := range row.Findings {
			if f.Severity == finding.Error {
				o.Reasons = append(o.Reasons, string(f.Code)+place(f.EventIndex, "", f.Pointer, of))
			}
		}
		return o, nil
	}
	o.Origin = *row.Origin
	data, err := os.ReadFile(*row.Artifact)
	if err != nil {
		return o, err
	}
	a, findings := artifact.Decode(data, artifact.V1)
	if err := artifact.Err(findings); err != nil {
		return o, err
	}
	for _, m := range a.Messages {
		o.Roles = append(o.Roles, m.Role)
	}
	e.Parent = a.ParentRunIDRef
	if data, err = os.ReadFile(*row.Record); err != nil {
		return o, err
	}
	record, err := project.DecodeRecord(data)
	if err != nil {
		return o, err
	}
	e.TimeSource = record.Predicate.Times.Source
	for _, left := range record.Predicate.Omissions {
		o.Omissions = append(o.Omissions, string(left.Reason)+place(left.EventIndex, left.File, left.Pointer, of))
	}
	return o, nil
}

// place names an event by its type, which does not change between two captures
// of one scenario as its index might.
func place(index *int, file string, p finding.Pointer, of *types) string {
	where := file
	if index != nil {
		where = of.at(index)
	}
	if where += string(p); where == "" {
		return ""
	}
	return " " + where
}

// Structure is what captures of one scenario have in common: everything but
// ids, times, texts and the sizes of reads.
type Structure struct {
	HTTPStatus  int
	ContentType string
	End         capture.End
	Framing     capture.Framing
	// Sequence has each event's type and keys, runs of equal ones counted:
	// "TEXT_MESSAGE_CONTENT delta messageId x6".
	Sequence []string
	// Snapshots has each snapshot's messages as "role: keys".
	Snapshots [][]string
	Terminal  string
}

// ReadStructure reads a capture's structure.
func ReadStructure(path string) (*Structure, error) {
	c, err := capture.Open(context.Background(), path, "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	s := &Structure{Framing: c.Framing()}
	if m := c.Manifest(); m != nil {
		s.HTTPStatus, s.ContentType, s.End = m.Source.Status, m.Source.ContentType, m.End
	}
	b := &builder{s: s}
	if _, err := envelope.Scan(c, b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b.flush()
	return s, nil
}

type builder struct {
	s     *Structure
	last  string
	count int
}

// Event implements envelope.Visitor.
func (b *builder) Event(_ *envelope.Run, e *envelope.Event) {
	one := strings.Join(append([]string{e.Type}, keys(e)...), " ")
	if one != b.last {
		b.flush()
		b.last = one
	}
	b.count++
	if e.Type == envelope.MessagesSnapshot {
		b.s.Snapshots = append(b.s.Snapshots, messages(e))
	}
}

// End implements envelope.Visitor.
func (b *builder) End(run *envelope.Run) error {
	if run.Terminal != nil {
		b.s.Terminal = run.Terminal.Type
	}
	return nil
}

func (b *builder) flush() {
	if b.count > 1 {
		b.last += fmt.Sprintf(" x%d", b.count)
	}
	if b.count > 0 {
		b.s.Sequence = append(b.s.Sequence, b.last)
	}
	b.last, b.count = "", 0
}

func keys(e *envelope.Event) []string {
	var names []string
	for name := range e.Names {
		if name != "type" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func messages(e *envelope.Event) []string {
	var list []string
	for _, m := range envelope.Messages(e) {
		names := slices.Sorted(m.Names)
		role := ""
		if v, ok := m.Get("role"); ok {
			role, _ = v.Text()
		}
		list = append(list, role+": "+strings.Join(names, " "))
	}
	return list
}
