package report

import (
	"context"
	_ "embed"
	"io"
	"strconv"

	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/internal/look"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/tracediff"
)

//go:embed traces.css
var tracesCSS string

// These limits keep a page of traces below 100 MB. What exceeds them is only counted.
const (
	maxTraceValue = 64 << 10 // bytes of one event or value
	maxTraceBytes = 16 << 20
	maxEqual      = 64 << 10 // bytes of equal events that follow each other
)

// Traces is a page that shows two traces, or several pairs, in two columns. It writes nothing
// until Write.
type Traces struct {
	tool     record.Tool
	out      string
	sections []traceSection
	rows     []byte // of the current section
	equal    []byte // equal events that follow each other
	equals   int    // their number
	shown    int    // of these
	hidden   int    // differences of the current section that are not shown
	left     int    // bytes
}

// traceSection is one pair of traces.
type traceSection struct {
	row    tracediff.Row
	rows   []byte
	hidden int
}

// NewTraces returns a page that is written to the file out. A page that this program wrote is
// replaced, and no other file. It returns an error if out is one of the captures.
func NewTraces(tool record.Tool, out string, captures []string) (*Traces, error) {
	s := Settings{Out: out}
	if err := s.checkOut(captures); err != nil {
		return nil, err
	}
	return &Traces{tool: tool, out: out, left: maxTraceBytes}, nil
}

// Add adds an event that differs, or one that both traces have.
func (p *Traces) Add(d tracediff.Difference) {
	if p.left <= 0 {
		if d.Kind != trace.Same {
			p.hidden++
		}
		return
	}
	if d.Kind == trace.Same {
		if p.equals++; len(p.equal) < maxEqual {
			p.equal = p.cells(p.equal, d, nil, nil)
			p.shown++
		}
		return
	}
	p.flush()
	var a, b []byte
	for _, c := range d.Changes {
		a, b = p.change(a, c, c.A), p.change(b, c, c.B)
	}
	before := len(p.rows)
	p.rows = p.cells(p.rows, d, a, b)
	p.left -= len(p.rows) - before
}

// change adds one value of a change.
func (p *Traces) change(to []byte, c tracediff.Change, value *string) []byte {
	to = append(to, `<p class="changes"><code>`...)
	to, _ = markup.Content{}.Append(to, string(c.Pointer), false, len(to)+maxFact)
	to = append(to, `</code>`...)
	if value == nil {
		return append(to, ` <span class="none">not there</span></p>`...)
	}
	return p.tree(append(to, `</p>`...), *value)
}

// tree adds a JSON text.
func (p *Traces) tree(to []byte, text string) []byte {
	to = append(to, `<div class="tree">`...)
	from := len(to)
	to, n := markup.Content{}.AppendTree(to, []byte(text), nil, len(to)+maxTraceValue)
	if n == 0 { // it has half a surrogate pair, or is nested too deeply
		to, n = markup.Content{}.Append(to[:from], text, true, from+maxTraceValue)
	}
	to = append(to, `</div>`...)
	if n < len(text) {
		to = append(to, `<p class="cut">The rest is not shown here.</p>`...)
	}
	return to
}

// cells adds a row of the table. Without changes, both sides have the event.
func (p *Traces) cells(to []byte, d tracediff.Difference, a, b []byte) []byte {
	to = append(to, "\n<tr class=\""+string(d.Kind)+"\">"...)
	for i, at := range []*tracediff.Place{d.A, d.B} {
		to = append(to, `<td>`...)
		if at != nil {
			to = append(to, `<p class="what"><span class="tag">`+string(d.Kind)+`</span> <strong>`...)
			to, _ = markup.Content{}.Append(to, d.EventType, false, len(to)+maxName)
			to = append(to, `</strong> event `+strconv.Itoa(at.Event)+`, line `+strconv.Itoa(at.Line)+`</p>`...)
			switch {
			case len(d.Changes) == 0:
				to = p.tree(to, d.Text)
			case i == 0:
				to = append(to, a...)
			default:
				to = append(to, b...)
			}
		}
		to = append(to, `</td>`...)
	}
	return append(to, `</tr>`...)
}

