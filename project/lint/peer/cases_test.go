//go:build peer

package peer_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	protocol "github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/project/lint/peer"
)

// A comparison is a finding of theirs that none of ours matches, and what both found.
type comparison struct {
	stream stream
	events []event
	theirs []peer.Finding
	row    lint.Row
	f      peer.Finding
}

// cases are the cases of docs/peers.md: each reports whether a finding of theirs is of that
// kind. The rules are those of the page.
var cases = map[string]func(comparison) bool{
	// Matters of taste, which need no more than their rule.
	"no-timestamp":          always,
	"name-without-prefix":   always,
	"raw-event":             always,
	"state-without-base":    always,
	"snapshot-after-deltas": always,
	"unknown-parent":        always,
	"result-before-end":     always,

	"unreadable-event": func(x comparison) bool { return x.before(isUnreadable, x.sameRun) },
	"misplaced-run":    func(x comparison) bool { return x.before(isMisplaced, x.sameRun) },
	"same-item":        func(x comparison) bool { return x.before(isError, x.sameItem) },
	"dropped-start":    comparison.droppedStart,
	"declared-0.x":     comparison.declared0,
	"error-alone":      func(x comparison) bool { return x.at()["type"] == eventnames.RunError },
	"chunk-reopens":    func(x comparison) bool { return strings.HasSuffix(x.at()["type"], "_CHUNK") },
	"chunk-arguments":  comparison.chunkGoesOn,
	"chunk-continues":  func(x comparison) bool { return strings.HasSuffix(x.at()["type"], "_CHUNK") && x.f.Rule == "AGUI504" },
	"call-known":       comparison.callKnown,
	"content-parts": func(x comparison) bool {
		return x.f.Rule == "AGUI504" && x.f.Pointer == "/content" && x.at()["type"] == eventnames.ToolCallResult
	},
	"guessed-framing": func(x comparison) bool { return x.stream.Status == nil },
	"short-response":  func(x comparison) bool { return x.stream.Status != nil },
	"short-silence":   func(x comparison) bool { return x.stream.Status != nil },
	"owner-on-record": comparison.ownerOnRecord,
	"owner-of-step":   func(x comparison) bool { return x.at()["type"] == eventnames.StepFinished },
}

func always(comparison) bool { return true }

// event has the members of an event that are strings.
type event map[string]string

func parse(texts []string) (all []event) {
	for _, text := range texts {
		var members map[string]any
		e := event{}
		if json.Unmarshal([]byte(text), &members) == nil {
			for name, value := range members {
				if s, ok := value.(string); ok {
					e[name] = s
				}
			}
		}
		all = append(all, e)
	}
	return all
}

// at returns the event that the finding is about.
func (x comparison) at() event { return x.event(x.f.Event) }

// start returns the event that began what the finding is about.
func (x comparison) start() event { return x.event(x.f.Related) }

func (x comparison) event(i int) event {
	if i < 0 {
		return nil
	}
	return x.events[i]
}

// before reports whether a finding of ours is about the same event or an earlier one.
func (x comparison) before(is func(finding.Finding) bool, related func(int) bool) bool {
	return slices.ContainsFunc(x.row.Findings, func(o finding.Finding) bool {
		return o.EventIndex != nil && (x.f.Event < 0 || *o.EventIndex <= x.f.Event) && is(o) && related(*o.EventIndex)
	})
}

func isError(o finding.Finding) bool { return o.Severity == finding.Error }

func isMisplaced(o finding.Finding) bool {
	return slices.Contains([]string{"G1", "G2", "G3", "G4"}, o.Rule)
}

func isUnreadable(o finding.Finding) bool {
	return strings.HasPrefix(string(o.Code), "json_") || o.Code == finding.EventNotObject || o.Code == finding.EventTypeMissing
}

// sameRun reports whether theirs counts an event to the run of the finding. To them, a run
// ends only with RUN_FINISHED or RUN_ERROR, and RUN_STARTED begins the next one only after
// these.
func (x comparison) sameRun(index int) bool {
	runs := x.runs()
	if x.f.Event < 0 {
		return runs[index] == runs[len(runs)-1]
	}
	return runs[index] == runs[x.f.Event]
}

