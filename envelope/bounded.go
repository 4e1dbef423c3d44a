package envelope

import (
	"io"

	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// The places of a bounded envelope, in order (P20 §7).
const (
	placeStarted = iota
	placeSnapshot
	placeTerminal
	places
)

// envelopeHint is for whoever takes a capture for an envelope.
const envelopeHint = "a bounded envelope is three events; p20export freeze makes one from a capture"

var placeNames = [places]string{"RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED or RUN_ERROR"}

// Check reads frames as a bounded envelope: exactly RUN_STARTED, one
// MESSAGES_SNAPSHOT and one terminal event, in that order, of one run on one
// thread. One more event of any family is malformed (P20 §7). The messages of
// the snapshot are not held to the text subset. The error is one of the
// frames'; what is wrong with the envelope are findings.
func Check(frames Frames) ([]finding.Finding, error) {
	var (
		s    scanner
		run  Run
		seen [places]bool
		last = -1
		read = 0
	)
	for {
		frame, err := frames.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		read++
		e, err := s.scan(frame)
		if err != nil {
			run.damaged(frame, err)
			continue
		}
		place := placeOf(e.Type)
		switch {
		case place < 0:
			run.report(e.Finding(finding.ExtraEventFamily, "%s is no part of a bounded envelope", finding.Quote(e.Type)).On("/type").Hinting(envelopeHint))
			continue
		case seen[place]:
			run.report(e.Finding(finding.EnvelopeRepeated, "%s is there already", placeNames[place]).On("/type"))
			continue
		case place < last:
			run.report(e.Finding(finding.EnvelopeOrder, "%s stands after %s", e.Type, placeNames[last]).On("/type"))
		}
		seen[place] = true
		last = max(last, place)
		run.add(e)
		if place == placeSnapshot {
			run.checkSnapshot(e)
		}
	}
	hint := envelopeHint
	if read == 0 {
		hint = "the file holds no event at all: it is neither JSON lines, nor a JSON array, nor an event stream"
	}
	for place, ok := range seen {
		if !ok {
			run.report(finding.New(finding.EnvelopeIncomplete, "%s is missing", placeNames[place]).Hinting("%s", hint))
		}
	}
	if run.Started != nil && run.Terminal != nil {
		run.terminalNames("runId", run.RunID, finding.TerminalOtherRun)
		run.terminalNames("threadId", run.ThreadID, finding.TerminalOtherThread)
	}
	finding.Sort(run.Findings)
	if run.uncounted > 0 {
		run.Findings = append(run.Findings, finding.New(finding.FindingsUnlisted, "%d more findings are not listed", run.uncounted))
	}
	return run.Findings, nil
}

func placeOf(eventType string) int {
	switch eventType {
	case RunStarted:
		return placeStarted
	case MessagesSnapshot:
		return placeSnapshot
	case RunFinished, RunError:
		return placeTerminal
	}
	return -1
}

// checkSnapshot reports messages that are no objects.
func (r *Run) checkSnapshot(e *Event) {
	list, ok := e.Get("messages")
	if !ok || list.Kind != strictjson.ArrayStart {
		r.report(e.Finding(finding.SnapshotMalformed, "the snapshot has no list of messages").On("/messages"))
		return
	}
	_ = strictjson.Elements(list, func(i int, v strictjson.Value, _ *strictjson.Object) error {
		if v.Kind != strictjson.ObjectStart {
			r.report(e.FindingAt(v, finding.SnapshotMalformed, "message %d is %s where an object belongs", i, v.Kind).On(finding.Pointer("/messages").Index(i)))
		}
		return nil
	})
}
