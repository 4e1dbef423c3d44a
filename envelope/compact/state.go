package compact

import (
	"errors"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/internal/jsonpatch"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// window has the state events since the last event that began or ended a run.
type window struct {
	at       envelope.Ref // of the first
	deltas   events       // before the first snapshot
	snapshot bool         // a snapshot was seen
	value    []byte       // the value of the last snapshot, until a delta follows it
	applied  bool         // a delta followed the last snapshot; grouper.document is the state
	metadata metadata     // of all events
	bytes    int          // counted in grouper.held
}

// addState adds a state event to the window. A snapshot replaces the events before it,
// except their metadata, and the deltas after it are applied to it.
func (g *grouper) addState(e *envelope.Event) error {
	w := &g.state
	if !w.snapshot && w.deltas.bytes() == 0 {
		w.at = e.Ref()
	}
	meta, _ := e.Get("metadata")
	if err := g.fold(e, &w.bytes, &w.metadata, meta); err != nil {
		return err
	}
	before := w.waiting()
	switch {
	case e.Type == eventnames.StateSnapshot:
		value, _ := e.Get("snapshot")
		w.snapshot, w.applied, w.deltas = true, false, events{}
		w.value = append(w.value[:0], value.Raw...)
	case w.snapshot:
		if err := g.apply(e); err != nil {
			return err
		}
	default:
		w.deltas.add(e.Data)
	}
	return g.hold(e, &w.bytes, w.waiting()-before)
}

// waiting returns the number of bytes of events and of a value that wait.
func (w *window) waiting() int { return w.deltas.bytes() + len(w.value) }

// apply applies a delta to the last snapshot. As in the client, a delta that cannot be
// applied is ignored. The client gets deltas without operations that JSON Patch does not
// define, so they are left out.
func (g *grouper) apply(e *envelope.Event) error {
	if w := &g.state; !w.applied {
		snapshot, err := value(w.value)
		if err == nil {
			err = g.document.Reset(snapshot)
		}
		if err != nil {
			return e.Finding(finding.CompactionLimit, "the state: %v", err)
		}
		w.value, w.applied = nil, true
	}
	delta, _ := e.Get("delta")
	var unknown reduce.UnknownOperations
	err := g.document.Apply(delta, jsonpatch.Client, unknown.Add)
	if unknown.Any() && g.report != nil {
		g.report(unknown.Finding(e, "/delta", delta))
	}
	if failed, ok := errors.AsType[*jsonpatch.Error](err); ok && failed.Limit {
		return e.FindingAt(delta, finding.CompactionLimit, "the state: %v", err).WithPointer("/delta")
	}
	if err != nil && g.report != nil {
		g.report(e.FindingAt(delta, finding.PatchFailed, "%s is ignored: %v", e.Type, err).WithPointer("/delta"))
	}
	return nil
}

// value reads a JSON text, or nothing.
func value(text []byte) (envelope.Value, error) {
	if len(text) == 0 {
		return envelope.Value{}, nil
	}
	return strictjson.ReadText(new(envelope.Object), new(strictjson.Decoder), text)
}

// flushState emits the events of the window: one snapshot with the state at its end, or
// the deltas if there is no snapshot.
func (g *grouper) flushState() error {
	w := g.state
	g.state = window{}
	g.held -= w.bytes
	if !w.snapshot {
		return w.deltas.each(g.emit)
	}
	g.out = append(g.out[:0], `{"type":"STATE_SNAPSHOT"`...)
	switch {
	case !w.applied && len(w.value) > 0:
		g.out = append(append(g.out, `,"snapshot":`...), w.value...)
	case w.applied && !g.document.Missing():
		g.out = g.document.Append(append(g.out, `,"snapshot":`...))
	}
	if w.metadata.present {
		g.out = w.metadata.append(append(g.out, `,"metadata":`...))
	}
	return g.emitMade(w.at, append(g.out, '}'))
}
