package restore

import (
	"bytes"
	"context"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event/names"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
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
// of a long thread.
type outline struct {
	thread   *Thread
	path     []*lineage.Node
	reducer  *reduce.Reducer
	reader   *envelope.Reader
	started  *envelope.Event // RUN_STARTED without members
	runs     []int           // the index in path of the run with each number of the Reducer
	streamed map[string]bool // the ids of messages that events other than snapshots created
	bytes    int             // of the requests that were read
	last     map[int]string  // the id of the last message of requests, by the number of the run
}

// outlined are the types of the events of an outline, without those of reasoning.
func outlined() []string {
	return []string{
		names.TextMessageStart, names.TextMessageChunk, names.ToolCallStart, names.ToolCallChunk, names.ToolCallResult,
		names.ReasoningMessageStart, names.ReasoningMessageChunk,
		names.ActivitySnapshot, names.ActivityDelta, names.MessagesSnapshot,
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
		runs: []int{0}, streamed: make(map[string]bool), last: make(map[int]string),
	}
	var err error
	if o.started, err = envelope.ReadEvent([]byte(`{"type":"` + names.RunStarted + `"}`)); err != nil {
		return nil, err
	}
	request, err := o.request(ctx, 0)
	if err != nil {
		return nil, err
	}
	if request != nil {
		o.reducer.Seed(request)
	} else {
		o.begin(0)
	}
	types := outlined()
	if reasoning {
		types = append(types, names.ReasoningMessageContent, names.ReasoningMessageEnd, names.ReasoningEncryptedValue)
	}
	return o, o.read(ctx, to, types)
}

// read reads the events of the runs.
func (o *outline) read(ctx context.Context, to int64, types []string) error {
	t, at := o.thread, 0
	index := make(map[int64]int, len(o.path))
	for i, n := range o.path {
		index[t.runs[n.Index].Start] = i
	}
	for e, err := range t.log.Events(ctx, t.Key, t.runs[o.path[0].Index].Start-1, to, types) {
		if err != nil {
			return err
		}
		i, ok := index[e.Run]
		if !ok || i < at || i+1 < len(o.path) && e.Position >= t.runs[o.path[i+1].Index].Start {
			continue // of another branch, or after its run was continued
		}
		for ; at < i; at++ {
			o.begin(at + 1)
		}
		if ev, err := o.reader.Read(e.Data); err == nil {
			o.event(ev)
		}
	}
	for ; at < len(o.path)-1; at++ {
		o.begin(at + 1)
	}
	return nil
}

// begin begins a run that may have a request, and so messages that are not known.
func (o *outline) begin(i int) {
	r := &o.thread.runs[o.path[i].Index]
	if i > 0 && r.Input == 0 && r.Stream == o.thread.runs[o.path[i-1].Index].Stream {
		return
	}
	o.runs = append(o.runs, i)
	o.reducer.Event(o.started)
}

func (o *outline) event(e *envelope.Event) {
	switch e.Type {
	case names.TextMessageStart, names.TextMessageChunk, names.ToolCallResult:
		id, _ := e.Get("messageId")
		if id.Kind == envelope.StringValue {
			s, _ := id.Text()
			o.streamed[s] = true
		}
	}
	o.reducer.Event(e)
}

// request returns the request of a run, or nil if it says nothing or is too large.
func (o *outline) request(ctx context.Context, i int) ([]byte, error) {
	r := &o.thread.runs[o.path[i].Index]
	if r.Input == 0 || o.bytes > maxRequests {
		return nil, nil
	}
	for e, err := range o.thread.log.Read(ctx, o.thread.Key, r.Input-1) {
		if err != nil {
			return nil, err
		}
		o.bytes += len(e.Data)
		if isObject(e.Data) {
			return bytes.Clone(e.Data), nil
		}
		break
	}
	return nil, nil
}
