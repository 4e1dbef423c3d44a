package compact

import (
	"bytes"
	"container/heap"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/internal/jsonpatch"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
)

// grouper is the compaction of ModeStream and ModeClient. It collects the events of
// each text message and each tool call in a group, and emits the group when the
// message or call ends.
type grouper struct {
	client bool
	emit   func(data []byte) error
	report func(finding.Finding)
	limits limits
	memory
	ended int // the runs that ended; counted only in ModeClient
	texts family
	calls family
	state window // only in ModeClient
	// document is the state of the window. There is one for all windows, because it
	// limits the work of all patches together.
	document jsonpatch.Document
	out      []byte // reused
	spare    []byte // the memory of the deltas of a group that was emitted, for one that is alone
}

func newGrouper(o Options, emit func(data []byte) error, l limits) *grouper {
	return &grouper{
		client: o.Mode == ModeClient, emit: emit, report: o.Report, limits: l, memory: memory{limit: l.held},
		texts: family{id: "messageId", content: eventnames.TextMessageContent},
		calls: family{id: "toolCallId", content: eventnames.ToolCallArgs},
	}
}

// family has the open groups of text messages or of tool calls.
type family struct {
	id      string // the name of the member with the id
	content string // the type of the event with a delta
	open    map[string]*group
	started groupHeap // those with a start
	begun   int       // groups so far
}

// group is a text message or a tool call that has not ended.
type group struct {
	key    string // of the id
	order  int    // the index of the group in its family
	heaped int    // the index in family.started
	run    int    // the value of grouper.ended
	at     envelope.Ref

	start []byte // the last start event, or nil
	// replace reports that start is emitted with the metadata in carried instead of
	// its own.
	replace bool
	carried metadata
	// content is the event with all deltas up to the end of their text, after the
	// blocks in full. It is nil if there is no delta.
	content []byte
	full    [][]byte
	late    metadata // of content
	behind  events   // emitted after the end
	bytes   int      // counted in grouper.held
}

func (g *grouper) event(e *envelope.Event) error {
	switch e.Type {
	case eventnames.TextMessageStart:
		return g.start(&g.texts, e)
	case eventnames.TextMessageContent:
		return g.delta(&g.texts, e)
	case eventnames.TextMessageEnd:
		return g.finish(&g.texts, e)
	case eventnames.ToolCallStart:
		return g.start(&g.calls, e)
	case eventnames.ToolCallArgs:
		return g.delta(&g.calls, e)
	case eventnames.ToolCallEnd:
		return g.finish(&g.calls, e)
	}
	if g.client {
		switch e.Type {
		case eventnames.RunStarted, eventnames.RunFinished, eventnames.RunError:
			if err := g.flushState(); err != nil {
				return err
			}
			if e.Type != eventnames.RunStarted {
				g.ended++
			}
			return g.emit(e.Data)
		case eventnames.StateSnapshot, eventnames.StateDelta:
			return g.addState(e)
		}
	}
	to := g.firstStarted()
	if to == nil {
		return g.emit(e.Data)
	}
	before := to.behind.bytes()
	to.behind.add(e.Data)
	return g.hold(e, &to.bytes, to.behind.bytes()-before)
}

// firstStarted returns the group behind which events of other kinds wait: of the
// messages that have a start, or else of the calls, the one that was created first.
func (g *grouper) firstStarted() *group {
	switch {
	case len(g.texts.started) > 0:
		return g.texts.started[0]
	case len(g.calls.started) > 0:
		return g.calls.started[0]
	}
	return nil
}

// find returns the group of the event's id. If there is none, find creates it.
func (g *grouper) find(f *family, e *envelope.Event) (*group, error) {
	id, _ := e.Get(f.id)
	if plain(id) {
		if found := f.open[string(id.Raw)]; found != nil {
			return found, nil
		}
	}
	key := keyOf(id, f.begun)
	found := f.open[key]
	if found != nil {
		return found, nil
	}
	found = &group{key: key, order: f.begun, heaped: -1, run: g.ended, at: e.Ref()}
	f.begun++
	if f.open == nil {
		f.open = make(map[string]*group)
	}
	f.open[key] = found
	return found, g.hold(e, &found.bytes, len(key)+groupBytes)
}

func (g *grouper) start(f *family, e *envelope.Event) error {
	to, err := g.find(f, e)
	if err != nil {
		return err
	}
	if to.heaped < 0 {
		heap.Push(&f.started, to)
	}
	if g.client {
		if err := g.startMetadata(to, e); err != nil {
			return err
		}
	}
	before := len(to.start)
	to.start = bytes.Clone(e.Data) // without the memory of a longer start
	return g.hold(e, &to.bytes, len(to.start)-before)
}

// startMetadata folds the metadata of a start event. That of a start before the first
// delta belongs to the start, and that of a later start to the deltas.
func (g *grouper) startMetadata(to *group, e *envelope.Event) error {
	v, _ := e.Get("metadata")
	switch {
	case to.content != nil:
		to.replace = true
		return g.fold(e, &to.bytes, &to.late, v)
	case to.start == nil:
		return g.keep(e, &to.bytes, &to.carried, v)
	}
	to.replace = true
	return g.fold(e, &to.bytes, &to.carried, v)
}

func (g *grouper) delta(f *family, e *envelope.Event) error {
	to, err := g.find(f, e)
	if err != nil {
		return err
	}
	v, _ := e.Get("delta")
	before := len(to.content)
	switch {
	case to.content == nil:
		id, _ := e.Get(f.id)
		if len(g.texts.open)+len(g.calls.open) == 1 { // else several groups could keep long memory
			to.content, g.spare = g.spare[:0], nil
		}
		to.content = appendContent(to.content, f, id)
	case before+len(v.Raw) > blockBytes:
		to.full = append(to.full, to.content)
		to.content, before = make([]byte, 0, max(blockBytes, len(v.Raw))), 0
	}
	to.content = appendDelta(to.content, v)
	if g.client {
		v, _ := e.Get("metadata")
		if err := g.fold(e, &to.bytes, &to.late, v); err != nil {
			return err
		}
	}
	return g.hold(e, &to.bytes, len(to.content)-before)
}

