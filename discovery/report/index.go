package report

import (
	"strconv"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/internal/humanize"
)

// index writes the table of the runs.
func (p *page) index(w *markup.Writer) {
	w.Put(`
<nav aria-labelledby="index">
<h2 id="index">Index</h2>
<p>%s frozen`, p.Frozen)
	if p.Incomplete > 0 {
		w.Put(` (%s streamed text)`, plural(p.Incomplete, "snapshot lacks", "snapshots lack"))
	}
	w.Put(`, %s refused.`, p.Refused)
	if n := p.withoutRun(); n > 0 {
		w.Put(` %s no run.`, plural(n, "refused capture shows", "refused captures show"))
	}
	w.Put(`</p>
<table class="index">
<thead><tr><th scope="col">Capture</th><th scope="col">Verdict</th><th scope="col">Projection</th><th scope="col" class="num">Messages</th><th scope="col">Ended with</th><th scope="col" class="num">Run</th><th scope="col" class="num">Artifact</th></tr></thead>
<tbody>`)
	for _, s := range p.Sections {
		w.Put(`
<tr><th scope="row"><a href="#r%s">%s</a>`, s.Number, s.Capture)
		w.Some(` <small>%s</small>`, s.Run)
		w.Put(`</th><td><span class="verdict %s">%s</span></td><td data-is="Projection">%s`, s.Verdict, s.Verdict, s.Projection)
		var messages, run, artifact string
		if a := s.Artifact; a != nil {
			messages, artifact = strconv.Itoa(s.Kept), humanize.Bytes(a.Bytes)
			if s.Word == analysis.Built {
				w.Put(` <span class="tag">built</span>`)
			}
			if s.Incomplete {
				w.Put(` <span class="tag">lacks streamed text</span>`)
			}
		}
		if len(s.Sizes) > 0 {
			run = humanize.Bytes(s.Sizes[0].Bytes)
		}
		w.Put(`</td><td class="num" data-is="Messages">%s</td><td data-is="Ended with">%s</td><td class="num" data-is="Run">%s</td><td class="num" data-is="Artifact">%s</td></tr>`, messages, s.Terminal, run, artifact)
	}
	w.Put(`
</tbody>
</table>
</nav>`)
}
