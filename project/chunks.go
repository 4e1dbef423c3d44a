package project

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// The rules are those of AG-UI 1.0, chunk expansion: each subagent, and the run
// itself, is a lane with at most one open chunk stream.

// chunk handles TEXT_MESSAGE_CHUNK. A chunk with an id begins or continues that
// message. A chunk without an id continues the open stream of its subagent or,
// if it names no subagent, of the run. If the run has no open stream, the chunk
// continues the only open stream of a subagent.
func (f *fold) chunk(e *envelope.Event, k *eventKeys, tagged bool) {
	m := f.current
	if k.id >= 0 && e.At(k.id).Kind != strictjson.Null {
		own := false
		if m, own = f.ownMessage(e, k, tagged); !own {
			f.openLane(e, tagged)
			return
		}
	} else {
		switch {
		case f.full, tagged && f.lanes[string(f.tag)], !tagged && m == nil && len(f.lanes) == 1:
			return // a subagent's message, recorded when it began
		case tagged || m == nil:
			f.refuse(origin{event: e}, finding.TextNotOpen, "the chunk has no messageId, and no single message is open")
			return
		}
	}
	if m = f.start(e, m); m == nil {
		return
	}
	f.current = m
	f.delta(m, e, k, false)
	f.omitOtherKeys(e, k)
}

// openLane marks a subagent's chunk stream as open.
func (f *fold) openLane(e *envelope.Event, tagged bool) {
	if tagged && !f.lanes[string(f.tag)] && f.reserve(e, "", len(f.tag)+entryBytes) {
		if f.lanes == nil {
			f.lanes = make(map[string]bool)
		}
		f.lanes[string(f.tag)] = true
	}
}

func (f *fold) closeLane(tagged bool) {
	switch {
	case !tagged:
		f.current = nil
	case len(f.lanes) > 0:
		delete(f.lanes, string(f.tag))
	}
}

// closeLanes closes the chunk streams that an event of another type ends. The end of a
// subagent that is not named ends the stream of the run.
func (f *fold) closeLanes(ends chunk.Ends, tagged bool) {
	switch ends {
	case chunk.EndsAll:
		f.current = nil
		clear(f.lanes)
	case chunk.EndsLane, chunk.EndsSubagent:
		f.closeLane(tagged)
	}
}
