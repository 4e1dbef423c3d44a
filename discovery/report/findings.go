package report

import (
	"strconv"
	"strings"

	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/finding"
)

// findingsView has the findings of one projection or of a capture.
type findingsView struct {
	Of   string // name of the projection; empty if there is only one list
	List []findingView
	More int
}

type findingView struct {
	finding.Finding
	Place string
	Text  string
	Next  string
}

// place formats the location of a finding.
func (v *viewer) place(f finding.Finding) string {
	s := ""
	if f.EventIndex != nil {
		s = " at event " + strconv.Itoa(*f.EventIndex)
	}
	if f.Pointer != "" {
		s += " " + v.pointer(f.Pointer)
	}
	return s
}

func (v *viewer) findings(of string, list []finding.Finding) findingsView {
	shown := findingsView{Of: of}
	for _, f := range list {
		cost := item + len(f.Message) + len(f.Hint) + len(f.Pointer)
		if len(shown.List) == v.left.listed || take(&v.left.facts, cost) < cost {
			shown.More++
			continue
		}
		shown.List = append(shown.List, findingView{Finding: f, Place: v.pointer(f.Pointer), Text: v.show.Message(f), Next: v.show.Next(f)})
	}
	return shown
}

// counts formats the number of findings of each severity.
func counts(list []finding.Finding) string {
	n := make(map[finding.Severity]int)
	for _, f := range list {
		n[f.Severity]++
	}
	var says []string
	for _, of := range []struct {
		severity  finding.Severity
		one, many string
	}{{finding.Error, "error", "errors"}, {finding.Warning, "warning", "warnings"}, {finding.Info, "info", "info"}} {
		if n[of.severity] > 0 {
			says = append(says, plural(n[of.severity], of.one, of.many))
		}
	}
	if says == nil {
		return "none"
	}
	return strings.Join(says, ", ")
}

func (s *section) writeFindings(w *markup.Writer) {
	w.Put(`
<details class="folded">
<summary><h3>Findings</h3> <small>%s</small></summary>`, s.Counts)
	if len(s.Outcomes) > 0 {
		w.Put(`
<h4>What each projection makes of the run</h4>
<ul class="outcomes">`)
		for _, o := range s.Outcomes {
			var shown markup.HTML
			if o.Subject {
				shown = ` <small>shown here</small>`
			}
			w.Put(`
<li><strong>%s</strong> <span class="outcome">%s</span>%s`, o.Name, o.Verdict, shown)
			w.Some(`<p>%s</p>`, strings.Join(o.Says, "; "))
			w.Put(`</li>`)
		}
		w.Put(`
</ul>`)
	}
	for _, of := range s.Findings {
		of.write(w, s.Number)
	}
	w.Put(`
</details>`)
}

func (of *findingsView) write(w *markup.Writer, section int) {
	w.Some(`
<h4>%s</h4>`, of.Of)
	w.Put(`
<ul class="findings">`)
	for _, f := range of.List {
		w.Put(`
<li class="%s"><p><span class="severity">%s</span> <code>%s</code>`, f.Severity, f.Severity, f.Code)
		if f.EventIndex != nil {
			w.Put(` at `)
			w.Event(section, *f.EventIndex)
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
