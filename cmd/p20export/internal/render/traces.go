package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/cmd/p20export/internal/render/document"
	"github.com/p20export/p20export/discovery/report"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/diff"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/golden"
	"github.com/p20export/p20export/project/tracediff"
)

// Traces prints the differences of traces, as they are found.
type Traces struct {
	*Printer
	// Command is the name of the command.
	Command string
	// Golden says that A are goldens.
	Golden bool
	// Several says that there can be more than one comparison. The text then has only those
	// with differences, and their number.
	Several bool
	// Quiet reduces the text to the number.
	Quiet bool
	// Page, if not nil, gets the differences too.
	Page *report.Traces
	// Temporary says that the captures will be deleted, so that their paths are not shown.
	Temporary bool
	// Dir is the directory of the goldens, for the next step.
	Dir string

	groups   []traceGroup // of several comparisons
	current  traceGroup
	kept     int // differences of these
	tally    Tally
	hints    []string          // that were printed
	findings []finding.Finding // of the current comparison, for a document
	more     int
}

// maxTraceFindings limits the findings about one comparison in a document.
const maxTraceFindings = 1000

// Difference prints one difference. It reports whether the output could be written.
func (t *Traces) Difference(d tracediff.Difference) bool {
	if t.Page != nil {
		t.Page.Add(d)
	}
	switch {
	case d.Kind == trace.Same:
		return true
	case t.format == JSON:
		t.json(d)
	case t.format != Text:
		if len(t.findings) < maxTraceFindings {
			t.findings = append(t.findings, t.findingOf(d))
		} else {
			t.more++
		}
	case t.Quiet:
	case t.Several:
		t.keep(d)
	default:
		t.difference(d, t.places(d))
	}
	return t.Flush()
}

// A traceGroup is comparisons that have the same differences.
type traceGroup struct {
	names       []string
	key         string
	differences []tracediff.Difference // of the first
}

// maxKept limits the differences that are kept to be printed once for several comparisons.
const maxKept = 10_000

// keep keeps a difference of the current comparison.
func (t *Traces) keep(d tracediff.Difference) {
	if t.kept++; t.kept > maxKept {
		t.printGroups()
	}
	g := &t.current
	g.differences = append(g.differences, d)
	g.key += "\n" + string(d.Kind) + d.EventType
	if d.Kind != trace.Changed {
		g.key += d.Text
	}
	for _, c := range d.Changes {
		g.key += "\n" + string(c.Pointer) + "\n" + orNone(c.A) + "\n" + orNone(c.B)
	}
}

// endGroup ends the current comparison.
func (t *Traces) endGroup(name string) {
	g := t.current
	t.current = traceGroup{}
	for i := range t.groups {
		if g.key == t.groups[i].key {
			t.groups[i].names = append(t.groups[i].names, name)
			return
		}
	}
	g.names = []string{name}
	t.groups = append(t.groups, g)
}

// printGroups prints what was kept.
func (t *Traces) printGroups() {
	if len(t.current.differences) > 0 { // it goes on
		t.endGroup(t.current.differences[0].Name)
	}
	for _, g := range t.groups {
		t.Line("%s \t%s", t.verdict(project.Differs), strings.Join(g.names, ", "))
		for _, d := range g.differences {
			t.difference(d, t.places(d))
		}
	}
	t.groups, t.kept = nil, 0
}

func (t *Traces) difference(d tracediff.Difference, places string) {
	colour := yellow
	switch d.Kind {
	case trace.Missing:
		colour = red
	case trace.Added:
		colour = green
	}
	t.Line("%s %s  %s", t.Paint(colour, fmt.Sprintf("%-9s", string(d.Kind))), painted(finding.Escape(d.EventType)), painted(finding.Printable(places)))
	if d.Kind != trace.Changed {
		t.jsonExcerpt("   ", &d.Text, nil)
		return
	}
	was, is, gone, added := "A  ", "B  ", "only A  ", "only B  "
	if t.Golden {
		was, is, gone, added = "was  ", "is   ", "gone  ", "new   "
	}
	for _, c := range d.Changes {
		at := string(c.Pointer)
		if c.Path != "" {
			at += "  (" + string(c.Path) + ")"
		}
		t.Line("  %s", at)
		switch {
		case c.B == nil:
			t.jsonExcerpt(gone, c.A, nil)
		case c.A == nil:
			t.jsonExcerpt(added, c.B, nil)
		default:
			t.jsonExcerpt(was, c.A, c.B)
			t.jsonExcerpt(is, c.B, c.A)
		}
	}
}

