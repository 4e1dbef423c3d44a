package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Shortfall is one thing that a run lacks, or that its artifact leaves out of the
// three events.
type Shortfall struct {
	// Code is empty where no finding has one for it.
	Code finding.Code `json:"code,omitzero"`
	// Text says in a few words what is missing.
	Text string `json:"text"`

	// prefix begins Text, and those of others of its kind.
	prefix string
}

// FormatShortfalls spells shortfalls in one line: the shortest first, those that begin alike as
// one, and a few of them. It is empty if there is none.
func FormatShortfalls(list []Shortfall) string {
	const few = 6
	more := max(len(list)-few, 0)
	list = list[:len(list)-more]
	var parts []string
	at := map[string]int{}
	for _, s := range list {
		if i, ok := at[s.prefix]; ok && s.prefix != "" {
			parts[i] += ", " + strings.TrimPrefix(s.Text, s.prefix)
			continue
		}
		at[s.prefix] = len(parts)
		parts = append(parts, s.Text)
	}
	slices.SortStableFunc(parts, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	text := strings.Join(parts, "; ")
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Shortfalls returns all that a run lacks for an artifact of the one usable snapshot,
// and what its artifact leaves out, the shortest first. There are none exactly if
// the contract takes the run as it is. Need.Advice says what to change.
func Shortfalls(run analysis.Run) []Shortfall {
	var list []Shortfall
	add := func(code finding.Code, stem, rest string) {
		if text := stem + rest; !slices.ContainsFunc(list, func(s Shortfall) bool { return s.Text == text }) {
			list = append(list, Shortfall{code, text, stem})
		}
	}
	switch {
	case run.Verdict == analysis.Missing:
		add("", "", "only in the baseline")
	case run.Verdict == analysis.Failed:
		add(firstError(run), "", "could not be read")
	case run.Run == nil && badStatus(run):
		add(finding.HTTPStatus, "", fmt.Sprintf("no run; HTTP status %03d", run.HTTPStatus))
	case run.Run == nil:
		code := cmp.Or(firstError(run), finding.NoRun)
		stem, rest := phrase(analysis.Reason{Code: code})
		add(code, stem, rest)
	}
	if list != nil {
		return list
	}
	for _, n := range Problems(run) {
		if n.Requirement != "" {
			add(n.Code, "", n.Shortfall())
		}
	}
	snapshots := len(run.Snapshots) + run.MoreSnapshots
	last := run.Projections[len(run.Projections)-1]
	if snapshots > 1 {
		add(finding.SnapshotSeveral, "", fmt.Sprintf("%d snapshots instead of one", snapshots))
	}
	switch {
	case run.Verdict != analysis.Incomplete:
	case snapshots > 1:
		add(finding.SnapshotLacksText, "", "the last snapshot lacks "+project.FormatStreamedCount(missingMessages(run)))
	default:
		add(finding.SnapshotLacksText, "", "the snapshot lacks "+project.FormatStreamedCount(missingMessages(run)))
	}
	why := run.Projections[0].Reasons
	if run.Verdict == analysis.Refused {
		if why = run.Projections[1].Reasons; snapshots > 1 {
			why = append(slices.Clone(why), last.Reasons...)
		}
	}
	left := extraContent(run)
	for _, r := range left {
		_, rest := phrase(r)
		add(r.Code, "omits ", rest)
	}
	for _, r := range why {
		if r.Code != finding.SnapshotSeveral && (left == nil || !inSnapshotMessages(r)) {
			stem, rest := phrase(r)
			add(r.Code, stem, rest)
		}
	}
	if run.Verdict.Emitted() && int64(run.Sizes.Artifact) >= run.Sizes.Run {
		add("", "", Problem{NotSmaller: true}.Advice())
	}
	slices.SortStableFunc(list, func(a, b Shortfall) int { return cmp.Compare(len(a.Text), len(b.Text)) })
	return list
}

// inSnapshotMessages reports whether a reason is about the messages of a snapshot.
func inSnapshotMessages(r analysis.Reason) bool {
	return r.Event == envelope.MessagesSnapshot && strings.HasPrefix(string(r.Pointer), "/messages")
}

// firstError is the code of a run's first error; empty without one.
func firstError(run analysis.Run) finding.Code {
	for _, f := range run.Findings {
		if f.Severity == finding.Error {
			return f.Code
		}
	}
	return ""
}

// missingMessages is how many streamed messages the snapshot behind the run's artifact
// lacks.
func missingMessages(run analysis.Run) int {
	for _, made := range slices.Backward(run.Projections) {
		for _, r := range made.Omissions {
			if r.Code == finding.SnapshotLacksText {
				return r.Count
			}
		}
	}
	return 0
}

// phrase names what a reason is about: the key or the messages that are left out, or
// what is missing. The stem is what reasons of one kind begin with.
func phrase(r analysis.Reason) (stem, rest string) {
	if r.Code == finding.EventFieldMalformed && r.Event != "" && r.Pointer != "" {
		return r.Event + " has no string ", lastName(r.Pointer)
	}
	return "", about(r)
}

// lastName is the key that a pointer ends with.
func lastName(p finding.Pointer) string {
	return string(p[strings.LastIndexByte(string(p), '/')+1:])
}

func about(r analysis.Reason) string {
	key := lastName(r.Pointer)
	switch r.Code {
	case finding.SnapshotMissing:
		return "no MESSAGES_SNAPSHOT"
	case finding.SnapshotSeveral:
		return "several MESSAGES_SNAPSHOT events"
	case finding.SnapshotLacksText:
		return "a MESSAGES_SNAPSHOT that lacks streamed text"
	case finding.TerminalSeveral:
		return "several terminal events"
	case finding.EventsAfterTerminal:
		return "events after the terminal event"
	case finding.RunNotTerminated:
		return "no terminal event"
	case finding.TerminalOtherRun:
		return "the terminal event names another run"
	case finding.HTTPContentType:
		return "not sent as text/event-stream"
	case finding.NoRun:
		return "no run: the response has no RUN_STARTED"
	case finding.NoEvents:
		return "no run: the response has no events"
	case finding.KeyOutsideSubset:
		return key
	case finding.RoleOutsideSubset:
		return "messages of other roles"
	case finding.ContentMissing:
		return "messages without content"
	case finding.ContentBlank:
		return "messages with blank content"
	case finding.ContentNotText:
		return "messages whose content is not text"
	case finding.ValueNull, finding.ValueBlank:
		return "null or blank " + key
	}
	described, _ := finding.Describe(r.Code)
	return described.Meaning
}
