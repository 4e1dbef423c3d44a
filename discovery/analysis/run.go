// Package analysis describes each run of a capture under the contract: the result of
// every projection with its reasons, and the facts that the discovery gate needs.
//
// It must not contain rules of a projection or of an integration.
package analysis

import (
	"slices"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Run describes one run of a capture under the contract: the result of each
// projection with its reasons, and the facts that the discovery gate (P20 §14)
// needs. A capture without a run is described by one Run, which says why.
type Run struct {
	Capture string `json:"capture"`
	// Response is the file that offsets refer to. If ContentEncoded is set, they
	// refer to the decoded content of the file.
	Response       string `json:"-"`
	ContentEncoded bool   `json:"-"`
	// Digest and Bytes describe the response as it is stored. They are empty if it
	// could not be read.
	Digest digest.Digest `json:"digest,omitzero"`
	Bytes  int64         `json:"bytes,omitzero"`
	// Integration and Scenario are the labels of the capture, if it has them.
	Integration Integration      `json:"integration,omitzero"`
	Scenario    string           `json:"scenario,omitzero"`
	Contract    artifact.Profile `json:"contract"`
	Run         *int             `json:"run"`
	RunID       *string          `json:"run_id"`
	Verdict     Verdict          `json:"verdict"`
	// HTTPStatus is zero if the capture has no manifest.
	HTTPStatus int `json:"http_status,omitzero"`
	// End says how the response ended. It is empty if the response is complete, or
	// if its end is not known.
	End      capture.End `json:"end,omitzero"`
	Terminal string      `json:"terminal,omitzero"`
	// Projections has the result of each projection, the default first. If the run
	// has several snapshots, the last result is of choosing the last snapshot.
	Projections []Projection `json:"projections"`
	Snapshots   []Snapshot   `json:"snapshots"`
	// MoreSnapshots counts the snapshots that are not in Snapshots.
	MoreSnapshots int `json:"more_snapshots,omitzero"`
	// Difference compares the messages folded from request and stream with those
	// of the last emitted snapshot. It is nil if either is missing or incomplete.
	Difference *Difference `json:"difference"`
	IDs        IDCounts    `json:"ids"`
	Times      Times       `json:"times"`
	Parent     Parent      `json:"parent"`
	// OmitsID reports that the request has no threadId or no runId. Minted lists
	// the ids of the run that the request did not choose.
	OmitsID  bool            `json:"-"`
	Minted   []Anchor        `json:"-"`
	Fields   []Field         `json:"fields"`
	Families envelope.Counts `json:"families"`
	// Events are the three events of the envelope, from the first projection that
	// froze the run.
	Events   []project.Part    `json:"events"`
	Sizes    *Sizes            `json:"sizes"`
	Texts    *Texts            `json:"texts"`
	Findings []finding.Finding `json:"findings"`
	// Changes lists the changes since a baseline. It is absent if there is no
	// baseline.
	Changes []finding.Finding `json:"changes,omitzero"`
}

// Verdict is the result of a run under the contract.
type Verdict string

// The verdicts, best first.
const (
	// Exact: the run emitted one snapshot, and the artifact has every message of it,
	// unchanged, and the ids and the error. In every case the artifact omits keys of
	// the events that the contract does not have.
	Exact Verdict = "exact"
	// Reduced: the run emitted one snapshot, and the artifact leaves out messages or
	// their parts, a parent run id that is null or blank, the end of an error text, or
	// that the run ended under another id.
	Reduced Verdict = "reduced"
	// Chosen: the run emitted several snapshots, and a chosen one, such as the
	// last, produces an artifact.
	Chosen Verdict = "chosen"
	// Incomplete: the run would have one of the verdicts above, but the snapshot of
	// its artifact lacks text that the run streamed.
	Incomplete Verdict = "incomplete"
	// Built: the run emitted no snapshot, but one can be built.
	Built Verdict = "built"
	// Refused: no projection freezes the run.
	Refused Verdict = "refused"
	// Missing: the run is only in the baseline.
	Missing Verdict = "missing"
	// Failed: the capture could not be read.
	Failed Verdict = "error"
)

// VerdictOf returns the verdict on a run. The arguments are the first projection that
// freezes the run, the number of snapshots that the run emitted, and the findings of that
// projection.
func VerdictOf(first project.Name, snapshots int, findings []finding.Finding) Verdict {
	switch {
	case finding.Has(findings, finding.SnapshotLacksText):
		return Incomplete
	case snapshots > 1:
		return Chosen
	case first == project.EmittedSnapshot:
		return Exact
	case first == project.EmittedSnapshotText:
		return Reduced
	}
	return Built
}

// Meaning says in one line what became of a run with the verdict.
func (v Verdict) Meaning() string {
	switch v {
	case Exact:
		return "every message of the emitted snapshot was kept unchanged"
	case Reduced:
		return "the emitted snapshot was kept; what the contract does not allow was left out or shortened"
	case Chosen:
		return "the run emitted several snapshots, and one of them can be kept"
	case Incomplete:
		return "the snapshot lacks text that the run streamed"
	case Built:
		return "the run emitted no snapshot, so one was built from what it streamed"
	case Refused:
		return "nothing was kept"
	case Missing:
		return "the run is in the baseline alone"
	case Failed:
		return "the capture could not be read"
	}
	return ""
}

// Verdicts returns the verdicts that a run in a baseline can have, best first.
func Verdicts() []Verdict { return []Verdict{Exact, Reduced, Chosen, Incomplete, Built, Refused} }

// NoBetterThan reports whether v is the limit or worse. It returns false if v is not
// one of Verdicts.
func (v Verdict) NoBetterThan(limit Verdict) bool {
	return slices.Index(Verdicts(), v) >= slices.Index(Verdicts(), limit) && slices.Contains(Verdicts(), v)
}

// Emitted reports whether the run has an artifact of the one snapshot it emitted, with
// no streamed text found to be missing.
func (v Verdict) Emitted() bool { return v == Exact || v == Reduced }

// Projection is the result of one projection of a run.
type Projection struct {
	Name project.Name `json:"name"`
	// Snapshot says which of several emitted snapshots was chosen.
	Snapshot project.Selection `json:"snapshot,omitzero"`
	Verdict  project.Verdict   `json:"verdict"`
	// Roles are the roles of the artifact's messages, in order.
	Roles []string `json:"roles,omitzero"`
	// Omissions lists what the artifact omits. Reasons lists why the projection
	// refuses the run.
	Omissions []Reason `json:"omissions,omitzero"`
	Reasons   []Reason `json:"reasons,omitzero"`
	// Assay reports whether Assay's mapper would accept the artifact.
	Assay bool `json:"assay,omitzero"`
}

// Sizes has the sizes of a run, its envelope and its artifact, in bytes.
type Sizes struct {
	// Run is the size from RUN_STARTED to the last event, including the framing.
	Run int64 `json:"run_bytes"`
	// Envelope is the size of the three events, one per line.
	Envelope int `json:"envelope_bytes"`
	// Artifact is the size of the canonical artifact, and Compact its size without
	// white space between tokens.
	Artifact int `json:"artifact_bytes"`
	Compact  int `json:"artifact_compact_bytes"`
}

// Texts describes the lengths of message contents in artifacts, in code points.
type Texts struct {
	Messages int `json:"messages"`
	Longest  int `json:"longest"`
	// OverAssayLimit counts the messages that are too long for Assay's mapper.
	OverAssayLimit int `json:"past_assay"`
}

// Add adds the messages of other to t.
func (t *Texts) Add(other Texts) {
	t.Messages += other.Messages
	t.OverAssayLimit += other.OverAssayLimit
	t.Longest = max(t.Longest, other.Longest)
}

// Times describes the sources of a run's times.
type Times struct {
	// Source is the source that is used; empty if there is none.
	Source project.TimeSource `json:"source,omitzero"`
	// Timestamps counts the events with a timestamp.
	Timestamps int `json:"timestamps"`
	// Implausible reports that RUN_STARTED has a timestamp that cannot be its time.
	Implausible bool `json:"implausible"`
}

// Parent says which places name a parent run.
type Parent struct {
	Request    bool `json:"request"`
	RunStarted bool `json:"run_started"`
	// Input: the copy of the request that RUN_STARTED may contain.
	Input bool `json:"input"`
}
