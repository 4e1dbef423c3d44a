package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// outcome is the result of one projection of a run.
type outcome struct {
	project.Settings
	// Unasked reports that the page itself chose the snapshot, to show the result of a
	// choice. Such an outcome is never the subject of a page.
	Unasked bool
	// Verdict is frozen or refused.
	Verdict  project.Verdict
	Findings []finding.Finding
	// The other fields are only set if the run was frozen.
	Origin project.Origin
	Digest digest.Digest
	Bytes  int

	alone bool // the findings about the capture are not added
}

// Frozen reports whether the projection froze the run.
func (o outcome) Frozen() bool { return o.Verdict == project.Frozen }

// take records the result of the projection.
func (o *outcome) take(p *scan.Projection) {
	o.Findings = p.WithOmissions()
	if out := p.Output; out != nil {
		o.Verdict, o.Origin = project.Frozen, out.Origin
		o.Digest, o.Bytes = digest.Of(out.Bytes), len(out.Bytes)
	}
}

// refuse records why the projection could not be applied.
func (o *outcome) refuse(err error) {
	f, _ := finding.FromError(err)
	o.Findings, o.alone = []finding.Finding{f}, true
}

// judge adds the findings that are known at the end of the capture.
func (o *outcome) judge(r scan.Result) {
	if o.alone {
		return
	}
	findings, counts := r.MergeFindings(o.Findings)
	o.Findings = findings
	if !counts {
		o.Verdict, o.Origin, o.Digest, o.Bytes = project.Refused, "", "", 0
	}
}

// confirm removes advice to use a projection, unless that projection froze the run.
func confirm(outcomes []outcome) {
	frozen := func(name project.Name, choose bool) bool {
		return slices.ContainsFunc(outcomes, func(o outcome) bool {
			if choose {
				return o.Projection == name && o.Frozen() && o.Snapshot != project.Only
			}
			return o.Projection == name && o.Frozen() && !o.Unasked
		})
	}
	for i := range outcomes {
		outcomes[i].Findings = scan.ConfirmAdvice(outcomes[i].Findings, frozen)
	}
}

// Name returns the name of the projection, and the chosen snapshot if there is one.
func (o outcome) Name() string {
	if o.Snapshot == project.Only {
		return string(o.Projection)
	}
	return fmt.Sprintf(hint.WithSnapshot, o.Projection, o.Snapshot)
}

// tries returns an empty outcome for each projection in its newest version, in order. If
// no snapshot is chosen, the last element is for choosing the last of several snapshots.
func tries(s project.Settings) []outcome {
	var list []outcome
	chosen := s.Snapshot
	for _, s.Projection = range project.Names() {
		s.Version, s.Snapshot = s.Projection.Version(), project.Only
		if s.Projection == project.EmittedSnapshotText {
			s.Snapshot = chosen // other projections ignore the choice
		}
		list = append(list, outcome{Settings: s, Verdict: project.Refused})
	}
	if chosen == project.Only {
		s.Projection, s.Version, s.Snapshot = project.EmittedSnapshotText, project.EmittedSnapshotText.Version(), project.Last
		list = append(list, outcome{Settings: s, Unasked: true, Verdict: project.Refused})
	}
	return list
}

// choose returns the index of the outcome that the page shows: that of the projection
// asked, or if asked is empty, the first that froze the run. Otherwise it returns 0.
func choose(outcomes []outcome, asked project.Name) int {
	for i, o := range outcomes {
		if !o.Unasked && (o.Projection == asked || asked == "" && o.Frozen()) {
			return i
		}
	}
	return 0
}

// last returns the outcome of choosing the last snapshot, or nil if that was not tried.
func (r *run) last() *outcome {
	for i := range r.outcomes {
		if r.outcomes[i].Unasked {
			return &r.outcomes[i]
		}
	}
	return nil
}

// pending returns the outcome of choosing the last snapshot if the run has no artifact
// until a snapshot is chosen. Otherwise it returns nil.
func (r *run) pending() *outcome {
	if last := r.last(); r.frozen == nil && r.first() == "" && last != nil && last.Frozen() {
		return last
	}
	return nil
}

// command returns the command that writes the artifact of an outcome.
func (r *run) command(o *outcome) string {
	options := hint.FreezeOptions{Projection: string(o.Projection), StartedAt: o.Operator.StartedAt, FinishedAt: o.Operator.FinishedAt}
	if !r.alone {
		options.Run = "#" + strconv.Itoa(*r.inspect.Run)
	}
	if o.Snapshot != project.Only {
		options.Snapshot = string(o.Snapshot)
	}
	if o.Profile != artifact.V1 {
		options.Profile = string(o.Profile)
	}
	return options.Command()
}

// applies reports whether the projection applies to this kind of run. A projection of
// emitted snapshots needs a snapshot; one that builds a snapshot needs a run without any.
func (o outcome) applies() bool {
	return o.Frozen() || !finding.Has(o.Findings, finding.SnapshotMissing) && !finding.Has(o.Findings, finding.SnapshotPresent)
}