// places returns where the events of a difference are.
func (t *Traces) places(d tracediff.Difference) string {
	a, b := "in A ", "in B "
	if t.Golden {
		a, b = "golden ", ""
	}
	var list []string
	if d.A != nil {
		if t.Golden {
			list = append(list, fmt.Sprintf("%sline %d", a, d.A.Line))
		} else {
			list = append(list, a+eventPlace(d.A))
		}
	}
	if d.B != nil {
		list = append(list, b+eventPlace(d.B))
	}
	if d.Kind == trace.Moved {
		list = append(list, "now after "+cmp.Or(finding.Escape(d.B.After), "nothing"))
	}
	return strings.Join(list, ", ")
}

func eventPlace(at *tracediff.Place) string {
	if at.Last > at.Event {
		return fmt.Sprintf("events %d to %d, line %d", at.Event, at.Last, at.Line)
	}
	return fmt.Sprintf("event %d, line %d", at.Event, at.Line)
}

// jsonExcerpt prints the part of a JSON text where it begins to differ from another one.
func (t *Traces) jsonExcerpt(name string, text, other *string) {
	if text != nil {
		t.Line("    %s%s", name, painted(excerptOf(text, other)))
	}
}

func excerptOf(text, other *string) string {
	at := 0
	if other != nil {
		at = diff.FirstDifference([]byte(*text), []byte(*other))
	}
	return excerptAt([]byte(*text), at).Text
}

// findingOf returns a difference as a finding about B.
func (t *Traces) findingOf(d tracediff.Difference) finding.Finding {
	codes := map[trace.Kind]finding.Code{trace.Missing: finding.TraceMissing, trace.Added: finding.TraceAdded, trace.Changed: finding.TraceChanged, trace.Moved: finding.TraceMoved}
	message := fmt.Sprintf("%s %s (%s)", d.EventType, d.Kind, t.places(d))
	if d.Kind != trace.Changed {
		message += ": " + excerptOf(&d.Text, nil)
	}
	for _, c := range d.Changes {
		message += fmt.Sprintf("; %s", c.Pointer)
		if c.A != nil {
			message += " was " + excerptOf(c.A, c.B)
		}
		if c.B != nil {
			message += " is " + excerptOf(c.B, c.A)
		}
	}
	f := finding.New(codes[d.Kind], "%s", finding.Printable(message))
	if len(d.Changes) > 0 {
		f = f.WithPointer(d.Changes[0].Pointer)
	}
	if d.B != nil {
		f = f.WithOffset(d.B.Offset).WithResponseLine(d.B.Line).WithEvent(d.B.Event)
	}
	return f
}

// Row prints the verdict on a comparison, after its differences.
func (t *Traces) Row(row tracediff.Row) {
	t.tally.Add(row.Verdict)
	if t.Temporary {
		row.B.Capture = row.Name
	}
	if t.Page != nil {
		t.Page.End(row)
	}
	switch t.format {
	case Text:
		if !t.Quiet {
			t.verdictOf(row)
		}
	case JSON:
		t.json(row)
	default:
		if t.more > 0 {
			t.findings = append(t.findings, finding.New(finding.TraceChanged, "there are %d more differences", t.more))
		}
		file := row.B
		if file.Verdict == tracediff.Unmatched {
			file = row.A
		}
		r := document.Result{
			Name: row.Name, File: file.Response, Response: true, Outcome: outcomeOf(StatusOf(row.Verdict)), Verdict: string(row.Verdict),
			Bytes: file.Bytes, Findings: append(append(t.findings, row.A.Findings...), row.B.Findings...),
		}
		if row.Verdict == tracediff.Equal {
			r.Findings = finding.AsWarnings(r.Findings)
		}
		if file.Digest != nil {
			r.Digest = *file.Digest
		}
		t.add(t.Command, r)
		t.findings, t.more = nil, 0
	}
}

func (t *Traces) verdictOf(row tracediff.Row) {
	if row.Verdict == tracediff.Equal || row.Verdict == project.Differs {
		if t.Several {
			if len(t.current.differences) > 0 {
				t.endGroup(row.Name)
			}
			return
		}
		t.Line("%s A %s  %s", t.verdict(row.Verdict), row.A.Capture, painted(Plural(*row.A.Events, "event", "events")))
		t.Line("%-9s B %s  %s", "", row.B.Capture, painted(Plural(*row.B.Events, "event", "events")))
		if row.Verdict == project.Differs {
			t.Line("  %d missing, %d added, %d changed, %d moved", row.Missing, row.Added, row.Changed, row.Moved)
		}
		return
	}
	for _, f := range []tracediff.File{row.A, row.B} {
		if f.Verdict != project.Accepted {
			t.Line("%s \t%s", t.verdict(f.Verdict), cmp.Or(f.Capture, row.Name))
			t.Findings(t.once(f.Findings))
		}
	}
}

// once returns findings without the next step if it was printed before.
func (t *Traces) once(list []finding.Finding) []finding.Finding {
	list = slices.Clone(list)
	for i, f := range list {
		if slices.Contains(t.hints, f.Hint) {
			list[i] = f.WithHint("")
		} else {
			t.hints = append(t.hints, f.Hint)
		}
	}
	return list
}