// appendContent appends the beginning of the event with the deltas of a group.
func appendContent(dst []byte, f *family, id envelope.Value) []byte {
	dst = append(append(dst, `{"type":"`...), f.content...)
	if id.Kind != 0 {
		dst = append(append(dst, `","`...), f.id...)
		dst = append(append(dst, `":`...), id.Raw...)
		return append(dst, `,"delta":"`...)
	}
	return append(dst, `","delta":"`...)
}

// finish ends the group of the event, and emits it.
func (g *grouper) finish(f *family, e *envelope.Event) error {
	done, err := g.find(f, e)
	if err != nil {
		return err
	}
	delete(f.open, done.key)
	if done.heaped >= 0 {
		heap.Remove(&f.started, done.heaped)
	}
	return g.flush(done, e.Data)
}

// flush emits a group. The end event is nil if the stream ended before it.
func (g *grouper) flush(done *group, end []byte) error {
	if done.run != g.ended && g.report != nil {
		g.report(findingAt(done.at, finding.WrittenAfterRun, "this message or tool call is open at the end of its run, so the copy has it after that end"))
	}
	if err := g.flushStart(done); err != nil {
		return err
	}
	if done.content != nil {
		if err := g.emitMade(done.at, g.join(done)); err != nil {
			return err
		}
	}
	if end != nil {
		if err := g.emit(end); err != nil {
			return err
		}
	}
	if err := done.behind.each(g.emit); err != nil {
		return err
	}
	if g.held -= done.bytes; cap(done.content) > cap(g.spare) && cap(done.content) <= blockBytes {
		g.spare = done.content
	}
	return nil
}

// join returns the event with the deltas of a group.
func (g *grouper) join(done *group) []byte {
	g.out = append(g.out[:0], '"')
	if done.late.present {
		g.out = done.late.append(append(g.out, `,"metadata":`...))
	}
	g.out = append(g.out, '}')
	if done.full == nil {
		done.content = append(done.content, g.out...)
		return done.content
	}
	return bytes.Join(append(done.full, done.content, g.out), nil)
}

// flushStart emits the start event of a group, if it has one.
func (g *grouper) flushStart(done *group) error {
	switch {
	case done.start == nil:
		return nil
	case !done.replace:
		return g.emit(done.start)
	}
	e, err := envelope.ReadEvent(done.start)
	if err != nil {
		return err
	}
	g.out = append(g.out[:0], '{')
	for m := range e.All {
		if name, _ := m.Name.Text(); name != "metadata" {
			g.out = append(append(append(g.out, m.Name.Raw...), ':'), m.Value.Raw...)
			g.out = append(g.out, ',')
		}
	}
	if done.carried.present {
		g.out = append(g.out, `"metadata":`...)
		g.out = append(done.carried.append(g.out), ',')
	}
	g.out[len(g.out)-1] = '}'
	return g.emitMade(done.at, g.out)
}

func (g *grouper) end() error {
	for _, f := range []*family{&g.texts, &g.calls} {
		rest := make(groupHeap, 0, len(f.open))
		for _, open := range f.open {
			rest = append(rest, open)
		}
		for heap.Init(&rest); len(rest) > 0; {
			if err := g.flush(heap.Pop(&rest).(*group), nil); err != nil {
				return err
			}
		}
	}
	return g.flushState()
}

// emitMade emits an event that replaces several events. The place is that of the first.
func (g *grouper) emitMade(at envelope.Ref, data []byte) error {
	if len(data) > g.limits.event {
		return findingAt(at, finding.CompactionLimit, "the event that is made from this one and later ones is longer than %d bytes", g.limits.event)
	}
	return g.emit(data)
}

// findingAt returns a finding with a place.
func findingAt(at envelope.Ref, code finding.Code, format string, args ...any) finding.Finding {
	return at.Annotate(finding.New(code, format, args...))
}

// events are the JSON texts of events that wait.
type events struct {
	full  []block
	last  block
	count int // the memory that is counted
}

// block is a part of the events.
type block struct {
	data []byte
	ends []int
}

func (w *events) add(data []byte) {
	b := &w.last
	if n := len(b.data) + len(data); n > blockBytes && b.data != nil {
		w.full = append(w.full, *b)
		*b = block{data: make([]byte, 0, max(blockBytes, len(data)))}
	}
	b.data = append(b.data, data...)
	b.ends = append(b.ends, len(b.data))
	w.count += len(data) + eventBytes
}

// bytes returns the memory that is counted for the events.
func (w *events) bytes() int { return w.count }

func (w *events) each(emit func(data []byte) error) error {
	for _, b := range append(w.full, w.last) {
		from := 0
		for _, end := range b.ends {
			if err := emit(b.data[from:end]); err != nil {
				return err
			}
			from = end
		}
	}
	return nil
}

// groupHeap is a heap of groups. The first is the one that was created first.
type groupHeap []*group

func (h groupHeap) Len() int           { return len(h) }
func (h groupHeap) Less(i, j int) bool { return h[i].order < h[j].order }
func (h groupHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heaped, h[j].heaped = i, j
}

func (h *groupHeap) Push(x any) {
	added := x.(*group)
	added.heaped = len(*h)
	*h = append(*h, added)
}

func (h *groupHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	x.heaped = -1
	return x
}
