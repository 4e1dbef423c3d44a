package gate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// Shortfall says in a few words what is missing from a run, or what its artifact
// leaves out of the snapshot. It is empty if nothing is. Advice says what to change.
func Shortfall(run analysis.Run) string {
	snapshots := len(run.Snapshots) + run.MoreSnapshots
	several := fmt.Sprintf("%d snapshots, not one", snapshots)
	switch {
	case run.Verdict == analysis.Missing:
		return "only the baseline has it"
	case run.Verdict == analysis.Failed:
		return "it could not be read"
	case run.Run == nil && run.HTTPStatus != 0 && run.HTTPStatus != http.StatusOK:
		return fmt.Sprintf("no run; HTTP status %03d", run.HTTPStatus)
	case run.Run == nil:
		return without(run.Findings)
	case run.Verdict == analysis.Built:
		return "no MESSAGES_SNAPSHOT"
	case run.Verdict == analysis.Chosen:
		return several
	case run.Verdict == analysis.Incomplete && snapshots > 1:
		return several + "; the last lacks " + project.StreamedMessages(lacking(run))
	case run.Verdict == analysis.Incomplete:
		return "the snapshot lacks " + project.StreamedMessages(lacking(run))
	case run.Verdict == analysis.Refused:
		return phrases(run.Projections[1].Reasons, "; ")
	}
	var list []string
	if left := extraContent(run); left != nil {
		list = append(list, "leaves out "+phrases(left, ", "))
	} else if run.Verdict == analysis.Reduced {
		list = append(list, phrases(run.Projections[0].Reasons, "; "))
	}
	if run.Sizes != nil && int64(run.Sizes.Artifact) >= run.Sizes.Run {
		list = append(list, Need{Larger: true}.Advice())
	}
	return strings.Join(list, "; ")
}

// without describes a capture without a run by its first error.
func without(findings []finding.Finding) string {
	for _, f := range findings {
		if f.Severity == finding.Error {
			return phrase(analysis.Reason{Code: f.Code})
		}
	}
	return "no run"
}

// lacking is how many streamed messages the snapshot behind the run's artifact
// lacks.
func lacking(run analysis.Run) int {
	for _, made := range slices.Backward(run.Projections) {
		for _, r := range made.Omissions {
			if r.Code == finding.SnapshotLacksText {
				return r.Count
			}
		}
	}
	return 0
}

// phrases joins the phrases of reasons, each once.
func phrases(reasons []analysis.Reason, separator string) string {
	var list []string
	for _, r := range reasons {
		if text := phrase(r); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return strings.Join(list, separator)
}

// phrase names what a reason is about: the key or the messages that are left out, or
// what is missing.
func phrase(r analysis.Reason) string {
	key := string(r.Pointer[strings.LastIndexByte(string(r.Pointer), '/')+1:])
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
	case finding.NoRun:
		return "no run: the answer has no RUN_STARTED"
	case finding.NoEvents:
		return "no run: the answer has no events"
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
		return key + " that is null or blank"
	}
	about, _ := finding.Describe(r.Code)
	return about.Meaning
}
