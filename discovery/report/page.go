package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project/record"
)

//go:embed page.css
var sectionCSS string

//go:embed index.css
var indexCSS string

// style returns the page's one style sheet.
func style() string { return sectionCSS + indexCSS }

//go:embed index.js
var indexJS string

//go:embed page.js
var sectionJS string

// script returns the page's one script.
func script() string { return indexJS + sectionJS }

// page is the contents of a page.
type page struct {
	Version  string
	Captures int
	Runs     int
	// Words counts the runs with each verdict, and Artifacts those with an artifact.
	Words     map[analysis.Verdict]int
	Artifacts int
	Redacted  bool
	Sections  []*section
}

func newPage(tool record.Tool, captures int, redacted bool) *page {
	return &page{Version: tool.Name + " " + tool.Version, Captures: captures, Redacted: redacted, Words: make(map[analysis.Verdict]int)}
}

// policy returns the page's Content-Security-Policy. It allows only the page's own style
// and script.
func policy() string {
	return "default-src 'none'; script-src 'sha256-" + hash(script()) + "'; style-src 'sha256-" + hash(style()) +
		"'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// hash returns the hash of an inline script or style for a Content-Security-Policy (CSP3
// §2.3.1).
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// add adds a run to the page and returns its section.
func (p *page) add(name string, r *run, v *viewer) *section {
	s := v.section(name, r)
	s.Number = len(p.Sections) + 1
	if !r.alone && r.inspect.RunID != nil && !p.Redacted {
		s.ID = v.show.Short(*r.inspect.RunID, maxName)
	}
	p.Sections = append(p.Sections, s)
	if r.inspect.Run != nil {
		p.Runs++
	}
	p.Words[s.Word]++
	if s.Artifact != nil {
		p.Artifacts++
	}
	return s
}

// several reports whether the page has an index.
func (p *page) several() bool { return len(p.Sections) > 1 }

// counted returns the number of captures and runs, in words.
func (p *page) counted() string {
	return plural(p.Captures, "capture", "captures") + ", " + plural(p.Runs, "run", "runs")
}

// withoutRun returns the number of captures without a run, and of those that cannot be
// read.
func (p *page) withoutRun() (none, unread int) {
	for _, s := range p.Sections {
		if s.Unread {
			unread++
		}
	}
	return len(p.Sections) - p.Runs - unread, unread
}

// Every page begins with pageBegin. Its first headSize bytes contain pageMaker followed by
// the name of the program.
const (
	pageBegin = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="`
	pageMaker = `<meta name="generator" content="`
	headSize  = 2 << 10
)

// isPage reports whether a file is a page written by any version of the program.
func isPage(file io.Reader) (bool, error) {
	head, err := io.ReadAll(io.LimitReader(file, headSize))
	return bytes.HasPrefix(head, []byte(pageBegin)) && bytes.Contains(head, []byte(pageMaker+record.ToolName+" ")), err
}

// note returns the note about confidential content at the top of the page.
func (p *page) note() markup.HTML {
	if p.Redacted {
		return `<strong>Every text of the captures is replaced by its length,</strong> and so is every key that AG-UI does not have. Numbers and booleans are replaced as well. Digests are left out, because a short text could be guessed from its digest. The names of the captures, AG-UI types, roles and keys, sizes, times and findings are shown.`
	}
	events, bodies := false, false
	for _, s := range p.Sections {
		bodies = bodies || s.Body != nil
		events = events || s.Body == nil && s.Timeline != nil
	}
	const share = ` Share it only with people who may see the captures.`
	switch {
	case events && bodies:
		return `<strong>This page contains the raw events:</strong> prompts, arguments of tools, state. It also contains responses of endpoints.` + share
	case events:
		return `<strong>This page contains the raw events:</strong> prompts, arguments of tools, state.` + share
	case bodies:
		return `<strong>This page contains what the endpoint sent:</strong> the body of the response.` + share
	}
	return `This page contains no event of the captures.`
}

func (p *page) write(to io.Writer) error {
	title := plural(p.Captures, "capture", "captures")
	if !p.several() {
		title = p.Sections[0].Capture
	}
	var class markup.HTML
	if p.several() {
		class = ` class="several"`
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
<body%s>
<a class="skip" href="#main">Skip to the report</a>
<header class="top">
<h1><span>%s</span> %s</h1>
<p class="note">%s</p>
</header>`, markup.HTML(policy()), p.Version, title, hint.PageName, markup.HTML(style()), class, hint.PageName, p.counted(), p.note())
	if p.several() {
		p.writeBar(w)
		p.writeIndex(w)
	}
	w.Put(`
<main id="main" tabindex="-1">`)
	for _, s := range p.Sections {
		s.write(w, p.several())
	}
	w.Put(`
</main>
<footer>
<p>This page shows which messages one captured run had: portable compacted message-history evidence for one bounded run envelope. It does not show that nothing else happened, or who wrote it. Made by %s.`, p.Version)
	if !p.Redacted {
		w.Put(` A digest here is what <code>%s</code> writes; <code>%s</code> repeats it from the capture.`, hint.Freeze, hint.Verify)
	}
	w.Put(`</p>
</footer>
<p id="status" class="sr" role="status"></p>
<script>%s</script>
</body>
</html>
`, markup.HTML(script()))
	return w.Flush()
}

// plural formats a number with the matching form of its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Grouped(int64(n)) + " " + many
}