// End prints the number of comparisons by verdict, if there can be several, or the document. It
// returns the exit status.
func (t *Traces) End() Status {
	t.printGroups()
	switch {
	case t.format == SARIF || t.format == JUnit:
		t.document(t.Command)
	case t.tally.Total() == 0:
	case t.Several && t.Golden:
		t.Note("%s: %s", Plural(t.tally.Total(), "scenario", "scenarios"), t.counts())
		if t.tally.counts[project.Differs] > 0 && !t.Quiet {
			t.Note("next: "+hint.WriteGoldens, t.Dir, t.Dir)
		}
	case t.Several:
		t.Note("%s: %s", Plural(t.tally.Total(), "capture", "captures"), t.counts())
	}
	return t.tally.Status
}

// counts formats the numbers of comparisons by verdict.
func (t *Traces) counts() string {
	text := t.tally.Counts()
	if t.tally.counts[project.Differs] != 1 {
		text = strings.Replace(text, " "+string(project.Differs), " differ", 1)
	}
	return text
}

// Goldens prints the outcome of writing goldens.
func (p *Printer) Goldens(rows []golden.Row, quiet bool) Status {
	var tally Tally
	for _, row := range rows {
		tally.Add(row.Verdict)
		switch {
		case p.format == JSON:
			p.json(row)
		case quiet || row.Verdict == tracediff.Equal:
		default:
			line := row.Golden
			if row.Lines != nil {
				line += "  " + Plural(*row.Lines, "line", "lines") + ", " + finding.Escape(row.Change)
			}
			p.Line("%s \t%s", p.verdict(row.Verdict), line)
			p.Findings(row.Findings)
		}
	}
	p.Note("%s: %s", Plural(tally.Total(), "golden", "goldens"), tally.Counts())
	return tally.Status
}

// Instabilities prints what differed between repeated captures of scenarios: of those whose
// traces were compared, and not of those that had none to compare in all captures. It returns
// the exit status.
func (p *Printer) Instabilities(repeat, compared int, untraced []string, list []golden.Instability) Status {
	if p.format == JSON {
		for _, i := range list {
			p.json(i)
		}
	}
	if len(untraced) > 0 {
		p.Note("not compared, because not all captures have a trace: %s", strings.Join(untraced, ", "))
	}
	switch {
	case len(list) > 0:
	case compared == 0:
		p.Note("nothing was compared")
		return Negative
	default:
		p.Note("stable: %d captures of %s have the same trace", repeat, Plural(compared, "scenario", "scenarios each"))
		return Done
	}
	if p.format != Text {
		return Negative
	}
	matched := 0
	for ; matched < len(list) && list[matched].Is != ""; matched++ {
	}
	if matched > 0 {
		p.Line("values that differ between %d captures of a scenario. If they are meant to be random, for trace.json:", repeat)
		p.settings(list[:matched])
	}
	for _, i := range list[:matched] {
		p.Line("%s %s, \tin %s", painted(finding.Escape(i.Event)), finding.Escape(string(i.Pointer)), strings.Join(i.Scenarios, ", "))
		for _, v := range []*string{i.A, i.B} {
			if v == nil {
				p.Line("    not there")
			} else {
				p.Line("    %s", painted(excerptOf(v, nil)))
			}
		}
	}
	if matched < len(list) {
		p.Line("events that differ between %d captures of a scenario, which no matcher hides:", repeat)
	}
	for _, i := range list[matched:] {
		p.Line("%s %s, \tin %s", painted(finding.Escape(i.Event)), string(i.Kind), strings.Join(i.Scenarios, ", "))
		if i.A != nil {
			p.Line("    %s", painted(excerptOf(i.A, nil)))
		}
	}
	return Negative
}

// settings prints a file trace.json that hides values that differ.
func (p *Printer) settings(list []golden.Instability) {
	var matchers []string
	shape := false
	for _, i := range list {
		if i.Is == golden.Shape {
			shape = true
			continue
		}
		if m := fmt.Sprintf(`{"event": %s, "pointer": %s, "is": "%s"}`, jsonText(i.Event), jsonText(string(i.Pointer)), i.Is); !slices.Contains(matchers, m) {
			matchers = append(matchers, m)
		}
	}
	var members []string
	if shape {
		members = append(members, `"text": "shape"`)
	}
	if len(matchers) > 0 {
		members = append(members, "\"matchers\": [\n    "+strings.Join(matchers, ",\n    ")+"]")
	}
	for line := range strings.SplitSeq("{"+strings.Join(members, ",\n  ")+"}", "\n") {
		p.Line("  %s", painted(line))
	}
}

// jsonText returns a string as JSON that is safe to print.
func jsonText(s string) string { return finding.Printable(string(artifact.AppendString(nil, s))) }
