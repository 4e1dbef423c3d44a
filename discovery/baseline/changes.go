package baseline

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project"
)

// Compare returns the runs with their changes since the baseline. It appends a run for
// each run of the baseline that is missing.
//
// A change that affects the contract is an error: a missing or new run, a change in how
// the run ends, in its snapshots, in the result of a projection, in whether the snapshot
// lacks streamed text, in a key of the artifact, or in the source of times. Errors come
// before other changes. The captures must satisfy CheckDistinct and must be analyzed
// under the contract of the baseline.
func (b *Baseline) Compare(runs []analysis.Run) []analysis.Run {
	found := make(map[int]bool)
	runs = slices.Clone(runs)
	for i := range runs {
		now := runOf(runs[i])
		runs[i].Changes = []finding.Finding{}
		if runs[i].Digest == "" { // the contents of the capture are not known
			for _, at := range b.indexesOf(now.Capture) {
				found[at] = true
			}
			if runs[i].Verdict != analysis.Failed {
				runs[i].Changes = append(runs[i].Changes, runNotFound(now, "which is invalid"))
			}
			continue
		}
		at, ok := slices.BinarySearchFunc(b.Runs, now, Run.compare)
		if !ok {
			known := b.indexesOf(now.Capture)
			runs[i].Changes = append(runs[i].Changes, b.diffUnknown(now, known)...)
			for _, at := range known { // reported by diffUnknown
				found[at] = found[at] || now.Run == 0 || b.Runs[at].Run == 0
			}
			continue
		}
		found[at] = true
		c := differ{old: b.Runs[at], new: now, run: &runs[i]}
		runs[i].Changes = append(runs[i].Changes, c.all()...)
	}
	for i, was := range b.Runs {
		if !found[i] {
			runs = append(runs, missingRun(was, b))
		}
	}
	return runs
}

// indexesOf returns the indexes of the runs of a capture.
func (b *Baseline) indexesOf(capture string) (at []int) {
	for i, s := range b.Runs {
		if s.Capture == capture {
			at = append(at, i)
		}
	}
	return at
}

// diffUnknown returns the changes for a run that is not in the baseline. The indexes in
// known are of other runs of the capture. A new capture does not affect the contract,
// unless it has no run.
func (b *Baseline) diffUnknown(now Run, known []int) []finding.Finding {
	if len(known) == 0 {
		if now.Run == 0 {
			return []finding.Finding{runNotFound(now, "which is not in the baseline")}
		}
		return []finding.Finding{finding.New(finding.RunAdded, "the baseline does not have %s", finding.Quote(now.Capture))}
	}
	c := differ{old: b.Runs[known[0]], new: now}
	c.answer()
	switch {
	case now.Run == 0:
		for _, at := range known {
			c.addf(finding.RunGone, "the baseline has %s (%s), but the capture contains no run", b.Runs[at].name(), b.Runs[at].Verdict)
		}
	case c.old.Run == 0:
		c.add(finding.New(finding.RunAdded, "the baseline has no run in %s, but the capture contains one", c.old.name()).WithSeverity(finding.Error))
	default:
		c.add(finding.New(finding.RunAdded, "the baseline does not have %s", now.name()).WithSeverity(finding.Error))
	}
	return c.list
}

func runNotFound(now Run, why string) finding.Finding {
	return finding.New(finding.RunAdded, "no run is found in %s, %s", finding.Quote(now.Capture), why).WithSeverity(finding.Error)
}

// name returns the number of the run and the name of its capture, for messages.
func (s Run) name() string {
	if s.Run == 0 {
		return finding.Quote(s.Capture)
	}
	return fmt.Sprintf("run %d of %s", s.Run, finding.Quote(s.Capture))
}

func missingRun(was Run, b *Baseline) analysis.Run {
	e := analysis.EmptyRun(b.Contract, analysis.Missing)
	e.Capture, e.Response, e.Integration = was.Capture, was.Capture, was.Integration
	if was.Run > 0 {
		e.Run = &was.Run
	}
	e.Projections = []analysis.Projection{}
	e.Changes = []finding.Finding{finding.New(finding.RunGone, "the baseline has %s (%s), but the compared captures do not", was.name(), was.Verdict)}
	return e
}

// differ compares two versions of one run and collects the changes.
type differ struct {
	old, new Run
	run      *analysis.Run
	list     []finding.Finding
}

func (c *differ) add(f finding.Finding) { c.list = append(c.list, f) }

// addf adds a change that has no place in the run.
func (c *differ) addf(code finding.Code, format string, args ...any) {
	c.add(finding.New(code, format, args...))
}

