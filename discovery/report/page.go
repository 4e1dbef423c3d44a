package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"

	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

//go:embed page.css
var sectionCSS string

//go:embed index.css
var indexCSS string

// style returns the page's one style sheet.
func style() string { return sectionCSS + indexCSS }

//go:embed page.js
var pageJS string

// page is what a page shows.
type page struct {
	Version  string
	Captures int
	Runs     int
	Frozen   int
	Refused  int
	// Incomplete counts the frozen runs whose snapshots lack streamed text.
	Incomplete int
	Redacted   bool
	Sections   []*section
}

func newPage(tool record.Tool, captures int, redacted bool) *page {
	return &page{Version: tool.Name + " " + tool.Version, Captures: captures, Redacted: redacted}
}

// policy returns the page's Content-Security-Policy, which admits its own style
// and script and nothing else.
func policy() string {
	return "default-src 'none'; script-src 'sha256-" + hash(pageJS) + "'; style-src 'sha256-" + hash(style()) +
		"'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// hash is that of an inline script or style as a Content-Security-Policy spells
// it (CSP3 §2.3.1).
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// add puts a run on the page, and returns its section.
func (p *page) add(name string, r *run, v *viewer) *section {
	s := v.section(name, r)
	s.Number = len(p.Sections) + 1
	p.Sections = append(p.Sections, s)
	if r.inspect.Run != nil {
		p.Runs++
	}
	if s.Verdict == project.Frozen {
		p.Frozen++
		if s.Incomplete {
			p.Incomplete++
		}
	} else {
		p.Refused++
	}
	return s
}

// several reports whether the page has an index.
func (p *page) several() bool { return len(p.Sections) > 1 }

// withoutRun is how many captures have a section that is of no run.
func (p *page) withoutRun() int { return len(p.Sections) - p.Runs }

// Every page begins with pageBegin, and has pageMaker and the name of the program
// within the bytes of headSize.
const (
	pageBegin = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="`
	pageMaker = `<meta name="generator" content="`
	headSize  = 2 << 10
)

// isPage reports whether a file is a page, of any version of the program.
func isPage(file io.Reader) (bool, error) {
	head, err := io.ReadAll(io.LimitReader(file, headSize))
	return bytes.HasPrefix(head, []byte(pageBegin)) && bytes.Contains(head, []byte(pageMaker+record.ToolName+" ")), err
}

// note says at the top who may see the page.
func (p *page) note() markup.HTML {
	if p.Redacted {
		return `<strong>The content of the captures was replaced.</strong> This page shows the length of each text, and no digests: a short text could be guessed from its digest. It keeps the names of the captures, the types, roles and keys of AG-UI, sizes, times and findings.`
	}
	return `<strong>This page holds the raw events of its captures.</strong> They can say more than an artifact does: prompts, arguments of tools, state. Pass it on only to those who may see the captures.`
}

func (p *page) write(to io.Writer) error {
	title := plural(p.Captures, "capture", "captures")
	if !p.several() {
		title = p.Sections[0].Capture
	}
	w := markup.NewWriter(to)
	w.Put(pageBegin+`%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
`+pageMaker+`%s">
<title>%s – %s</title>
<style>%s</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<header class="top">
<h1><span>%s</span> %s, %s</h1>
<p class="note">%s</p>
</header>`, markup.HTML(policy()), p.Version, title, hint.PageName, markup.HTML(style()), hint.PageName, plural(p.Captures, "capture", "captures"), plural(p.Runs, "run", "runs"), p.note())
	if p.several() {
		p.index(w)
	}
	w.Put(`
<main id="main" tabindex="-1">`)
	for _, s := range p.Sections {
		s.write(w, p.several())
	}
	w.Put(`
</main>
<footer>
<p>Made by %s. What it claims of a frozen run is portable compacted message-history evidence for one bounded run envelope, and no more.`, p.Version)
	if !p.Redacted {
		w.Put(` A digest here is what <code>%s</code> writes; <code>%s</code> repeats it from the capture.`, hint.Freeze, hint.Verify)
	}
	w.Put(`</p>
</footer>
<p id="status" class="sr" role="status"></p>
<script>%s</script>
</body>
</html>
`, markup.HTML(pageJS))
	return w.Flush()
}

// plural spells a number with its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Grouped(int64(n)) + " " + many
}