// outcomeView is an outcome as shown on a page.
type outcomeView struct {
	Name    string
	Verdict string // as compare says it
	Subject bool
	Says    []string
}

// maxReasons limits the reasons shown with the verdict of a projection.
const maxReasons = 3

func (v *viewer) outcome(o outcome, subject bool) outcomeView {
	shown := outcomeView{Name: o.Name(), Verdict: "refuses", Subject: subject}
	var says []string
	if !o.applies() {
		shown.Verdict = "not applicable"
	}
	if o.Frozen() {
		shown.Verdict = "accepts"
		says = append(says, humanize.Bytes(int64(o.Bytes)))
	}
	for _, f := range o.Findings {
		switch {
		case o.Frozen():
			says = append(says, meaning(f.Code))
		case f.Severity == finding.Error:
			says = append(says, meaning(f.Code)+v.place(f))
		}
	}
	if more := len(says) - maxReasons; more > 0 {
		says = append(says[:maxReasons], "and "+plural(more, "more", "more"))
	}
	for _, text := range says {
		if take(&v.left.facts, len(text)) == len(text) {
			shown.Says = append(shown.Says, text)
		}
	}
	return shown
}

// meaning returns the meaning of a finding code.
func meaning(code finding.Code) string {
	about, _ := finding.Describe(code)
	return about.Meaning
}

// refusal explains why a run was refused.
type refusal struct {
	Says    string // an introduction; may be empty
	Pending bool   // they end when a snapshot is chosen
	Unread  bool   // they are why nothing is shown
	Reasons []reason
	// Others has the reasons of only some projections, if Reasons has those that all
	// projections share.
	Others []reason
}

// unread says in a sentence why nothing of a capture is shown.
func unread(f finding.Finding) string {
	switch f.Code {
	case finding.DigestMismatch:
		name, _, _ := strings.Cut(f.Message, " ")
		if !slices.Contains(captureFiles(), name) {
			name = "a file of the capture"
		}
		return "Nothing is shown, because " + name + " was changed after the capture was closed."
	case finding.CaptureUnfinished:
		return "Nothing is shown, because the capture was not finished: it has no " + capture.ManifestName + "."
	}
	return "Nothing is shown, because the capture cannot be used: " + meaning(f.Code) + "."
}

// captureFiles returns the names of the files of a capture that have digests.
func captureFiles() []string {
	return []string{capture.RequestName, capture.ArrivalsName, capture.SSE.FileName(), capture.NDJSON.FileName(), capture.JSON.FileName(), capture.Opaque.FileName()}
}

// reason is a finding that refuses a run.
type reason struct {
	finding.Finding
	By    []string     // projections; empty for a problem with the capture
	Shown *findingView // nil if the reason is only counted
}

// refusal collects the reasons of all projections, without duplicates. It omits the
// reasons of projections that do not apply to the run, unless there are no others.
func (v *viewer) refusal(r *run) *refusal {
	s := new(refusal)
	if r.subject == nil || r.inspect.Run == nil {
		findings := r.inspect.Findings
		s.Says, s.Unread = unread(findings[0]), true
		if r.subject != nil {
			findings = r.subject.Findings
			s.Says, s.Unread = "There is no run in this capture.", false
		}
		s.add("", findings)
		s.show(v)
		return s
	}
	asked := 0
	var late []*outcome
	for i := range r.outcomes {
		o := &r.outcomes[i]
		switch {
		case o.Unasked && o.Frozen():
			s.Says, s.Pending = "The reasons below no longer apply once a snapshot is chosen.", true
		case o.Unasked:
			s.Says = hint.PageNoChoice
		case o.Frozen():
			s.Says = string(r.subject.Projection) + " refuses the run; another projection accepts it."
		case o.applies() || r.asked && o.Projection == r.subject.Projection:
			asked++
			s.add(o.Name(), o.Findings)
		default:
			late = append(late, o)
		}
	}
	s.share(asked)
	for _, o := range late {
		if finding.Has(o.Findings, finding.SnapshotMissing) || s.Reasons == nil {
			s.add(o.Name(), o.Findings)
		}
	}
	s.show(v)
	return s
}

// shownReasons limits the reasons shown above the findings. The findings list all reasons.
const shownReasons = 10

// show creates the views of the first reasons, within the limits.
func (s *refusal) show(v *viewer) {
	for _, list := range [][]reason{s.Reasons, s.Others} {
		for i := range list[:min(len(list), shownReasons)] {
			if shown := v.findings("", []finding.Finding{list[i].Finding}); len(shown.List) > 0 {
				list[i].Shown = &shown.List[0]
			}
		}
	}
}