// withPlace adds the place of an event to a finding, if the envelope of the run has the
// event.
func (c *differ) withPlace(event string, f finding.Finding) finding.Finding {
	for _, p := range c.run.Events {
		if p.Part == partOf(event) {
			return p.Annotate(f)
		}
	}
	return f
}

// partOf returns the part of an envelope for an event type.
func partOf(event string) string {
	switch event {
	case envelope.RunStarted:
		return project.RunStartedPart
	case envelope.MessagesSnapshot:
		return project.SnapshotPart
	case envelope.RunFinished, envelope.RunError:
		return project.TerminalPart
	}
	return ""
}

func (c *differ) all() []finding.Finding {
	c.answer()
	if c.old.Terminal != c.new.Terminal {
		c.addf(finding.TerminalChanged, "the run's terminal event was %s and is now %s", orNone(c.old.Terminal), orNone(c.new.Terminal))
	}
	c.snapshots()
	c.roles()
	c.projections()
	c.completeness()
	c.fields()
	if c.old.TimeSource != c.new.TimeSource {
		c.addf(finding.TimesChanged, "the source of times was %s and is now %s", orNone(c.old.TimeSource), orNone(c.new.TimeSource))
	}
	c.ids("streamed", c.old.StreamedIDs, c.new.StreamedIDs)
	c.ids("request's", c.old.RequestedIDs, c.new.RequestedIDs)
	c.families()
	sort.SliceStable(c.list, func(i, j int) bool { return severityRank(c.list[i].Severity) < severityRank(c.list[j].Severity) })
	return c.list
}

// answer compares the HTTP status, and how the response ended.
func (c *differ) answer() {
	if c.old.HTTPStatus != c.new.HTTPStatus {
		c.addf(finding.StatusChanged, "the HTTP status was %s and is now %s", orNone(c.old.HTTPStatus), orNone(c.new.HTTPStatus))
	}
	if was, now := cmp.Or(c.old.End, capture.EndEOF), cmp.Or(c.new.End, capture.EndEOF); was != now {
		c.addf(finding.EndChanged, "the response ended with %s and now ends with %s", was, now)
	}
}

// severityRank orders severities, worst first.
func severityRank(s finding.Severity) int {
	return slices.Index([]finding.Severity{finding.Error, finding.Warning, finding.Info}, s)
}

// orNone formats a value, or returns "none" for the zero value.
func orNone[T comparable](v T) string {
	var zero T
	if v == zero {
		return "none"
	}
	return fmt.Sprint(v)
}

func (c *differ) snapshots() {
	was, now := len(c.old.Snapshots)+c.old.MoreSnapshots, len(c.new.Snapshots)+c.new.MoreSnapshots
	if was != now {
		c.add(c.withPlace(envelope.MessagesSnapshot, finding.New(finding.SnapshotsChanged, "the run had %d MESSAGES_SNAPSHOT events and now has %d", was, now)))
		return
	}
	for i := range c.new.Snapshots {
		if a, b := c.old.Snapshots[i], c.new.Snapshots[i]; a != b {
			c.addf(finding.SnapshotMoved, "snapshot %d was between %s and %s and is now between %s and %s", i+1, orNone(a.Before), orNone(a.After), orNone(b.Before), orNone(b.After))
		}
	}
}

// roles compares the roles in snapshots, if both runs have snapshots.
func (c *differ) roles() {
	if len(c.old.Snapshots) == 0 || len(c.new.Snapshots) == 0 {
		return
	}
	was, now := snapshotRoles(c.old.Fields), snapshotRoles(c.new.Fields)
	for _, role := range now {
		if !slices.Contains(was, role) {
			c.add(c.withPlace(envelope.MessagesSnapshot, finding.New(finding.RoleChanged, "the snapshot now has messages of the role %s", finding.Quote(role))))
		}
	}
	for _, role := range was {
		if !slices.Contains(now, role) {
			c.add(c.withPlace(envelope.MessagesSnapshot, finding.New(finding.RoleChanged, "the snapshot no longer has messages of the role %s", finding.Quote(role))))
		}
	}
}

func snapshotRoles(fields []analysis.Field) (roles []string) {
	for _, f := range fields {
		if f.Role != "" && !slices.Contains(roles, f.Role) {
			roles = append(roles, f.Role)
		}
	}
	return roles
}