// runs returns the number of the run of each event.
func (x comparison) runs() (of []int) {
	run, ended := 0, false
	for _, e := range x.events {
		switch e["type"] {
		case eventnames.RunStarted:
			if ended {
				run++
			}
			ended = false
		case eventnames.RunFinished, eventnames.RunError:
			ended = true
		}
		of = append(of, run)
	}
	return of
}

// sameItem reports whether an event of the same run names what the finding is about.
func (x comparison) sameItem(index int) bool {
	if !x.sameRun(index) {
		return false
	}
	for _, e := range []event{x.at(), x.start()} {
		for _, id := range ids(e) {
			if slices.Contains(ids(x.events[index]), id) {
				return true
			}
		}
	}
	return false
}

// ids returns what an event is about.
func ids(e event) (all []string) {
	for _, name := range []string{"messageId", "toolCallId", "stepName", "subagentRunId"} {
		if id, ok := e[name]; ok && (name != "subagentRunId" || strings.HasPrefix(e["type"], "SUBAGENT_")) {
			all = append(all, name+" "+id)
		}
	}
	return all
}

// droppedStart reports whether theirs ignored the event that opened the item again.
func (x comparison) droppedStart() bool {
	return slices.ContainsFunc(x.theirs, func(o peer.Finding) bool {
		dropped := o.Rule == "AGUI104" || o.Rule == "AGUI205" || o.Rule == "AGUI106"
		return dropped && (x.f.Event < 0 || o.Event < x.f.Event) && x.sameItem(o.Event)
	})
}

// chunkGoesOn reports whether the event does not end the chunks of the tool call: it stands
// aside, is of another agent, or is the end of a run that failed or of the stream.
func (x comparison) chunkGoesOn() bool {
	if x.start()["type"] != eventnames.ToolCallChunk {
		return false
	}
	e := x.at()
	switch e["type"] {
	case "", eventnames.Raw, eventnames.ActivitySnapshot, eventnames.ActivityDelta, eventnames.ReasoningEncryptedValue, eventnames.SubagentStarted, eventnames.RunError:
		return true
	}
	agent, tagged := e["subagentRunId"]
	other, otherTagged := x.start()["subagentRunId"]
	byID := strings.HasSuffix(e["type"], "_CHUNK")                                                      // its id can name a stream of another agent
	return byID || strings.HasPrefix(e["type"], "THINKING_") || agent != other || tagged != otherTagged // "" is a name
}

// declared0 reports whether the run of the event declares a version of 0.x.
func (x comparison) declared0() bool {
	version := ""
	for _, e := range x.events[:max(0, x.f.Event)] {
		if e["type"] == eventnames.RunStarted {
			version = e["protocolVersion"]
		}
	}
	p, _ := protocol.Declared(version)
	return p == protocol.V0
}

// ownerOnRecord reports whether an earlier event names the same owner for the item, or for
// the message that a tool call belongs to: a snapshot, a run's input, a result or a chunk.
func (x comparison) ownerOnRecord() bool {
	items := []string{cmp.Or(x.at()["toolCallId"], x.at()["messageId"])}
	for _, e := range x.events[:x.f.Event] {
		if e["toolCallId"] == items[0] && e["parentMessageId"] != "" {
			items = append(items, e["parentMessageId"])
		}
	}
	owner := `"subagentRunId":` + quoted(x.at()["subagentRunId"])
	return slices.ContainsFunc(x.stream.events[:x.f.Event], func(text string) bool {
		return strings.Contains(text, owner) && slices.ContainsFunc(items, func(item string) bool { return strings.Contains(text, quoted(item)) })
	})
}

// callKnown reports whether the request, an earlier run or a message has the tool call.
func (x comparison) callKnown() bool {
	id := quoted(x.at()["toolCallId"])
	for _, text := range append([]string{x.stream.request}, x.stream.events[:x.f.Event]...) {
		if strings.Contains(text, id) {
			return true
		}
	}
	return false
}

// quoted returns a JSON string.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string is JSON
	}
	return string(text)
}