// share moves reasons that not all projections have to Others, if there are reasons that
// all have.
func (s *refusal) share(projections int) {
	var all, others []reason
	for _, r := range s.Reasons {
		if len(r.By) == projections {
			all = append(all, r)
		} else {
			others = append(others, r)
		}
	}
	if all != nil {
		s.Reasons, s.Others = all, others
	}
}

// add adds the errors among findings.
func (s *refusal) add(by string, findings []finding.Finding) {
	for _, f := range findings {
		if f.Severity != finding.Error {
			continue
		}
		at := slices.IndexFunc(s.Reasons, func(r reason) bool {
			return r.Code == f.Code && r.Pointer == f.Pointer && (r.EventIndex == nil) == (f.EventIndex == nil) && (f.EventIndex == nil || *r.EventIndex == *f.EventIndex)
		})
		if at >= 0 {
			s.Reasons[at].By = append(s.Reasons[at].By, by)
			continue
		}
		one := reason{Finding: f}
		if by != "" {
			one.By = []string{by}
		}
		s.Reasons = append(s.Reasons, one)
	}
}

// first returns the first reason and the number of others.
func (s *refusal) first(v *viewer) string {
	if len(s.Reasons) == 0 {
		return s.Says
	}
	text := meaning(s.Reasons[0].Code)
	var places []string
	more := 0
	for _, r := range s.Reasons {
		place := strings.TrimPrefix(v.pointer(r.Pointer), "/")
		switch {
		case r.Code != s.Reasons[0].Code || len(places) == named:
			more++
		case place != "" && !slices.Contains(places, place):
			places = append(places, place)
		}
	}
	if places != nil {
		text += ": " + strings.Join(places, ", ")
	}
	if more > 0 {
		text += separator + "and " + plural(more, "more reason", "more reasons")
	}
	return text
}

func (s *refusal) write(w *markup.Writer, section int) {
	class, title := "refusal", "Why nothing was kept"
	says := s.Says
	switch {
	case s.Pending:
		class, title = "refusal pending", "Why nothing is kept yet"
	case s.Unread:
		title, says = "Why nothing is shown", ""
	}
	w.Put(`
<section class="%s">
<h3>%s</h3>`, class, title)
	w.Some(`
<p>%s</p>`, says)
	writeReasons(w, section, s.Reasons)
	if len(s.Others) > 0 {
		w.Put(`
<details>
<summary>%s of one projection alone</summary>`, plural(len(s.Others), "more reason", "more reasons"))
		writeReasons(w, section, s.Others)
		w.Put(`
</details>`)
	}
	w.Put(`
</section>`)
}

// sentence capitalizes the first letter of a text, unless its first word is a name or an
// id.
func sentence(text string) string {
	switch first, _, _ := strings.Cut(text, " "); first {
	case "the", "a", "an", "no", "none", "another", "neither", "something", "only":
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

func writeReasons(w *markup.Writer, section int, reasons []reason) {
	w.Put(`
<ul class="reasons">`)
	more := 0
	for _, r := range reasons {
		if r.Shown == nil {
			more++
			continue
		}
		w.Put(`
<li><p class="why">%s</p><p class="where">`, sentence(r.Shown.Text))
		if r.EventIndex != nil {
			w.Event(section, *r.EventIndex)
			w.Put(` `)
		}
		w.Some(`<code>%s</code> `, r.Shown.Place)
		w.Put(`<span class="tag">%s</span>`, r.Code)
		w.Some(` <small>%s</small>`, strings.Join(r.By, ", "))
		w.Put(`</p>`)
		w.Some(`<p class="next">Next: %s</p>`, r.Shown.Next)
		w.Put(`</li>`)
	}
	if more > 0 {
		w.Put(`
<li class="cut">%s not shown here.</li>`, plural(more, "more reason is", "more reasons are"))
	}
	w.Put(`
</ul>`)
}

// frozen has the three files of a frozen run.
type frozen struct {
	artifact, envelope []byte
	record             *record.Record
	recordDigest       digest.Digest
	decoded            *artifact.Artifact
}

// files returns the files of a frozen run, as freeze would write them.
func (r *reading) files(k *held) (*frozen, error) {
	var pieces [3][]byte
	for i := range pieces {
		var err error
		if pieces[i], err = r.spool.Read(k.files + i); err != nil {
			return nil, err
		}
	}
	f := &frozen{artifact: pieces[0], envelope: pieces[1]}
	var err error
	if f.record, err = record.Decode(pieces[2]); err != nil {
		return nil, err
	}
	name := r.capture.Name()
	if r.result.Runs > 1 {
		name += "." + strconv.Itoa(k.number)
	}
	f.record.Complete(record.SourceOf(r.capture, k.number), name+record.ArtifactSuffix, name+record.EnvelopeSuffix)
	whole, err := f.record.Encode()
	if err != nil {
		return nil, err
	}
	f.recordDigest = digest.Of(whole)
	var findings []finding.Finding
	f.decoded, findings = artifact.Decode(f.artifact, artifact.V1)
	return f, artifact.Err(findings)
}
