package gate

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Shortfall is one thing that a run lacks, or that its artifact omits from the three
// events.
type Shortfall struct {
	// Code is empty if there is no finding code for the shortfall.
	Code finding.Code `json:"code,omitzero"`
	// Text says what is missing, in a few words.
	Text string `json:"text"`

	// prefix is a prefix of Text that shortfalls of the same kind share.
	prefix string
}

// FormatShortfalls formats the first shortfalls of a list in one line, the shortest first.
// It merges shortfalls with the same prefix. It returns "" for an empty list.
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
	sort.SliceStable(parts, func(i, j int) bool { return len(parts[i]) < len(parts[j]) })
	text := strings.Join(parts, "; ")
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// Shortfalls returns everything that a run lacks for an artifact of a usable snapshot,
// and everything that its artifact omits, the shortest first. The list is empty only if
// nothing is missing or omitted. Problem.Advice says what to change.
func Shortfalls(run analysis.Run) []Shortfall {
	var list []Shortfall
	add := func(code finding.Code, prefix, rest string) {
		if text := prefix + rest; !slices.ContainsFunc(list, func(s Shortfall) bool { return s.Text == text }) {
			list = append(list, Shortfall{code, text, prefix})
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
		prefix, rest := phrase(analysis.Reason{Code: code})
		add(code, prefix, rest)
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
			prefix, rest := phrase(r)
			add(r.Code, prefix, rest)
		}
	}
	if run.Verdict.Emitted() && int64(run.Sizes.Artifact) >= run.Sizes.Run {
		add("", "", Problem{NotSmaller: true}.Advice())
	}
	sort.SliceStable(list, func(i, j int) bool { return len(list[i].Text) < len(list[j].Text) })
	return list
}

// inSnapshotMessages reports whether a reason is about the messages of a snapshot.
func inSnapshotMessages(r analysis.Reason) bool {
	return r.Event == envelope.MessagesSnapshot && strings.HasPrefix(string(r.Pointer), "/messages")
}

// firstError returns the code of a run's first error, or "" if there is none.
func firstError(run analysis.Run) finding.Code {
	for _, f := range run.Findings {
		if f.Severity == finding.Error {
			return f.Code
		}
	}
	return ""
}

// missingMessages returns the number of streamed messages that the snapshot of the run's
// artifact lacks.
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

// phrase returns a phrase for a reason, which names the omitted key or messages, or what
// is missing. The phrase is prefix + rest; reasons of the same kind share the prefix.
func phrase(r analysis.Reason) (prefix, rest string) {
	if r.Code == finding.EventFieldMalformed && r.Event != "" && r.Pointer != "" {
		return r.Event + " has no string ", lastName(r.Pointer)
	}
	return "", about(r)
}

// lastName returns the last segment of a pointer.
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
