package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
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
	Sections   []*section
}

func newPage(tool record.Tool, captures int) *page {
	return &page{Version: tool.Name + " " + tool.Version, Captures: captures}
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

// add puts a run on the page.
func (p *page) add(name string, r *run, v *viewer) {
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
}

// several reports whether the page has an index.
func (p *page) several() bool { return len(p.Sections) > 1 }

// withoutRun is how many captures have a section that is of no run.
func (p *page) withoutRun() int { return len(p.Sections) - p.Runs }

func (p *page) write(to io.Writer) error {
	title := plural(p.Captures, "capture", "captures")
	if !p.several() {
		title = p.Sections[0].Capture
	}
	w := markup.NewWriter(to)
	w.Put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="%s">
<title>%s – %s</title>
<style>%s</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<header class="top">
<h1><span>%s</span> %s, %s</h1>
<p class="note"><strong>This page holds the raw events of its captures.</strong> They can say more than an artifact does: prompts, arguments of tools, state. Pass it on only to those who may see the captures.</p>
</header>`, markup.HTML(policy()), p.Version, title, hint.PageName, markup.HTML(style()), hint.PageName, plural(p.Captures, "capture", "captures"), plural(p.Runs, "run", "runs"))
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
<p>Made by %s. What it claims of a frozen run is portable compacted message-history evidence for one bounded run envelope, and no more. A digest here is what <code>%s</code> writes; <code>%s</code> repeats it from the capture.</p>
</footer>
<p id="status" class="sr" role="status"></p>
<script>%s</script>
</body>
</html>
`, p.Version, hint.Freeze, hint.Verify, markup.HTML(pageJS))
	return w.Flush()
}

// write writes the section of one run; several is whether the page has others.
func (s *section) write(w *markup.Writer, several bool) {
	w.Put(`
<article id="r%s" aria-labelledby="r%s-name">
<header>
<h2 id="r%s-name">%s`, s.Number, s.Number, s.Number, s.Capture)
	w.Some(` <small>%s</small>`, s.Run)
	w.Put(`</h2>
<p class="says"><span class="verdict %s">%s</span> %s</p>
</header>
<div class="pair">
<section>
<h3>The run</h3>
<dl class="facts">`, s.Verdict, s.Verdict, s.Says)
	for _, f := range s.Facts {
		w.Put(`
<div><dt>%s</dt><dd>%s</dd></div>`, f.Name, f.Value)
	}
	w.Put(`
</dl>
</section>`)
	s.writeSizes(w)
	w.Put(`
</div>`)
	s.writeOutcomes(w)
	s.writeFindings(w)
	if s.Artifact != nil {
		s.Artifact.write(w)
		s.Artifact.writeParts(w, s.Number)
	}
	s.writeTimeline(w, several)
	if len(s.Digests) > 0 {
		w.Put(`
<section>
<h3 id="r%s-digests">Digests</h3>
<dl class="digests">`, s.Number)
		for _, d := range s.Digests {
			w.Put(`
<div><dt>%s</dt><dd><code>%s</code> <button type="button" class="copy" hidden>Copy<span class="sr"> the digest of %s</span></button></dd></div>`, d.Name, d.Value, d.Name)
		}
		w.Put(`
</dl>
</section>`)
	}
	if several {
		w.Put(`
<p class="back"><a href="#index">Back to the index</a></p>`)
	}
	if s.Data != "" {
		w.Put(`
<script type="application/json" id="data-%s">%s</script>`, s.Number, s.Data)
	}
	w.Put(`
</article>`)
}

func (s *section) writeSizes(w *markup.Writer) {
	if len(s.Sizes) == 0 {
		return
	}
	w.Put(`
<section>
<h3>Sizes, to scale</h3>
<dl class="sizes">`)
	for _, z := range s.Sizes {
		w.Put(`
<div><dt>%s</dt><dd>%s<svg role="img" aria-label="%s % of the largest" viewBox="0 0 100 4" preserveAspectRatio="none"><rect class="track" width="100" height="4"/><rect width="%s" height="4"/></svg></dd></div>`, z.Name, humanize.Bytes(z.Bytes), z.Width, z.Width)
	}
	w.Put(`
</dl>
</section>`)
}

