package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// outcome is what one projection made of a run.
type outcome struct {
	project.Settings
	// Unasked says that the page itself chose the snapshot, to show what a choice
	// gives; a page is never about it.
	Unasked bool
	// Verdict is frozen or refused.
	Verdict  project.Verdict
	Findings []finding.Finding
	// What follows is of a frozen artifact.
	Origin project.Origin
	Digest digest.Digest
	Bytes  int

	alone bool // the findings are all there are: those about the capture do not join them
}

// Frozen reports whether the projection froze the run.
func (o outcome) Frozen() bool { return o.Verdict == project.Frozen }

// take takes in what the projection made of the run.
func (o *outcome) take(p *scan.Projection) {
	o.Findings = p.WithOmissions()
	if out := p.Output; out != nil {
		o.Verdict, o.Origin = project.Frozen, out.Origin
		o.Digest, o.Bytes = digest.Of(out.Bytes), len(out.Bytes)
	}
}

// refuse says why the projection could not be tried.
func (o *outcome) refuse(err error) {
	f, _ := finding.FromError(err)
	o.Findings, o.alone = []finding.Finding{f}, true
}

// judge adds what is known at the end of the capture.
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

// Name names the projection, and which snapshot it takes where one is chosen.
func (o outcome) Name() string {
	if o.Snapshot == project.Only {
		return string(o.Projection)
	}
	return fmt.Sprintf(hint.WithSnapshot, o.Projection, o.Snapshot)
}

// tries returns the outcomes to come, those of the newest projections in their order; and
// where no snapshot is chosen, what choosing the last of several gives.
func tries(s project.Settings) []outcome {
	var list []outcome
	chosen := s.Snapshot
	for _, s.Projection = range project.Names() {
		s.Version, s.Snapshot = s.Projection.Version(), project.Only
		if s.Projection == project.EmittedSnapshotText {
			s.Snapshot = chosen // which no other projection does
		}
		list = append(list, outcome{Settings: s, Verdict: project.Refused})
	}
	if chosen == project.Only {
		s.Projection, s.Version, s.Snapshot = project.EmittedSnapshotText, project.EmittedSnapshotText.Version(), project.Last
		list = append(list, outcome{Settings: s, Unasked: true, Verdict: project.Refused})
	}
	return list
}

// choose returns the place of the outcome a page is about: that of the projection
// that was asked for, else the first that froze the run, else the first.
func choose(outcomes []outcome, asked project.Name) int {
	for i, o := range outcomes {
		if !o.Unasked && (o.Projection == asked || asked == "" && o.Frozen()) {
			return i
		}
	}
	return 0
}

// last returns what choosing the last snapshot gives; nil where that was not
// tried.
func (r *run) last() *outcome {
	for i := range r.outcomes {
		if r.outcomes[i].Unasked {
			return &r.outcomes[i]
		}
	}
	return nil
}

// outcomeView is what a projection made of a run.
type outcomeView struct {
	Name    string
	Verdict project.Verdict
	Subject bool
	Says    []string
}

// said is how many reasons stand beside a projection's verdict.
const said = 3

func (v *viewer) outcome(o outcome, subject bool) outcomeView {
	shown := outcomeView{Name: o.Name(), Verdict: o.Verdict, Subject: subject}
	var says []string
	if o.Frozen() {
		says = append(says, humanize.Bytes(int64(o.Bytes)))
	}
	for _, f := range o.Findings {
		switch {
		case o.Frozen():
			what, _, _ := strings.Cut(f.Message, ":")
			says = append(says, v.show.Text(what))
		case f.Severity == finding.Error:
			says = append(says, string(f.Code)+v.place(f))
		}
	}
	if more := len(says) - said; more > 0 {
		says = append(says[:said], "and "+plural(more, "more", "more"))
	}
	for _, text := range says {
		if take(&v.left.facts, len(text)) == len(text) {
			shown.Says = append(shown.Says, text)
		}
	}
	return shown
}

// frozenSays says what became of a run that was frozen: its artifact has so many
// messages, and it emitted so many snapshots.
func frozenSays(p record.Predicate, messages, snapshots int) string {
	s := "Frozen by " + string(p.Projection.Name) + ": " + plural(messages, "message", "messages")
	switch p.Projection.Name {
	case project.EmittedSnapshotText:
		s += " of " + snapshotTaken(p.Projection.Snapshot, snapshots) + " the run emitted"
		if reduced(p) {
			s += ", reduced to text"
		}
		return s + "."
	case project.FoldedStream:
		return s + " built from " + builtFrom(p) + ". The run emitted no snapshot."
	}
	if messages == 1 {
		return s + ", as the run emitted it."
	}
	return s + ", as the run emitted them."
}

// builtFrom says what a built snapshot was built from.
func builtFrom(p record.Predicate) string {
	if project.UsesRequest(p.Omissions) {
		return "the request and the streamed text"
	}
	return "the stream"
}

// snapshotTaken says which of so many snapshots an artifact is of.
func snapshotTaken(chosen project.Selection, of int) string {
	switch {
	case of == 1:
		return "the snapshot"
	case chosen == project.First || chosen == project.Last:
		return "the " + string(chosen) + " of " + plural(of, "snapshot", "snapshots")
	}
	return "number " + string(chosen) + " of " + plural(of, "snapshot", "snapshots")
}

// reduced reports whether something of the messages of the snapshot that was taken
// was left out.
func reduced(p record.Predicate) bool {
	for _, part := range p.Events {
		if part.Part == project.SnapshotPart {
			return slices.ContainsFunc(p.Omissions, func(o project.Omission) bool {
				return o.EventIndex != nil && *o.EventIndex == part.Index && strings.HasPrefix(string(o.Pointer), "/messages/")
			})
		}
	}
	return false
}

// frozen is the three files of a frozen run.
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
