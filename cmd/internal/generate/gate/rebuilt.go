package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
)

// rebuilder rebuilds the messages of a run from the request and the events, without the
// snapshots.
type rebuilder struct {
	reducer  *reduce.Reducer
	snapshot []byte // the messages of the last snapshot
}

func newRebuilder(request []byte) *rebuilder {
	r := &rebuilder{reducer: reduce.New(reduce.Options{})}
	r.reducer.Seed(request)
	return r
}

// event handles an event of the run.
func (r *rebuilder) event(e *envelope.Event) {
	if e.Type == envelope.MessagesSnapshot {
		// The client converts the messages of a snapshot from AG-UI 0.x too.
		alone := reduce.New(reduce.Options{})
		alone.Event(e)
		r.snapshot = alone.AppendMessages(nil)
		return
	}
	r.reducer.Event(e)
}

// compare compares the messages with those of the last snapshot. It returns nil if there is
// no snapshot.
func (r *rebuilder) compare() (*analysis.Rebuilt, error) {
	if r.snapshot == nil {
		return nil, nil
	}
	rebuilt, err := analysis.CompareRebuilt(r.reducer.AppendMessages(nil), r.snapshot)
	return &rebuilt, err
}

// deviationReasons says why messages deviate, as far as the captures show it.
var deviationReasons = map[analysis.Deviation]string{
	analysis.EmittedInstructions: "no event carries the instructions of an agent",
	analysis.EmittedResult:       "the server ran the tool without a TOOL_CALL_RESULT",
	analysis.EmittedEmpty:        "a reply without text has no events",
	analysis.EmittedTwice:        "the server has its own copy of an earlier message, and adds that of the request under its id",
	analysis.StreamedReasoning:   "the server keeps no reasoning in the conversation",
	analysis.StreamedTwice:       "the same text was streamed again under another id",
	analysis.StreamedText:        "the server did not keep the text of a reply that broke off",
	analysis.Joined:              "the call does not name the message with the text as its parent, so a client gives the call a message of its own",
	analysis.ContentSpace:        "the server trims texts",
	analysis.ContentParts:        "the server writes the parts in the form of another AG-UI version",
	analysis.CallsEmitted:        "the call has no TOOL_CALL_START, or one without the required toolCallName",
	analysis.CallsStreamed:       "the server did not keep a call that it handled itself",
}

// rebuiltMessages writes how rebuilt and emitted messages agree.
func rebuiltMessages(b *bytes.Buffer, harnesses []harness) {
	var all gate.RebuiltSummary
	of := make([]gate.RebuiltSummary, len(harnesses))
	for i, h := range harnesses {
		for _, one := range h.details {
			if one.rebuilt != nil {
				of[i].Add(one.run.Capture, *one.rebuilt)
				all.Add(one.run.Capture, *one.rebuilt)
			}
		}
	}
	fmt.Fprintf(b, "## Messages rebuilt without the snapshot\n\n**The same messages in %d of %d runs**, in %d of them with the same ids and names too. A client that does not receive the snapshot has the messages of its request and those that it rebuilds from the other events, by the rules of the AG-UI reference client ([envelope/reduce](../envelope/reduce/reduce.go)). In every run with a snapshot, these messages were compared with those of its last snapshot; content parts in the older form `binary` are converted in both, as the client does. No artifact is made from them, and they do not affect which integrations qualify.\n\n", all.Agreeing, all.Runs, all.Identical)
	b.WriteString("| integration | runs with a snapshot | all messages the same | ids and names too | messages that are the same | with another id | with another name | differences, and in how many runs |\n|---|---|---|---|---|---|---|---|\n")
	for i, h := range harnesses {
		s := of[i]
		if s.Runs == 0 {
			continue
		}
		var parts []string
		for _, d := range analysis.Deviations() {
			if c := s.Deviations[d]; c.Runs > 0 {
				parts = append(parts, fmt.Sprintf("%s: %d", d, c.Runs))
			}
		}
		differences := strings.Join(parts, "; ")
		if parts == nil {
			differences = "none"
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d | %d | %s |\n", h.Integration.Name, s.Runs, s.Agreeing, s.Identical, s.Same, s.OtherID, s.OtherName, differences)
	}
	b.WriteString("\nAll differences, with the likely reason:\n\n| difference | runs | times | first run | likely reason |\n|---|---|---|---|---|\n")
	for _, d := range analysis.Deviations() {
		if c := all.Deviations[d]; c.Runs > 0 {
			reason, ok := deviationReasons[d]
			if !ok {
				reason = "unknown"
			}
			first := relative(c.First)
			fmt.Fprintf(b, "| %s | %d | %d | [%s](%s/response.sse) | %s |\n", d, c.Runs, c.Times, strings.TrimPrefix(first, "captures/"), first, reason)
		}
	}
	b.WriteString("\n")
}
