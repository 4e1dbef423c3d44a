package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/picture"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// viewer converts runs to the sections of a page. Every text from a capture passes
// through show and is counted against the remaining limits.
type viewer struct {
	left    *limits
	show    markup.Content
	records Frozen // or nil
}

// short shows the beginning of a fact about a capture, such as an id or a label.
func (v *viewer) short(text string) string { return v.show.Short(text, maxFact) }

// pointer shows a place in an event.
func (v *viewer) pointer(p finding.Pointer) string { return v.show.Pointer(p) }

// role shows the role of a message.
func (v *viewer) role(role string) string {
	if len(role) > maxName {
		return v.show.Short(role, maxName)
	}
	return v.show.Role(role)
}

// key shows the name of a member of an event.
func (v *viewer) key(name string) string {
	if name == "" {
		return `""`
	}
	if len(name) > maxName {
		return v.show.Short(name, maxName)
	}
	return v.show.Key(name)
}

// section is the part of a page about one run. Its strings need no more replacement of
// invisible characters.
type section struct {
	Number  int
	Capture string
	Run     string // "run 1" if the capture has several runs, or why it has none
	ID      string // the id of the run, if the capture has several
	Verdict project.Verdict
	Word    analysis.Verdict
	// Kept counts the messages of the artifact, Messages those before omissions. They
	// are zero if not known.
	Kept, Messages int
	// Lost says what was omitted or why the run was refused. LostMessages is the part
	// of Lost about messages.
	Lost, LostMessages string
	// Failed says how the run failed; it is empty unless the run ended with RUN_ERROR.
	// Headline says how many messages were kept, and Counted how many events.
	Failed, Headline, Counted string
	// Command freezes the run with its last snapshot, if one must be chosen.
	Command string
	// Projection is the projection that the section shows. It is empty if all
	// projections refused the run, or if the capture cannot be used.
	Projection   project.Name
	Terminal     string
	Summary      []fact // the most important facts
	Facts        []fact
	Conversation *conversation // nil if the run was refused
	Refusal      *refusal      // nil if the run was frozen
	Body         *bodyView     // nil unless the response has no run and is not an event stream
	Outcomes     []outcomeView
	Findings     []findingsView
	Counts       string // the number of findings of each severity
	Sizes        []size
	Artifact     *artifactView // nil if the run was refused
	Digests      []fact
	Redacted     bool // texts are replaced by their lengths, and digests are omitted
	Timeline     *timeline
	NoRun        bool
	Picture      *pictureView
	Families     []family
	Data         markup.HTML
	Unread       bool // the capture cannot be used
}

// fact is a labeled value. A command, if there is one, follows the value.
type fact struct{ Name, Value, Command string }

// family is an event type and the number of its events in the run.
type family struct {
	Name, Hue string
	Count     int
}

func (v *viewer) section(name string, r *run) *section {
	v.left.own = v.left.share
	row := r.inspect
	s := &section{NoRun: row.Run == nil, Redacted: v.show.Redact, Capture: markup.Visible(name), Verdict: project.Refused, Word: analysis.Refused, Timeline: r.timeline, Summary: v.summary(r), Facts: v.facts(r)}
	if row.Terminal != nil {
		s.Terminal = v.show.Type(*row.Terminal)
		if *row.Terminal == envelope.RunError {
			s.Failed = "The run failed"
			if text := v.failure(r, maxFailure); text != "" {
				s.Failed += ": " + text
			}
		}
	}
	switch {
	case r.subject == nil:
		s.Run, s.Unread = "not readable", true
	case row.Run == nil:
		s.Run = "no run"
	default:
		if !r.alone {
			s.Run = "run " + strconv.Itoa(*row.Run)
		}
		s.Sizes = append(s.Sizes, size{Name: "Run, as captured", Bytes: row.Bytes})
		for name, n := range row.Families.All {
			if cost := item + len(name); take(&v.left.facts, cost) == cost && len(s.Families) < v.left.listed {
				s.Families = append(s.Families, family{v.show.Type(name), picture.Family(v.kind(name)), n})
			}
		}
	}
	s.Digests = append(s.Digests, v.captureDigests(row)...)
	if r.frozen != nil {
		v.frozen(s, r)
	} else {
		v.refused(s, r)
	}
	scale(s.Sizes)
	if r.timeline != nil {
		var parts []project.Part
		var omissions []project.Omission
		if r.frozen != nil {
			parts, omissions = r.frozen.record.Predicate.Events, r.frozen.record.Predicate.Omissions
		}
		s.Picture = v.picture(r.timeline, parts)
		s.Data = markup.HTML(v.data(r.timeline, parts, omissions))
	}
	return s
}

