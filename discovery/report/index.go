package report

import (
	"strconv"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/internal/humanize"
)

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