// flush adds the equal events that were found.
func (p *Traces) flush() {
	if p.equals == 0 {
		return
	}
	before := len(p.rows)
	p.rows = append(p.rows, "\n<tr class=\"equal\"><td colspan=\"2\"><details><summary>"+plural(p.equals, "equal event", "equal events")+`</summary><table class="traces"><tbody>`...)
	p.rows = append(append(p.rows, p.equal...), `</tbody></table>`...)
	if p.shown < p.equals {
		p.rows = append(p.rows, `<p class="cut">Only the first `+strconv.Itoa(p.shown)+` are shown here.</p>`...)
	}
	p.rows = append(p.rows, `</details></td></tr>`...)
	p.left -= len(p.rows) - before
	p.equal, p.equals, p.shown = nil, 0, 0
}

// End ends a pair.
func (p *Traces) End(row tracediff.Row) {
	p.flush()
	p.sections = append(p.sections, traceSection{row, p.rows, p.hidden})
	p.rows, p.hidden = nil, 0
}

// Path returns the path of the page.
func (p *Traces) Path() string { return p.out }

// Write writes the page, completely or not at all. An existing page is replaced, and any other
// file is an error.
func (p *Traces) Write(ctx context.Context) error {
	s := Settings{Out: p.out, Force: true}
	_, err := s.writePage(ctx, p.write)
	return err
}

func (p *Traces) write(to io.Writer) error {
	css, maker := look.Style()+sectionCSS+tracesCSS, p.tool.Name+" "+p.tool.Version
	w := markup.NewWriter(to)
	writeHead(w, "default-src 'none'; style-src 'sha256-"+markup.HTML(hash(css))+"'; base-uri 'none'; form-action 'none'", maker, p.title(), markup.HTML(css))
	w.Put(`<body>
<header class="top">
<h1>%s</h1>
<p class="note"><strong>This page contains events of the captures:</strong> prompts, arguments of tools, state. Share it only with people who may see them.</p>
</header>
<main id="main">`, p.title())
	for _, s := range p.sections {
		s.write(w)
	}
	w.Put(`
</main>
<footer>
<p>Ids have names such as message-2, and times do not count. This page compares what two agents sent, and is not evidence of a run. Made by %s.</p>
</footer>
</body>
</html>
`, maker)
	return w.Flush()
}

// title returns the title of the page.
func (p *Traces) title() string {
	differ := 0
	for _, s := range p.sections {
		if s.row.Verdict != tracediff.Equal {
			differ++
		}
	}
	if len(p.sections) == 1 {
		return p.sections[0].row.Name + ": " + string(p.sections[0].row.Verdict)
	}
	return strconv.Itoa(differ) + " of " + plural(len(p.sections), "capture differs", "captures differ")
}

// write writes a pair. If it has no differences, only its heading.
func (s *traceSection) write(w *markup.Writer) {
	row := s.row
	w.Put(`
<article><h2>%s <span class="verdict %s">%s</span></h2>`, row.Name, row.Verdict, row.Verdict)
	for _, f := range []tracediff.File{row.A, row.B} {
		if f.Verdict != project.Accepted {
			for _, found := range f.Findings {
				w.Put(`
<p>%s: %s</p>`, f.Capture, found.Message)
			}
		}
	}
	if row.Verdict == project.Differs {
		w.Put(`
<p>%s missing, %s added, %s changed, %s moved.</p>
<table class="traces">
<thead><tr><th scope="col">A: %s, %s</th><th scope="col">B: %s, %s</th></tr></thead>
<tbody>%s</tbody>
</table>`, row.Missing, row.Added, row.Changed, row.Moved, row.A.Capture, plural(*row.A.Events, "event", "events"), row.B.Capture, plural(*row.B.Events, "event", "events"), markup.HTML(s.rows))
	}
	if s.hidden > 0 {
		w.Put(`
<p class="cut">%s more differences are not shown here.</p>`, humanize.Grouped(int64(s.hidden)))
	}
	w.Put(`
</article>`)
}