// projections compares the results of each projection, and the messages of the first
// projection that froze both runs.
func (c *differ) projections() {
	messages := false
	for _, was := range c.old.Projections {
		at := slices.IndexFunc(c.new.Projections, func(p analysis.Projection) bool { return p.Name == was.Name && p.Snapshot == was.Snapshot })
		if at < 0 {
			continue // no longer several snapshots; reported by snapshots
		}
		now := c.new.Projections[at]
		name := string(now.Name)
		if now.Snapshot != "" {
			name = fmt.Sprintf(hint.WithSnapshot, name, now.Snapshot)
		}
		switch {
		case was.Verdict != now.Verdict && now.Verdict == project.Frozen:
			c.addf(finding.ProjectionChanged, "%s refused the run (%s) and now freezes it", name, joinReasons(was.Reasons))
		case was.Verdict != now.Verdict:
			c.addf(finding.ProjectionChanged, "%s froze the run and now refuses it: %s", name, joinReasons(now.Reasons))
		case now.Verdict != project.Frozen:
			c.reasons(name, "refuses the run because of", was.Reasons, now.Reasons)
		default:
			c.reasons(name, "omits", was.Omissions, now.Omissions)
			if messages {
				break
			}
			messages = true
			if !slices.Equal(was.Roles, now.Roles) {
				c.addf(finding.MessagesChanged, "the roles of the artifact's messages were %s and are now %s", strings.Join(was.Roles, ", "), strings.Join(now.Roles, ", "))
			}
			switch {
			case was.Assay && !now.Assay:
				c.addf(finding.AssayChanged, "Assay could take the artifact and no longer can")
			case !was.Assay && now.Assay:
				c.addf(finding.AssayChanged, "Assay could not take the artifact and now can")
			}
		}
	}
}

// completeness reports whether the run became incomplete or complete.
func (c *differ) completeness() {
	was, now := c.old.Verdict, c.new.Verdict
	switch {
	case was == now:
	case now == analysis.Incomplete:
		c.addf(finding.IncompleteChanged, "the run was %s and is now incomplete: its snapshot lacks streamed text", was)
	case was == analysis.Incomplete && (now.Emitted() || now == analysis.Chosen):
		c.addf(finding.IncompleteChanged, "the run was incomplete and is now %s: its snapshot no longer lacks streamed text", now)
	}
}

// reasons compares two lists by code and place. It ignores the counts, which depend on
// the length of the conversation.
func (c *differ) reasons(name, does string, was, now []analysis.Reason) {
	for _, r := range newReasons(now, was) {
		c.addf(finding.ReasonsChanged, "%s now %s %s", name, does, r.WithoutCount())
	}
	for _, r := range newReasons(was, now) {
		c.addf(finding.ReasonsChanged, "%s no longer %s %s", name, does, r.WithoutCount())
	}
}

// newReasons returns the reasons of list that are not in other. It ignores
// SnapshotLacksText, which completeness compares.
func newReasons(list, other []analysis.Reason) (rest []analysis.Reason) {
	for _, r := range list {
		if r.Code != finding.SnapshotLacksText && !slices.ContainsFunc(other, func(o analysis.Reason) bool { return o.WithoutCount() == r.WithoutCount() }) {
			rest = append(rest, r)
		}
	}
	return rest
}

func joinReasons(list []analysis.Reason) string {
	var parts []string
	for _, r := range list {
		parts = append(parts, r.WithoutCount().String())
	}
	return strings.Join(parts, ", ")
}

// fields compares the keys of events and messages that both runs have.
func (c *differ) fields() {
	c.missingFields(c.new.Fields, c.old.Fields, "now has")
	c.missingFields(c.old.Fields, c.new.Fields, "no longer has")
}

func (c *differ) missingFields(list, other []analysis.Field, has string) {
	for _, f := range list {
		comparable, there := false, false
		for _, o := range other {
			same := o.Event == f.Event && o.Role == f.Role
			comparable = comparable || same
			there = there || same && o.Name == f.Name
		}
		if !comparable || there {
			continue
		}
		what := f.Event
		if f.Role != "" {
			what = "a message of the role " + finding.Quote(f.Role) + " in " + f.Event
		}
		code, taken := finding.FieldUntaken, "which the artifact does not take"
		if f.ArtifactKey != "" {
			code, taken = finding.FieldChanged, "which the artifact takes as "+f.ArtifactKey
		}
		c.add(c.withPlace(f.Event, finding.New(code, "%s %s the key %s, %s", what, has, finding.Quote(f.Name), taken)))
	}
}

// ids compares the retention of message ids, if both runs have one.
func (c *differ) ids(whose string, was, now Retention) {
	if was != now && was != "" && now != "" {
		c.addf(finding.IDsChanged, "the snapshot kept %s of the %s message ids and now keeps %s", was, whose, now)
	}
}

func (c *differ) families() {
	for _, name := range c.new.Families {
		if !slices.Contains(c.old.Families, name) {
			c.addf(finding.FamiliesChanged, "the run now has %s", finding.Quote(name))
		}
	}
	for _, name := range c.old.Families {
		if !slices.Contains(c.new.Families, name) {
			c.addf(finding.FamiliesChanged, "the run no longer has %s", finding.Quote(name))
		}
	}
}