// frozen fills in the section of a frozen run.
func (v *viewer) frozen(s *section, r *run) {
	subject, p := r.subject, r.frozen.record.Predicate
	s.Verdict, s.Projection = subject.Verdict, subject.Projection
	s.Word = analysis.VerdictOf(r.first(), r.snapshots(), subject.Findings)
	marks := marksOf(p.Omissions)
	s.Conversation = v.conversation(r, marks)
	v.sum(s, r)
	if s.Failed != "" {
		s.Conversation.End = v.endFact(r)
	}
	s.Artifact = v.artifact(r, marks)
	v.outcomes(s, r)
	s.Findings = append(s.Findings, v.findings("", subject.Findings))
	s.Counts = counts(subject.Findings)
	s.Sizes = append(s.Sizes,
		size{Name: "Envelope", Bytes: int64(p.Sizes.EnvelopeBytes)},
		size{Name: "Artifact", Bytes: int64(p.Sizes.ArtifactBytes)},
		size{Name: "Artifact without white space", Bytes: int64(strictjson.CompactSize(r.frozen.artifact))})
	if v.show.Redact {
		return
	}
	sums := r.frozen.record.Subject
	s.Digests = append([]fact{
		{Name: markup.Visible(sums[0].Name), Value: "sha256:" + sums[0].Digest.SHA256},
		{Name: markup.Visible(sums[1].Name), Value: "sha256:" + sums[1].Digest.SHA256},
		{Name: record.Path(markup.Visible(sums[0].Name)), Value: string(r.frozen.recordDigest)},
	}, s.Digests...)
}

// refused fills in the section of a refused run.
func (v *viewer) refused(s *section, r *run) {
	s.Refusal = v.refusal(r)
	s.Lost = s.Refusal.first(v)
	if r.body != nil {
		s.Body = v.body(r.body)
	}
	switch {
	case r.subject == nil:
		s.Findings = append(s.Findings, v.findings("", r.inspect.Findings))
		s.Counts = counts(r.inspect.Findings)
		s.Headline = s.Refusal.Says
		return
	case r.inspect.Run == nil:
		s.Findings = append(s.Findings, v.findings("", r.subject.Findings))
		s.Counts = counts(r.subject.Findings)
		s.Headline = s.Refusal.Says
		if status, failed := failedStatus(r); failed {
			s.Headline = fmt.Sprintf("HTTP %03d from the endpoint", status)
			s.Lost = s.Headline
		}
		if s.Body != nil {
			s.forgetStep()
		}
		return
	}
	if r.asked {
		s.Projection = r.subject.Projection
	}
	if n := len(r.inspect.Snapshots); n > 0 {
		s.Messages = r.inspect.Snapshots[n-1].Messages
	}
	s.Counted = "0 of " + plural(r.inspect.Events, "event", "events")
	switch last := r.pending(); {
	case last != nil:
		s.Word = analysis.VerdictOf(last.Projection, r.snapshots(), last.Findings)
		s.Headline = "Nothing kept yet: the run emitted " + plural(r.snapshots(), "snapshot", "snapshots") + ", and one must be chosen"
		s.Lost, s.Command = "", r.command(last)
		s.LostMessages = "one of " + plural(r.snapshots(), "snapshot", "snapshots") + " must be chosen"
	case s.Messages > 0:
		s.Headline = "Kept 0 of " + plural(s.Messages, "message", "messages")
	default:
		s.Headline = "Nothing kept"
	}
	v.outcomes(s, r)
	var all []finding.Finding
	for _, o := range r.outcomes {
		s.Findings = append(s.Findings, v.findings(o.Name(), o.Findings))
		all = append(all, o.Findings...)
	}
	s.Counts = counts(all)
}

// failedStatus returns the HTTP status of a response, and whether it is that of a failed
// request.
func failedStatus(r *run) (status int, failed bool) {
	m := r.inspect.Source.Manifest
	if m == nil || m.Source.Kind == capture.KindFile || m.Source.Status == nil {
		return 0, false
	}
	return *m.Source.Status, *m.Source.Status/100 != 2
}

