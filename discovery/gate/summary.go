package gate

import (
	"fmt"
	"slices"
	"sort"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Summary summarizes the captures of one integration under the contract.
type Summary struct {
	Integration analysis.Integration `json:"integration"`
	// Qualifies reports that the integration qualifies.
	Qualifies     bool          `json:"met"`
	Qualification Qualification `json:"qualification"`
	// Runs counts the runs, and WithoutRun the captures without a run.
	Runs       int               `json:"runs"`
	WithoutRun int               `json:"unanswered"`
	Verdicts   []VerdictRuns     `json:"verdicts"`
	Snapshots  SnapshotCounts    `json:"snapshots"`
	IDs        analysis.IDCounts `json:"ids"`
	Parent     ParentCounts      `json:"parent"`
	Anchors    AnchorCounts      `json:"anchors"`
	State      StateCounts       `json:"state"`
	Times      []CountedSource   `json:"times"`
	// Implausible counts the runs whose RUN_STARTED has a timestamp that cannot be
	// its time.
	Implausible int            `json:"implausible"`
	Sizes       SizeCounts     `json:"sizes"`
	Texts       analysis.Texts `json:"texts"`
	// Obstacles lists why runs have no artifact of a usable snapshot. ExtraContent
	// lists the content of last snapshots that artifacts omit because it is outside
	// the text subset.
	Obstacles    []Problem `json:"blocks"`
	ExtraContent []Problem `json:"richer"`
}

// VerdictRuns lists the runs with one verdict, by the names of their captures.
type VerdictRuns struct {
	Verdict analysis.Verdict `json:"verdict"`
	Runs    []string         `json:"runs"`
}

// SnapshotCounts counts runs by their number of snapshots, separately for finished and
// failed runs.
type SnapshotCounts struct {
	Finished RunCounts `json:"finished"`
	Failed   RunCounts `json:"failed"`
}

// RunCounts counts runs by their number of snapshots.
type RunCounts struct {
	None    int `json:"none"`
	One     int `json:"one"`
	Several int `json:"several"`
}

// Total returns the number of runs.
func (n RunCounts) Total() int { return n.None + n.One + n.Several }

// ParentCounts counts runs by the places that name a parent run.
type ParentCounts struct {
	Request    int `json:"request"`
	RunStarted int `json:"run_started"`
	Input      int `json:"input"`
	// Echoed counts the runs whose request and RUN_STARTED both name a parent.
	Echoed int `json:"echoed"`
	// EchoedInput counts the runs whose request names a parent, as does its copy in
	// RUN_STARTED.
	EchoedInput int `json:"echoed_input"`
}

// CountedSource counts the runs with one source of times.
type CountedSource struct {
	Source project.TimeSource `json:"source"`
	Runs   int                `json:"runs"`
}

// SizeCounts counts artifacts by whether they are smaller than their run or envelope.
type SizeCounts struct {
	Artifacts int `json:"artifacts"`
	BelowRun  int `json:"below_run"`
	// EmittedBelowRun counts the artifacts in BelowRun that have a usable snapshot.
	EmittedBelowRun      int `json:"emitted_below_run"`
	BelowEnvelope        int `json:"below_envelope"`
	CompactBelowEnvelope int `json:"compact_below_envelope"`
}

// Requirement is a requirement of the Rule that no finding reports.
type Requirement string

// The requirements.
const (
	OneRun Requirement = "one_run"      // the response has no other run
	Finish Requirement = "run_finished" // the run ends with RUN_FINISHED
	Reply  Requirement = "reply"        // the artifact ends with a message of the assistant
)

// Requirements returns all requirements.
func Requirements() []Requirement { return []Requirement{OneRun, Finish, Reply} }

func (l Requirement) shortfall() string {
	return map[Requirement]string{
		OneRun: "more than one run in the response",
		Finish: "the run ended with RUN_ERROR",
		Reply:  "no reply",
	}[l]
}

func (l Requirement) advice() string {
	return map[Requirement]string{
		OneRun: "respond to a request with one run",
		Finish: "make the run finish; the server's log may say why it ended with RUN_ERROR",
		Reply:  "include the assistant's reply in the snapshot",
	}[l]
}

// Problem is a reason why runs do not qualify or have something omitted, with the runs.
type Problem struct {
	Code    finding.Code    `json:"code,omitzero"`
	Event   string          `json:"event,omitzero"`
	Pointer finding.Pointer `json:"pointer,omitzero"`
	// HTTPStatus is the status of the response, if Code is finding.HTTPStatus.
	HTTPStatus int `json:"http_status,omitzero"`
	// Requirement is the requirement that the run violates, if there is no Code.
	Requirement Requirement `json:"lacks,omitzero"`
	// NotSmaller reports that the artifact is not smaller than its run. Code is empty
	// in this case.
	NotSmaller bool     `json:"artifact_larger,omitzero"`
	Runs       []string `json:"runs"`
}

// Count returns the number of runs with a verdict.
func (s Summary) Count(v analysis.Verdict) int { return len(s.capturesWith(v)) }

// capturesWith returns the captures of the runs with a verdict.
func (s Summary) capturesWith(v analysis.Verdict) []string {
	for _, g := range s.Verdicts {
		if g.Verdict == v {
			return slices.Clone(g.Runs)
		}
	}
	return nil
}

// Emitted returns the number of runs with an artifact of a usable snapshot.
func (s Summary) Emitted() int { return s.Count(analysis.Exact) + s.Count(analysis.Reduced) }

// summaries returns a summary of each integration, in the order of their first runs.
func summaries(runs []analysis.Run, needed, notRun []string) []Summary {
	var order []analysis.Integration
	of := make(map[analysis.Integration][]analysis.Run)
	for _, run := range runs {
		if of[run.Integration] == nil {
			order = append(order, run.Integration)
		}
		of[run.Integration] = append(of[run.Integration], run)
	}
	list := []Summary{}
	for _, i := range order {
		list = append(list, newSummary(i, of[i], needed, notRun))
	}
	return list
}

func newSummary(i analysis.Integration, runs []analysis.Run, needed, notRun []string) Summary {
	s := Summary{Integration: i, Qualification: Qualify(runs, needed, notRun...), Anchors: AnchorCounts{Minted: []MintedCount{}}, Verdicts: []VerdictRuns{}, Times: []CountedSource{}, Obstacles: []Problem{}, ExtraContent: []Problem{}}
	s.Qualifies = s.Qualification.Qualifies == Yes
	for _, run := range runs {
		s.Anchors.add(run)
		if run.Run == nil {
			s.WithoutRun++
			continue
		}
		s.add(run)
	}
	best := analysis.Verdicts()
	sort.SliceStable(s.Verdicts, func(i, j int) bool {
		return slices.Index(best, s.Verdicts[i].Verdict) < slices.Index(best, s.Verdicts[j].Verdict)
	})
	return s
}

func (s *Summary) add(run analysis.Run) {
	s.Runs++
	name := capture.BaseName(run.Capture)
	at := slices.IndexFunc(s.Verdicts, func(g VerdictRuns) bool { return g.Verdict == run.Verdict })
	if at < 0 {
		at = len(s.Verdicts)
		s.Verdicts = append(s.Verdicts, VerdictRuns{Verdict: run.Verdict})
	}
	s.Verdicts[at].Runs = append(s.Verdicts[at].Runs, name)
	switch run.Terminal {
	case envelope.RunFinished:
		s.Snapshots.Finished.add(len(run.Snapshots))
	case envelope.RunError:
		s.Snapshots.Failed.add(len(run.Snapshots))
	}
	s.IDs.Add(run.IDs)
	s.Parent.add(run.Parent)
	s.State.add(run)
	s.time(run.Times)
	s.measure(run)
	if !run.Verdict.Emitted() {
		addProblems(&s.Obstacles, run.Projections[1].Reasons, name)
	}
	if run.Verdict == analysis.Incomplete {
		addProblems(&s.Obstacles, []analysis.Reason{{Code: finding.SnapshotLacksText}}, name)
	}
	addProblems(&s.ExtraContent, extraContent(run), name)
}

// extraContent returns what the text subset omits from the run's one snapshot, or from
// the last of several.
func extraContent(run analysis.Run) (list []analysis.Reason) {
	of := run.Projections[1]
	if of.Verdict != project.Frozen { // a projection that refuses the run has no omissions
		of = run.Projections[len(run.Projections)-1]
	}
	for _, r := range of.Omissions {
		if inSnapshotMessages(r) {
			list = append(list, r)
		}
	}
	return list
}

func (n *RunCounts) add(snapshots int) {
	switch snapshots {
	case 0:
		n.None++
	case 1:
		n.One++
	default:
		n.Several++
	}
}

func (p *ParentCounts) add(in analysis.Parent) {
	for _, c := range []struct {
		has bool
		to  *int
	}{{in.Request, &p.Request}, {in.RunStarted, &p.RunStarted}, {in.Input, &p.Input}, {in.Request && in.RunStarted, &p.Echoed}, {in.Request && in.Input, &p.EchoedInput}} {
		if c.has {
			*c.to++
		}
	}
}

func (s *Summary) time(t analysis.Times) {
	if t.Implausible {
		s.Implausible++
	}
	at := slices.IndexFunc(s.Times, func(c CountedSource) bool { return c.Source == t.Source })
	if at < 0 {
		at = len(s.Times)
		s.Times = append(s.Times, CountedSource{Source: t.Source})
	}
	s.Times[at].Runs++
}

func (s *Summary) measure(run analysis.Run) {
	if run.Sizes == nil {
		return
	}
	s.Sizes.Artifacts++
	if int64(run.Sizes.Artifact) < run.Sizes.Run {
		s.Sizes.BelowRun++
		if run.Verdict.Emitted() {
			s.Sizes.EmittedBelowRun++
		}
	}
	if run.Sizes.Artifact < run.Sizes.Envelope {
		s.Sizes.BelowEnvelope++
	}
	if run.Sizes.Compact < run.Sizes.Envelope {
		s.Sizes.CompactBelowEnvelope++
	}
	s.Texts.Add(*run.Texts)
}

// addProblems adds the reasons of a run to a list of problems.
func addProblems(list *[]Problem, reasons []analysis.Reason, run string) {
	for _, r := range reasons {
		at := slices.IndexFunc(*list, func(n Problem) bool { return n.Code == r.Code && n.Event == r.Event && n.Pointer == r.Pointer })
		if at < 0 {
			at = len(*list)
			*list = append(*list, Problem{Code: r.Code, Event: r.Event, Pointer: r.Pointer})
		}
		(*list)[at].Runs = append((*list)[at].Runs, run)
	}
}

// Advice returns what to change, in a few words.
func (n Problem) Advice() string {
	key := lastName(n.Pointer)
	if n.NotSmaller {
		return "the artifact is not smaller than the run"
	}
	if n.Requirement != "" {
		return n.Requirement.advice()
	}
	where := n.Event + string(n.Pointer)
	switch n.Code {
	case finding.HTTPStatus:
		return fmt.Sprintf("respond with HTTP status 200, not %03d", n.HTTPStatus)
	case finding.NoRun, finding.NoEvents:
		return "respond with a run"
	case finding.SnapshotMissing:
		return "emit a MESSAGES_SNAPSHOT"
	case finding.SnapshotSeveral:
		return "emit one MESSAGES_SNAPSHOT, not several"
	case finding.SnapshotLacksText:
		return "include all streamed text in the MESSAGES_SNAPSHOT"
	case finding.TerminalSeveral:
		return "end the run with one terminal event"
	case finding.EventsAfterTerminal:
		return "send nothing after the terminal event"
	case finding.RunNotTerminated:
		return "end the run with RUN_FINISHED"
	case finding.HTTPContentType:
		return "send Content-Type: text/event-stream"
	case finding.RunsTooMany:
		return OneRun.advice()
	case finding.StartedAtMissing:
		return "give RUN_STARTED a `timestamp`, or send the response uncompressed"
	case finding.JSONSyntax:
		return "make every event valid JSON" + atPlace(where)
	case finding.TooLong:
		if where != "" {
			return "shorten `" + where + "`"
		}
	case finding.EventFieldMalformed:
		if n.Event == "" || key == "" {
			return "give each event the fields that AG-UI requires"
		}
		return "give " + n.Event + " a `" + key + "` that is a string"
	case finding.KeyOutsideSubset:
		return "omit `" + key + "` from messages"
	case finding.RoleOutsideSubset:
		return "omit messages of other roles"
	case finding.ContentMissing:
		return "give every message `content`"
	case finding.ContentBlank:
		return "send no blank `content`"
	case finding.ContentNotText:
		return "send `content` as text"
	case finding.ValueNull, finding.ValueBlank:
		return "send no null or blank `" + key + "`"
	}
	about, _ := finding.Describe(n.Code)
	if where != "" {
		return "correct `" + where + "`: " + about.Meaning
	}
	return "correct this: " + about.Meaning
}

// atPlace formats a place as a suffix, or returns "" if where is empty.
func atPlace(where string) string {
	if where == "" {
		return ""
	}
	return " (`" + where + "`)"
}
