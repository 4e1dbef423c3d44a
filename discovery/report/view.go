package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// viewer turns what is known of runs into what a page shows of them. Every text that
// came out of a capture goes through show, and takes its part of what is left of
// the limits.
type viewer struct {
	left *limits
	show markup.Content
}

// short shows the beginning of a text that a capture says of itself.
func (v *viewer) short(text string) string {
	if len(text) > maxFact {
		text = strings.ToValidUTF8(text[:maxFact], "") + "…"
	}
	return v.show.Text(text)
}

// pointer shows a place in an event.
func (v *viewer) pointer(p finding.Pointer) string { return v.show.Text(string(p)) }

// section is what a page says of one run. Its strings are visible text.
type section struct {
	Number  int
	Capture string
	Run     string // "run 1" where the capture holds several, or why there is none
	Verdict project.Verdict
	Says    string
	// Projection is the one the section is about; empty when all of them refused
	// the run, or nothing counts.
	Projection project.Name
	Incomplete bool // the snapshot lacks streamed text
	Terminal   string
	Facts      []fact
	Outcomes   []outcomeView
	Findings   []findingsView
	Sizes      []size
	Artifact   *artifactView // nil when the run was refused
	Digests    []fact
	Timeline   *timeline
	Families   []family
	Data       markup.HTML
}

// fact is a name and what it stands for.
type fact struct{ Name, Value string }

// size is one bar of the picture of sizes.
type size struct {
	Name  string
	Bytes int64
	Width string // of a hundred
}

// family is a type of event and how many the run has.
type family struct {
	Name  string
	Count int
}

func (v *viewer) section(name string, r *run) *section {
	row := r.inspect
	s := &section{Capture: markup.Visible(name), Verdict: project.Refused, Timeline: r.timeline, Facts: v.facts(row)}
	if row.Terminal != nil {
		s.Terminal = markup.Visible(*row.Terminal)
	}
	switch {
	case r.subject == nil:
		s.Run = "not read"
		s.Facts = append(s.Facts, fact{"Run", "none is read of a capture that does not count"})
	case row.Run == nil:
		s.Run = "no run"
		s.Facts = append([]fact{{"Run", "the capture holds none"}}, s.Facts...)
	default:
		if !r.alone {
			s.Run = "run " + strconv.Itoa(*row.Run)
		}
		s.Sizes = append(s.Sizes, size{Name: "Run, as captured", Bytes: row.Bytes})
		for name, n := range row.Families.All {
			if cost := item + len(name); take(&v.left.facts, cost) == cost && len(s.Families) < v.left.listed {
				s.Families = append(s.Families, family{v.show.Text(name), n})
			}
		}
	}
	s.Digests = append(s.Digests, captureDigests(row)...)
	if r.subject == nil {
		s.Says = "Nothing of this capture counts."
		s.Findings = append(s.Findings, v.findings("", row.Findings))
	} else {
		v.judged(s, r)
	}
	scale(s.Sizes)
	if r.timeline != nil {
		var parts []project.Part
		var omissions []project.Omission
		if r.frozen != nil {
			parts, omissions = r.frozen.record.Predicate.Events, r.frozen.record.Predicate.Omissions
		}
		if strip := r.timeline.Strip; strip != nil {
			if n := len(strip.SVG()); take(&v.left.facts, n) < n {
				r.timeline.Strip = nil
			}
		}
		s.Data = markup.HTML(v.data(r.timeline, parts, omissions))
	}
	return s
}

