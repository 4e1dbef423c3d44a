package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"bytes":   humanize.Bytes,
	"plural":  plural,
	"hue":     hue,
	"spelled": spelled,
}).Parse(pageHTML))

// page is what the template shows.
type page struct {
	Title    string
	Version  string
	Captures int
	Runs     int
	Frozen   int
	Refused  int
	Sections []*section

	CSP template.HTMLAttr
	CSS template.CSS
	JS  template.JS
}

func newPage(tool record.Tool, captures int) *page {
	return &page{
		Version:  tool.Name + " " + tool.Version,
		Captures: captures,
		CSS:      template.CSS(pageCSS),
		JS:       template.JS(pageJS),
		CSP: template.HTMLAttr(`content="default-src 'none'; script-src 'sha256-` + hash(pageJS) + `'; style-src 'sha256-` + hash(pageCSS) +
			`'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"`),
	}
}

// hash is that of an inline script or style as a Content-Security-Policy spells
// it (CSP3 §2.3.1).
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// add puts a run on the page.
func (p *page) add(name string, r *run, left *limits) {
	s := newSection(name, r, left)
	s.Number = len(p.Sections) + 1
	p.Sections = append(p.Sections, s)
	if r.inspect.Run != nil {
		p.Runs++
	}
	if s.Verdict == project.Frozen {
		p.Frozen++
	} else {
		p.Refused++
	}
}

// Several reports whether the page has an index.
func (p *page) Several() bool { return len(p.Sections) > 1 }

// WithoutRun is how many captures have a section that is of no run.
func (p *page) WithoutRun() int { return len(p.Sections) - p.Runs }

func (p *page) write(w io.Writer) error {
	p.Title = plural(p.Captures, "capture", "captures")
	if !p.Several() {
		p.Title = p.Sections[0].Capture
	}
	return pageTemplate.Execute(w, p)
}

// plural spells a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Grouped(int64(n)) + " " + many
}

// spelled is a time since the request was sent.
func spelled(micros int64) string {
	return fmt.Sprintf("+%s.%03d ms", humanize.Grouped(micros/1000), micros%1000)
}
