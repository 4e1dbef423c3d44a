package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
	"strconv"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/internal/look"
	"github.com/p20export/p20export/project/record"
)

//go:embed page.css
var sectionCSS string

//go:embed index.css
var indexCSS string

// style returns the page's one style sheet.
func style() string { return look.Style() + sectionCSS + indexCSS }

//go:embed index.js
var indexJS string

//go:embed page.js
var sectionJS string

// script returns the page's one script.
func script() string { return look.Script() + indexJS + sectionJS }

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
	writeHead(w, markup.HTML(policy()), p.Version, title+" – "+hint.PageName, markup.HTML(style()))
	w.Put(`<body%s>
<a class="skip" href="#main">Skip to the report</a>
<header class="top">
<h1><span>%s</span> %s</h1>
<p class="note">%s</p>
</header>`, class, hint.PageName, p.counted(), p.note())
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

// writeHead writes the beginning of a page, up to its body. The maker is the name and the version
// of the program.
func writeHead(w *markup.Writer, policy markup.HTML, maker, title string, style markup.HTML) {
	w.Put(pageBegin+`%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
`+pageMaker+`%s">
<title>%s</title>
<style>%s</style>
</head>
`, policy, maker, title, style)
}

// plural formats a number with the matching form of its noun.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Grouped(int64(n)) + " " + many
}

// writeBar writes the bar that stays at the top of a page with several runs. Without
// JavaScript, it only has a link to the index.
func (p *page) writeBar(w *markup.Writer) {
	w.Put(`
<nav class="bar" aria-label="Runs">
<a href="#index">Index</a>
<button type="button" id="previous" aria-keyshortcuts="p k" hidden><span aria-hidden="true">‹</span><span class="wide"> Previous</span><span class="sr"> run</span></button>
<button type="button" id="next" aria-keyshortcuts="n j" hidden><span class="wide">Next </span><span class="sr">run </span><span aria-hidden="true">›</span></button>
<p id="here"></p>
<button type="button" id="all" hidden><span class="wide">Show </span>all<span class="sr"> runs</span></button>
</nav>`)
}

// writeIndex writes the number of runs with each verdict, and the table of runs.
func (p *page) writeIndex(w *markup.Writer) {
	w.Put(`
<section aria-labelledby="index">
<h2 id="index" tabindex="-1">Index</h2>
<ul class="words" aria-label="Verdicts">
<li data-verdict=""><span class="choice"><span>all</span> %s</span> <span class="means">An artifact was made from %s of %s.`, humanize.Grouped(int64(len(p.Sections))), humanize.Grouped(int64(p.Artifacts)), plural(p.Runs, "run", "runs"))
	none, unread := p.withoutRun()
	if none > 0 {
		w.Put(` %s no run.`, plural(none, "capture has", "captures have"))
	}
	if unread > 0 {
		w.Put(` %s not readable.`, plural(unread, "capture is", "captures are"))
	}
	w.Put(`</span></li>`)
	for _, word := range analysis.Verdicts() {
		if n := p.Words[word]; n > 0 {
			w.Put(`
<li data-verdict="%s"><span class="choice"><span class="verdict %s">%s</span> %s</span> <span class="means">%s</span></li>`, word, word, word, humanize.Grouped(int64(n)), word.Meaning())
		}
	}
	w.Put(`
</ul>
<div class="find" role="search" hidden>
<label for="find">Find runs</label> <input id="find" type="search" placeholder="name, id or reason" autocomplete="off" spellcheck="false">
<button type="button" id="open">Open all</button>
<p class="keys">Keys: <kbd>n</kbd> next run, <kbd>p</kbd> previous, <kbd>/</kbd> find</p>
</div>
<table class="index">
<thead><tr><th scope="col">Capture</th><th scope="col">Verdict</th><th scope="col">Messages kept</th><th scope="col">Left out of messages, or why refused</th><th scope="col">Ended with</th><th scope="col" class="num">Events</th><th scope="col" class="num">Run size</th></tr></thead>
<tbody>`)
	for _, s := range p.Sections {
		s.writeRow(w)
	}
	w.Put(`
</tbody>
</table>
</section>`)
}

// writeRow writes the row of a run in the index.
func (s *section) writeRow(w *markup.Writer) {
	var kept, events, size string
	if s.Messages > 0 {
		kept = strconv.Itoa(s.Kept) + " of " + strconv.Itoa(s.Messages)
	}
	if s.Timeline != nil {
		events = humanize.Grouped(int64(s.Timeline.events(s.NoRun)))
	}
	if len(s.Sizes) > 0 {
		size = humanize.Bytes(s.Sizes[0].Bytes)
	}
	lost := s.LostMessages
	if s.Artifact == nil && s.Command == "" {
		lost = s.Lost
	}
	end := "end"
	if s.Failed != "" {
		end = "end failed"
	}
	w.Put(`
<tr data-verdict="%s"><th scope="row"><a href="#r%s">%s</a>`, s.Word, s.Number, s.Capture)
	w.Some(` <small>%s</small>`, s.Run)
	w.Some(` <small class="id">%s</small>`, s.ID)
	w.Put(`</th><td><span class="verdict %s">%s</span></td><td data-is="Messages kept">%s</td><td class="lost">%s</td><td class="%s">%s</td><td class="num" data-is="Events">%s</td><td class="num" data-is="Run size">%s</td></tr>`,
		s.Word, s.Word, kept, lost, end, s.Terminal, events, size)
}
