package envelope_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

const (
	started  = `{"type":"RUN_STARTED","threadId":"t1","runId":"r1"}`
	snapshot = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m1","role":"user","content":"hi"}]}`
	finished = `{"type":"RUN_FINISHED","threadId":"t1","runId":"r1"}`
	failed   = `{"type":"RUN_ERROR","message":"no"}`
	custom   = `{"type":"CUSTOM","name":"n","value":null}`
)

// seen is a run and what the visitor received of it.
type seen struct {
	*envelope.Run
	types     []string
	snapshots []envelope.Snapshot
}

// recorder is a Visitor that stores every run.
type recorder struct {
	runs  []*seen
	open  *seen
	onEnd func(*envelope.Run) error
}

func (r *recorder) Event(run *envelope.Run, e *envelope.Event) {
	if r.open == nil || r.open.Run != run {
		r.open = &seen{Run: run}
	}
	r.open.types = append(r.open.types, e.Type)
	if e.Type == envelope.MessagesSnapshot {
		r.open.snapshots = append(r.open.snapshots, envelope.DescribeSnapshot(e))
	}
}

func (r *recorder) End(run *envelope.Run) error {
	r.runs = append(r.runs, r.open)
	if r.onEnd != nil {
		return r.onEnd(run)
	}
	return nil
}

func scanAll(t testing.TB, raw string, framing capture.Framing) ([]*seen, envelope.Totals) {
	t.Helper()
	r := &recorder{}
	totals, err := envelope.Scan(capture.NewSplitter(strings.NewReader(raw), framing), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.runs) != totals.Runs {
		t.Fatalf("End was called for %d runs of %d", len(r.runs), totals.Runs)
	}
	return r.runs, totals
}

// brief formats findings as "code #event pointer @offset" and omits absent parts.
func brief(list []finding.Finding) []string {
	out := []string{}
	for _, f := range list {
		s := string(f.Code)
		if f.EventIndex != nil {
			s += fmt.Sprintf(" #%d", *f.EventIndex)
		}
		if f.Pointer != "" {
			s += " " + string(f.Pointer)
		}
		if f.Offset != nil {
			s += fmt.Sprintf(" @%d", *f.Offset)
		}
		out = append(out, s)
	}
	return out
}

// frames is a source of the given frames.
type frames struct {
	list []capture.Frame
	err  error
}

func (f *frames) Next() (*capture.Frame, error) {
	if len(f.list) == 0 {
		if f.err != nil {
			return nil, f.err
		}
		return nil, io.EOF
	}
	next := &f.list[0]
	f.list = f.list[1:]
	return next, nil
}
