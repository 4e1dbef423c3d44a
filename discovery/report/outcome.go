package report

import (
	"os"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/spell"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// outcome is what one projection made of a run.
type outcome struct {
	project.Settings
	// Unasked says that the page itself chose the snapshot, to show what a choice
	// gives; a page is never about it.
	Unasked bool
	Row     freeze.Row
}

// Frozen reports whether the projection froze the run.
func (o outcome) Frozen() bool { return o.Row.Verdict == freeze.Frozen }

// Name names the projection, and which snapshot it takes where one is chosen.
func (o outcome) Name() string {
	if o.Snapshot == project.Only {
		return string(o.Projection)
	}
	return string(o.Projection) + " --snapshot " + string(o.Snapshot)
}

// attempts returns the outcomes to come, those of the projections in their order;
// and where no snapshot was chosen among several, what choosing the last gives.
func attempts(s project.Settings, several bool) []outcome {
	var list []outcome
	chosen := s.Snapshot
	for _, s.Projection = range project.Names() {
		s.Snapshot = project.Only
		if s.Projection == project.EmittedSnapshotText {
			s.Snapshot = chosen // which no other projection does
		}
		list = append(list, outcome{Settings: s})
	}
	if chosen == project.Only && several {
		s.Projection, s.Snapshot = project.EmittedSnapshotText, project.Last
		list = append(list, outcome{Settings: s, Unasked: true})
	}
	return list
}

// choose returns the outcome a page is about: that of the projection that was
// asked for, else the first that froze the run, else the first.
func choose(outcomes []outcome, asked project.Name) *outcome {
	for i := range outcomes {
		if o := &outcomes[i]; !o.Unasked && (o.Projection == asked || asked == "" && o.Frozen()) {
			return o
		}
	}
	return &outcomes[0]
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
	Verdict freeze.Verdict
	Subject bool
	Says    []string
}

// said is how many reasons stand beside a projection's verdict.
const said = 3

func (o outcome) view(subject bool, left *limits) outcomeView {
	v := outcomeView{Name: o.Name(), Verdict: o.Row.Verdict, Subject: subject}
	var says []string
	if o.Frozen() {
		says = append(says, spell.Bytes(int64(*o.Row.ArtifactBytes)))
	}
	for _, f := range o.Row.Findings {
		switch {
		case o.Frozen():
			what, _, _ := strings.Cut(f.Message, ":")
			says = append(says, what)
		case f.Severity == finding.Error:
			says = append(says, string(f.Code)+place(f))
		}
	}
	if more := len(says) - said; more > 0 {
		says = append(says[:said], "and "+plural(more, "more", "more"))
	}
	for _, text := range says {
		if take(&left.facts, len(text)) == len(text) {
			v.Says = append(v.Says, visible(text))
		}
	}
	return v
}

// frozenSays says what became of a run that was frozen, which emitted so many
// snapshots.
func frozenSays(p project.Predicate, messages string, snapshots int) string {
	s := "Frozen by " + string(p.Projection.Name) + ": " + messages
	switch p.Projection.Name {
	case project.EmittedSnapshotText:
		s += " of " + snapshotTaken(p.Projection.Snapshot, snapshots) + " the run emitted"
		if reduced(p) {
			s += ", reduced to text"
		}
		return s + "."
	case project.FoldedStream:
		return s + " built from the request and the streamed text. The run emitted no snapshot."
	}
	return s + ", as the run emitted them."
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
func reduced(p project.Predicate) bool {
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
	record             *project.Record
	recordDigest       digest.Digest
	decoded            *artifact.Artifact
}

// files takes in the files of a frozen run.
func (o outcome) files() (f frozen, err error) {
	if f.artifact, err = os.ReadFile(*o.Row.Artifact); err != nil {
		return f, err
	}
	if f.envelope, err = os.ReadFile(*o.Row.Envelope); err != nil {
		return f, err
	}
	record, err := os.ReadFile(*o.Row.Record)
	if err != nil {
		return f, err
	}
	f.recordDigest = digest.Of(record)
	if f.record, err = project.DecodeRecord(record); err != nil {
		return f, err
	}
	var findings []finding.Finding
	f.decoded, findings = artifact.Decode(f.artifact, artifact.V1)
	return f, artifact.Err(findings)
}
