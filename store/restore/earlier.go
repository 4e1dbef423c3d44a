package restore

import (
	"bytes"
	"context"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/store"
)

const (
	// maxEarlier limits the events of earlier runs that count: the last ones, up to this
	// size.
	maxEarlier = 32 << 20
	// maxRequests limits the size of the requests of earlier runs that are read.
	maxRequests = 16 << 20
)

// outline has the events of earlier runs that create, remove and move messages. The requests
// of these runs are not read, because each has the whole conversation: they would be the most
// of a long thread. So it lacks the messages that only requests have.
type outline struct {
	thread   *Thread
	path     []*lineage.Node
	reducer  *reduce.Reducer
	reader   *envelope.Reader
	begun    []int           // how many requests there were before, by reduce.Message.Run
	asked    []int           // the index in path of the run of each of these requests
	streamed map[string]bool // the ids of messages that events other than snapshots created
	to       int64           // the last position that counts
	snapshot int64           // the position of the last MESSAGES_SNAPSHOT, or 0
	bytes    int             // of the requests that were read
	latest   *full           // that snapshot, once it is needed
	request  int             // the last of the requests that was read, from 1
	last     int             // the place of its last message: see placer.lastOf
}

// outlined are the types of the events that an outline needs if it need not have the texts of
// reasoning.
func outlined() []string {
	return []string{
		eventnames.RunStarted, eventnames.TextMessageStart, eventnames.TextMessageChunk, eventnames.ToolCallStart, eventnames.ToolCallChunk, eventnames.ToolCallResult,
		eventnames.ReasoningMessageStart, eventnames.ReasoningMessageChunk,
		eventnames.ActivitySnapshot, eventnames.ActivityDelta, eventnames.MessagesSnapshot,
	}
}

// outline reads the outline of runs that continue each other, as far as a position. With
// reasoning, it has the texts of reasoning too.
func (t *Thread) outline(ctx context.Context, path []*lineage.Node, to int64, reasoning bool) (*outline, error) {
	size, first := int64(0), len(path)-1
	for ; first > 0; first-- {
		if size += t.runs[path[first].Index].Bytes; size > maxEarlier {
			break
		}
	}
	o := &outline{
		thread: t, path: path[first:], reducer: reduce.New(reduce.Options{Dialect: t.options.Dialect}), reader: envelope.NewReader(),
		begun: []int{0}, streamed: make(map[string]bool), to: to,
	}
	request, err := o.readRequest(ctx, 0)
	if err != nil {
		return nil, err
	}
	if request != nil {
		o.reducer.Seed(request)
	} else {
		o.asked = []int{0}
	}
	types := outlined()
	if reasoning {
		start := t.runs[o.path[0].Index].Start
		for _, err := range t.log.Select(ctx, t.Key, store.Events(start, to, eventnames.ReasoningMessageStart, eventnames.ReasoningMessageChunk)) {
			if err != nil {
				return nil, err
			}
			types = nil // all, because other events end chunks
			break
		}
	}
	return o, o.read(ctx, types)
}

// read reads the events of the runs.
func (o *outline) read(ctx context.Context, types []string) error {
	t, at := o.thread, 0
	index := make(map[int64]int, len(o.path))
	for i, n := range o.path {
		index[t.runs[n.Index].Start] = i
	}
	for e, err := range t.log.Select(ctx, t.Key, store.Events(t.runs[o.path[0].Index].Start-1, o.to, types...)) {
		if err != nil {
			return err
		}
		i, ok := index[e.Run]
		if !ok || i < at {
			continue // of another branch, or after the run was continued
		}
		at = i
		if ev, err := o.reader.Read(e.Data); err == nil {
			o.event(i, ev)
			if ev.Type == eventnames.MessagesSnapshot {
				o.snapshot = e.Position
			}
		}
	}
	return nil
}

// event applies an event of a run.
func (o *outline) event(i int, e *envelope.Event) {
	switch e.Type {
	case eventnames.ThinkingTextMessageStart, eventnames.ThinkingTextMessageContent, eventnames.ThinkingTextMessageEnd:
		return // each client has another id for their message
	case eventnames.RunStarted:
		r := &o.thread.runs[o.path[i].Index]
		if i > 0 && (r.Input != 0 || r.Stream != o.thread.runs[o.path[i-1].Index].Stream) {
			o.asked = append(o.asked, i)
		}
		o.begun = append(o.begun, len(o.asked))
	case eventnames.TextMessageStart, eventnames.TextMessageChunk, eventnames.ToolCallResult:
		id, _ := e.Get("messageId")
		if id.Kind == envelope.StringValue {
			s, _ := id.Text()
			o.streamed[s] = true
		}
	}
	o.reducer.Event(e)
}

// readRequest returns the request of a run, or nil if it says nothing or is too large.
func (o *outline) readRequest(ctx context.Context, i int) ([]byte, error) {
	r := &o.thread.runs[o.path[i].Index]
	if r.Input == 0 || o.bytes > maxRequests {
		return nil, nil
	}
	for e, err := range o.thread.log.Select(ctx, o.thread.Key, store.At(r.Input)) {
		if err != nil {
			return nil, err
		}
		o.bytes += len(e.Data)
		if isObject(e.Data) {
			return bytes.Clone(e.Data), nil
		}
	}
	return nil, nil
}
