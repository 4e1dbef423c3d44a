package restore

import (
	"context"

	"github.com/p20export/p20export/envelope/join"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// ErrTooLarge means that a run or its conversation exceeds a limit, so that a client cannot
// join it.
var ErrTooLarge = join.ErrLimit

// Live is a restored conversation that goes on with the events of its run. A client can join
// the run with a prelude, as package envelope/join defines it.
//
// Options.Dialect should be reduce.Client, because that is how the clients apply patches. A
// Live must not be used by several goroutines at once.
type Live struct {
	replay   *replay
	start    int64 // of the run
	position int64
}

// Live returns the conversation of a run, which is a node of t.Graph, with all entries that
// the run had when the thread was opened.
func (t *Thread) Live(ctx context.Context, n *lineage.Node) (*Live, error) {
	r := &t.runs[n.Index]
	p, err := t.replay(ctx, n, r.Last, false, join.New())
	if err != nil {
		return nil, err
	}
	p.input = nil // it may be large, and only Result needs it
	return &Live{p, r.Start, r.Last}, nil
}

// Entry applies an entry, if it is an event of the run that follows Position. Others are
// ignored, so all entries of the thread after Thread.Last may be passed, in order. It returns
// warnings about the event.
func (l *Live) Entry(e *store.Entry) []finding.Finding {
	if e.Run != l.start || e.Position <= l.position || e.Kind != store.Event && e.Kind != store.Closing {
		return nil
	}
	l.position = e.Position
	l.replay.findings = findings{}
	_ = l.replay.apply(l.replay.last, e) // there is no error
	return l.replay.findings.list()
}

// Position returns the position of the last event of the run that the conversation includes.
func (l *Live) Position() int64 { return l.position }

// Node returns the run.
func (l *Live) Node() *lineage.Node { return l.replay.last }

// Ended reports whether the run has ended.
func (l *Live) Ended() bool { return l.replay.join.Ended() }

// Prelude returns the events with which a client joins the run after Position: JSON texts on
// one line each. The error is ErrTooLarge if a limit was exceeded.
func (l *Live) Prelude() ([][]byte, error) {
	return l.replay.join.Prelude(l.replay.reducer)
}