func (s *section) writeOutcomes(w *markup.Writer) {
	if len(s.Outcomes) == 0 {
		return
	}
	w.Put(`
<section>
<h3>What each projection makes of it</h3>
<ul class="outcomes">`)
	for _, o := range s.Outcomes {
		var class, shown markup.HTML
		if o.Subject {
			class, shown = ` class="subject"`, ` <small>shown here</small>`
		}
		w.Put(`
<li%s><span class="verdict %s">%s</span> <strong>%s</strong>%s`, class, o.Verdict, o.Verdict, o.Name, shown)
		if len(o.Says) > 0 {
			w.Put(`<ul>`)
			for _, says := range o.Says {
				w.Put(`<li>%s</li>`, says)
			}
			w.Put(`</ul>`)
		}
		w.Put(`</li>`)
	}
	w.Put(`
</ul>
</section>`)
}

func (s *section) writeFindings(w *markup.Writer) {
	w.Put(`
<section>
<h3>Findings</h3>`)
	for _, of := range s.Findings {
		w.Some(`
<h4>%s</h4>`, of.Of)
		w.Put(`
<ul class="findings">`)
		for _, f := range of.List {
			w.Put(`
<li class="%s"><p><span class="severity">%s</span> <code>%s</code>`, f.Severity, f.Severity, f.Code)
			if f.EventIndex != nil {
				w.Put(` at `)
				w.Event(s.Number, *f.EventIndex)
			}
			w.Some(` <code>%s</code>`, f.Place)
			w.Some(` <small>rule %s</small>`, f.Rule)
			w.Put(`</p><p>%s</p>`, f.Text)
			w.Some(`<p class="next">Next: %s</p>`, f.Next)
			w.Put(`</li>`)
		}
		if len(of.List) == 0 {
			w.Put(`
<li class="none">None.</li>`)
		}
		if of.More > 0 {
			w.Put(`
<li class="none">%s not listed.</li>`, plural(of.More, "more is", "more are"))
		}
		w.Put(`
</ul>`)
	}
	w.Put(`
</section>`)
}

func (s *section) writeTimeline(w *markup.Writer, several bool) {
	w.Put(`
<section id="r%s-timeline">
<h3>The raw events</h3>`, s.Number)
	if t := s.Timeline; t != nil {
		if t.Strip != nil {
			w.Put(`
<figure class="strip">
<svg role="img" aria-label="When events of each colour arrived" viewBox="0 0 1000 %s" height="%s" preserveAspectRatio="none">%s</svg>
<figcaption><span>%s</span> <span>%s after the request</span></figcaption>
</figure>`, t.Strip.Height(), t.Strip.Height(), t.Strip.SVG(), spelled(t.Strip.First), spelled(t.Strip.Last))
		}
		var open markup.HTML
		if !several {
			open = ` open`
		}
		w.Put(`
<details class="timeline" data-run="%s"%s>
<summary>%s, %s of data</summary>`, s.Number, open, plural(t.Count, "event", "events"), humanize.Bytes(t.Bytes))
		if t.Unlisted > 0 {
			w.Put(`
<p class="cut">%s past what a page lists, and only counted.</p>`, plural(t.Unlisted, "event is", "events are"))
		}
		if t.Cut > 0 {
			w.Put(`
<p class="cut">%s shown in part, or by place and size alone: a page is bounded.</p>`, plural(t.Cut, "event is", "events are"))
		}
		w.Put(`
<noscript><p>The timeline needs JavaScript. It runs from this file alone; the page loads nothing.</p></noscript>
</details>`)
	} else {
		w.Put(`
<p>No event is shown: nothing of a capture counts before all of it is found right.</p>`)
	}
	if len(s.Families) > 0 {
		w.Put(`
<ul class="families" aria-label="Events by type">`)
		for _, f := range s.Families {
			w.Put(`
<li class="%s">%s <span class="count">%s</span></li>`, hue(f.Name), f.Name, f.Count)
		}
		w.Put(`
</ul>`)
	}
	w.Put(`
</section>`)
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