// forgetStep removes the next step of findings that leads to the response, which the
// page shows.
func (s *section) forgetStep() {
	forget := func(f *findingView) {
		if f != nil && f.Code == finding.HTTPStatus {
			f.Next = ""
		}
	}
	for _, r := range s.Refusal.Reasons {
		forget(r.Shown)
	}
	for i := range s.Findings[0].List {
		forget(&s.Findings[0].List[i])
	}
}

// outcomes adds the outcome of each projection to the section.
func (v *viewer) outcomes(s *section, r *run) {
	for _, o := range r.outcomes {
		s.Outcomes = append(s.Outcomes, v.outcome(o, !o.Unasked && o.Projection == s.Projection))
	}
}

// first returns the first projection that froze the run.
func (r *run) first() project.Name {
	for _, o := range r.outcomes {
		if o.Frozen() && !o.Unasked {
			return o.Projection
		}
	}
	return ""
}

// write writes the section of one run. The argument several reports whether the page has
// other sections.
func (s *section) write(w *markup.Writer, several bool) {
	w.Put(`
<article id="r%s" data-verdict="%s" aria-labelledby="r%s-name">
<header>
<h2 id="r%s-name">%s`, s.Number, s.Word, s.Number, s.Number, s.Capture)
	w.Some(` <small>%s</small>`, s.Run)
	w.Put(`</h2>
<p class="word"><span class="verdict %s">%s</span> %s</p>
<p class="says"><strong>%s</strong>`, s.Word, s.Word, s.Word.Meaning(), cmp.Or(s.Failed, s.Headline))
	if s.Failed != "" {
		w.Put(` <span>·</span> <strong>%s</strong>`, s.Headline)
	}
	w.Some(` <span>· %s</span>`, s.rest())
	w.Put(`</p>`)
	w.Some(`
<p class="next">This command keeps the last one: <code>%s</code></p>`, s.Command)
	if s.Conversation != nil {
		s.Conversation.writeBlocks(w)
	}
	writeFacts(w, s.Summary)
	if len(s.Facts) > 0 {
		w.Put(`
<details class="facts-more">
<summary>More facts</summary>`)
		writeFacts(w, s.Facts)
		w.Put(`
</details>`)
	}
	w.Put(`
</header>`)
	if several {
		w.Put(`
<details class="fold">
<summary>%s</summary>`, s.folded())
	}
	if s.Conversation != nil {
		s.Conversation.write(w, s.Number)
	} else {
		s.Refusal.write(w, s.Number)
		if s.Body != nil {
			s.Body.write(w)
		}
	}
	if s.Picture != nil {
		s.Picture.write(w)
	}
	s.writeTimeline(w, several)
	if s.Artifact != nil {
		s.Artifact.write(w, s.Number)
	}
	s.writeFindings(w)
	s.writeSizes(w)
	if several {
		w.Put(`
</details>`)
	}
	if s.Data != "" {
		w.Put(`
<script type="application/json" id="data-%s">%s</script>`, s.Number, s.Data)
	}
	w.Put(`
</article>`)
}

// rest returns the text after the headline.
func (s *section) rest() string {
	if s.Lost == s.Headline || s.Unread {
		return s.Counted
	}
	return joined(s.Counted, s.Lost)
}

// says returns the headline and the text after it.
func (s *section) says() string { return joined(s.Failed, s.Headline, s.rest()) }

// joined joins the nonempty texts into one line.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), separator)
}

// folded returns the label of the part below the header of a section.
func (s *section) folded() string {
	says := "Why nothing was kept"
	switch {
	case s.Unread:
		return "Why nothing is shown"
	case s.Conversation != nil:
		says = "The conversation"
	case s.Command != "":
		says = "Why nothing is kept yet"
	}
	switch {
	case s.Body != nil:
		says += ", and the response"
	case s.Picture != nil:
		says += ", and the run event by event"
	}
	return says
}

func writeFacts(w *markup.Writer, facts []fact) {
	w.Put(`
<dl class="facts">`)
	for _, f := range facts {
		w.Put(`
<div><dt>%s</dt><dd>%s`, f.Name, f.Value)
		w.Some(` <code>%s</code>`, f.Command)
		w.Put(`</dd></div>`)
	}
	w.Put(`
</dl>`)
}
