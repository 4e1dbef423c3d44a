// Package analysis describes what each run of a capture shows about the contract:
// what every projection makes of it and why, and what the discovery gate asks.
//
// It judges nothing, and must hold no rule of a projection or an integration.
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

// Run says what one run of a capture shows about the contract: what
// each projection makes of it and why, and what the discovery gate (P20 §14)
// asks. A capture that holds no run has one with what is wrong.
type Run struct {
	Capture string `json:"capture"`
	// Response is the file that offsets are of; Coded says that they are of what
	// it decodes to.
	Response       string `json:"-"`
	ContentEncoded bool   `json:"-"`
	// Digest and Bytes are of the response as it is stored; empty when it could
	// not be read.
	Digest digest.Digest `json:"digest,omitzero"`
	Bytes  int64         `json:"bytes,omitzero"`
	// Integration and Scenario are the capture's labels; empty without them.
	Integration Integration      `json:"integration,omitzero"`
	Scenario    string           `json:"scenario,omitzero"`
	Contract    artifact.Profile `json:"contract"`
	Run         *int             `json:"run"`
	RunID       *string          `json:"run_id"`
	Verdict     Verdict          `json:"verdict"`
	// HTTPStatus is zero where the capture has no manifest of a response.
	HTTPStatus int `json:"http_status,omitzero"`
	// End is how the response ended; empty when it came to its own end, or
	// where that is not known.
	End      capture.End `json:"end,omitzero"`
	Terminal string      `json:"terminal,omitzero"`
	// Projections has each, the default first; and where the run has several
	// snapshots what choosing the last of them gives.
	Projections []Projection `json:"projections"`
	Snapshots   []Snapshot   `json:"snapshots"`
	// MoreSnapshots counts those past the number that is described one by one.
	MoreSnapshots int `json:"more_snapshots,omitzero"`
	// Difference is between the messages folded from input and stream and
	// those of the last emitted snapshot; nil where one of the two is missing, or
	// is not whole.
	Difference *Difference `json:"difference"`
	IDs        IDCounts    `json:"ids"`
	Times      Times       `json:"times"`
	Parent     Parent      `json:"parent"`
	// OmitsID says that the request gives no threadId or no runId, and Minted has
	// the ids of the run that the request did not choose.
	OmitsID  bool            `json:"-"`
	Minted   []Anchor        `json:"-"`
	Fields   []Field         `json:"fields"`
	Families envelope.Counts `json:"families"`
	// Events are the three of the envelope, of the first projection that froze
	// the run.
	Events   []project.Part    `json:"events"`
	Sizes    *Sizes            `json:"sizes"`
	Texts    *Texts            `json:"texts"`
	Findings []finding.Finding `json:"findings"`
	// Changes are those since a baseline; absent where none was compared with.
	Changes []finding.Finding `json:"changes,omitzero"`
}

// Verdict says what became of a run under the contract.
type Verdict string

// The verdicts, the best first.
const (
	// Exact: the contract takes the one emitted snapshot's messages, the ids and the
	// error as they are.
	Exact Verdict = "exact"
	// Reduced: the one emitted snapshot gives an artifact that leaves something out of
	// the three events that the contract does not take: of the messages, a parent run
	// without a name, the end of an error text, or that the run ended under another id.
	Reduced Verdict = "reduced"
	// Chosen: the run emitted several snapshots; one that is chosen, such as
	// the last, gives an artifact.
	Chosen Verdict = "chosen"
	// Incomplete: the run would be one of those above, but the snapshot behind its
	// artifact lacks text that the run streamed.
	Incomplete Verdict = "incomplete"
	// Built: the run emitted no snapshot; one can be built.
	Built Verdict = "built"
	// Refused: no projection freezes the run.
	Refused Verdict = "refused"
	// Missing: the run is in the baseline alone.
	Missing Verdict = "missing"
	// Failed: the capture could not be read.
	Failed Verdict = "error"
)

// verdictOf returns the verdict on a run that the projection freezes.
func verdictOf(projection project.Name) Verdict {
	switch projection {
	case project.EmittedSnapshot:
		return Exact
	case project.EmittedSnapshotText:
		return Reduced
	}
	return Built
}

// Verdicts lists those that a run in a baseline can have, the best first.
func Verdicts() []Verdict { return []Verdict{Exact, Reduced, Chosen, Incomplete, Built, Refused} }

// NoBetterThan reports whether v is the limit or a worse verdict. It is false for a
// verdict that is not among Verdicts.
func (v Verdict) NoBetterThan(limit Verdict) bool {
	return slices.Index(Verdicts(), v) >= slices.Index(Verdicts(), limit) && slices.Contains(Verdicts(), v)
}

// Emitted reports whether an artifact came of the one snapshot the run emitted,
// and no streamed text was found lacking in it.
func (v Verdict) Emitted() bool { return v == Exact || v == Reduced }

// Projection is what one projection makes of a run.
type Projection struct {
	Name project.Name `json:"name"`
	// Snapshot is the selection, where several are emitted and one is chosen.
	Snapshot project.Selection `json:"snapshot,omitzero"`
	Verdict  project.Verdict   `json:"verdict"`
	// Roles are those of the artifact's messages, in order.
	Roles []string `json:"roles,omitzero"`
	// Omissions are what it leaves out, Reasons why it refuses.
	Omissions []Reason `json:"omissions,omitzero"`
	Reasons   []Reason `json:"reasons,omitzero"`
	// Assay says whether Assay's mapper could take the artifact.
	Assay bool `json:"assay,omitzero"`
}

// Sizes are byte counts.
type Sizes struct {
	// Run is from RUN_STARTED to the last event, framing included.
	Run int64 `json:"run_bytes"`
	// Envelope is the three events, a line each.
	Envelope int `json:"envelope_bytes"`
	// Artifact is the canonical artifact, Compact the same without white space.
	Artifact int `json:"artifact_bytes"`
	Compact  int `json:"artifact_compact_bytes"`
}

// Texts measures the contents of an artifact's messages, in code points.
type Texts struct {
	Messages int `json:"messages"`
	Longest  int `json:"longest"`
	// OverAssayLimit counts those longer than Assay's mapper takes.
	OverAssayLimit int `json:"past_assay"`
}

// Add counts the messages of other as well.
func (t *Texts) Add(other Texts) {
	t.Messages += other.Messages
	t.OverAssayLimit += other.OverAssayLimit
	t.Longest = max(t.Longest, other.Longest)
}

// Times says what labels a run's times can have.
type Times struct {
	// Source is the one that serves; empty when none does.
	Source project.TimeSource `json:"source,omitzero"`
	// Timestamps counts the events that have one of their own.
	Timestamps int `json:"timestamps"`
	// Implausible says that RUN_STARTED has one that cannot be its time.
	Implausible bool `json:"implausible"`
}

// Parent says where a parent run is named.
type Parent struct {
	Request    bool `json:"request"`
	RunStarted bool `json:"run_started"`
	// Input: in the copy of the request that RUN_STARTED may carry.
	Input bool `json:"input"`
}