// judged says what the projections made of the run.
func (v *viewer) judged(s *section, r *run) {
	subject := r.subject
	s.Verdict = subject.Verdict
	if subject.Frozen() || r.asked {
		s.Projection = subject.Projection
	}
	for _, o := range r.outcomes {
		s.Outcomes = append(s.Outcomes, v.outcome(o, !o.Unasked && o.Projection == s.Projection))
	}
	if !subject.Frozen() {
		s.Says = "Refused by every projection, so nothing of it was kept."
		for _, o := range r.outcomes {
			switch {
			case o.Unasked && o.Frozen():
				s.Says = fmt.Sprintf(hint.PageChoose, plural(r.snapshots(), "snapshot", "snapshots"), o.Name())
			case o.Unasked:
				s.Says = hint.PageNoChoice
			case o.Frozen():
				s.Says = "Refused by " + string(subject.Projection) + ", so nothing of it was kept; another projection takes it."
			}
			s.Findings = append(s.Findings, v.findings(o.Name(), o.Findings))
		}
		if r.inspect.Run == nil {
			s.Says = "There is no run in this capture, so nothing of it was kept."
			s.Findings, s.Outcomes = s.Findings[:1], nil
			s.Findings[0].Of = ""
		}
		return
	}
	s.Findings = append(s.Findings, v.findings("", subject.Findings))
	s.Artifact = v.artifact(r, *r.frozen)
	s.Says = frozenSays(r.frozen.record.Predicate, len(r.frozen.decoded.Messages), r.snapshots())
	if s.Incomplete = finding.Has(subject.Findings, finding.SnapshotLacksText); s.Incomplete {
		s.Says += " The snapshot lacks text that the run streamed."
	}
	sizes := r.frozen.record.Predicate.Sizes
	s.Sizes = append(s.Sizes,
		size{Name: "Envelope, three events", Bytes: int64(sizes.EnvelopeBytes)},
		size{Name: "Artifact", Bytes: int64(sizes.ArtifactBytes)},
		size{Name: "Artifact without white space", Bytes: int64(strictjson.CompactSize(r.frozen.artifact))})
	sums := r.frozen.record.Subject
	s.Digests = append([]fact{
		{markup.Visible(sums[0].Name), "sha256:" + sums[0].Digest.SHA256},
		{markup.Visible(sums[1].Name), "sha256:" + sums[1].Digest.SHA256},
		{record.Path(markup.Visible(sums[0].Name)), string(r.frozen.recordDigest)},
	}, s.Digests...)
}

// facts are what is known of a run and of its capture.
func (v *viewer) facts(row scan.Inspection) (list []fact) {
	say := func(name, text string) { list = append(list, fact{name, text}) }
	add := func(name string, value *string) {
		if value != nil {
			say(name, v.short(*value))
		}
	}
	add("Thread", row.ThreadID)
	add("Run", row.RunID)
	add("Parent run", row.ParentRunID)
	if row.Terminal != nil {
		say("Ended with", markup.Visible(*row.Terminal))
	}
	for _, at := range []struct {
		name string
		time *string
	}{{"Started", row.StartedAt}, {"Finished", row.FinishedAt}} {
		if at.time != nil {
			say(at.name, markup.Visible(*at.time))
		}
	}
	if row.TimeSource != nil {
		say("Times from", map[project.TimeSource]string{
			project.EventTime:    "the events themselves",
			project.ArrivalTime:  "their arrival",
			project.OperatorTime: "whoever ran the program",
		}[*row.TimeSource])
	}
	m := row.Source.Manifest
	if m == nil {
		if row.Source.Digest != "" {
			say("Source", "a plain file, "+string(row.Source.Framing)+", without times of arrival")
		}
		return list
	}
	source := "imported"
	if m.Source.Kind != capture.KindFile {
		source = v.short(m.Source.Method) + " " + v.short(m.Source.URL)
		if m.Source.Proxy != "" {
			source += " through the proxy " + v.short(m.Source.Proxy)
		}
		if m.Source.Status != nil {
			source += fmt.Sprintf(", status %03d", *m.Source.Status)
		}
	}
	say("Source", source+", "+string(m.Framing))
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		labels = append(labels, v.short(key)+"="+v.short(m.Labels[key]))
	}
	if labels != nil {
		text := strings.Join(labels, ", ")
		if len(text) > maxFact {
			text = strings.ToValidUTF8(text[:maxFact], "") + "…"
		}
		say("Labels", text)
	}
	return list
}

func captureDigests(row scan.Inspection) (list []fact) {
	if row.Source.Digest == "" {
		return nil
	}
	list = append(list, fact{"the response, as captured", string(row.Source.Digest)})
	if m := row.Source.Manifest; m != nil && m.Files.Request != nil {
		list = append(list, fact{capture.RequestName, string(m.Files.Request.Digest)})
	}
	return list
}

// scale gives each size its bar, to one scale.
func scale(sizes []size) {
	var largest int64 = 1
	for _, s := range sizes {
		largest = max(largest, s.Bytes)
	}
	for i := range sizes {
		sizes[i].Width = strconv.FormatFloat(100*float64(sizes[i].Bytes)/float64(largest), 'f', 2, 64)
	}
}

// findingsView is the findings of one projection, or of a capture as a whole.
type findingsView struct {
	Of   string // empty where it need not be said
	List []findingView
	More int
}

type findingView struct {
	finding.Finding
	Place string
	Text  string
	Next  string
}

// place says where a finding is, in few words.
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
		shown.List = append(shown.List, findingView{Finding: f, Place: v.pointer(f.Pointer), Text: v.show.Text(f.Message), Next: v.show.Text(f.Hint)})
	}
	return shown
}
