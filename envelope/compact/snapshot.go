package compact

import (
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// snapshots is the compaction of ModeSnapshot. It removes the events of messages and of
// the state, and emits what they result in at the end of each run.
type snapshots struct {
	emit   func(data []byte) error
	report func(finding.Finding)
	limits limits
	memory
	options reduce.Options
	reducer *reduce.Reducer // the conversation and the state at this event

	at       envelope.Ref // the last event
	open     bool         // a run has started and has not ended
	started  bool         // a run has started
	run      runID
	runs     map[runID]*ending
	latest   map[string]*ending // of each thread
	base     *ending            // where the run, or the part of the stream before it, begins
	present  []*message         // those at the start of the run
	seeded   bool               // the run, or the part of the stream before it, begins with a request
	unseeded []*message         // those at the start of the run without the request
	shown    ending             // what a client has after the events that were emitted
	kept     int                // bytes of the endings in runs, at most limits.kept
	repeated int64              // bytes at the ends of runs, less what the events permit
	messages messageWindow
	state    stateWindow
	out      []byte // reused
}

// runID identifies a run.
type runID struct{ thread, run string }

// ending is the conversation and the state at the end of a run. It is not changed.
type ending struct {
	messages []*message // nil if the stream does not say that there are none
	state    []byte
}

// messageWindow has what is known of the events about messages since the last end.
type messageWindow struct {
	changed  bool         // there was one
	snapshot bool         // one was a MESSAGES_SNAPSHOT
	metadata metadata     // of the snapshots
	results  []toolResult // those that may belong between older messages
	bytes    int          // counted in snapshots.held
}

// toolResult is a TOOL_CALL_RESULT.
type toolResult struct {
	id   string // of its message
	data []byte
}

// stateWindow has what is known of the events about the state since the last end.
type stateWindow struct {
	changed  bool
	metadata metadata
	bytes    int // counted in snapshots.held
}

func newSnapshots(o Options, emit func(data []byte) error, l limits) *snapshots {
	s := &snapshots{emit: emit, report: o.Report, limits: l, memory: memory{limit: l.held}}
	s.options.Dialect = o.Dialect
	if s.report == nil {
		s.report = func(finding.Finding) {}
	}
	s.reducer = reduce.New(s.options)
	s.base = &ending{state: []byte(emptyState)}
	s.shown = *s.base
	s.runs = make(map[runID]*ending)
	s.latest = make(map[string]*ending)
	return s
}

// emptyState is the state with which a run begins unless its request says otherwise (AG-UI
// 1.1, Run Input, state).
const emptyState = "{}"

func (s *snapshots) seed(request []byte) error {
	for _, f := range s.reducer.Seed(request) {
		s.report(f)
	}
	if s.reducer.Full() {
		return finding.New(finding.CompactionLimit, fullText)
	}
	list := readMessages(strictjson.Value{Kind: strictjson.ArrayStart, Raw: s.reducer.AppendMessages(nil)})
	size := endingBytes
	for _, m := range list {
		size += len(m.text) + messageBytes + referenceBytes
	}
	s.base = &ending{messages: list, state: s.reducer.AppendState(nil)}
	s.present, s.shown.messages, s.seeded = list, list, true
	s.repeated -= repeatFactor * int64(len(request))
	return s.retain(size + len(s.base.state))
}

func (s *snapshots) event(e *envelope.Event) error {
	s.at = e.Ref()
	s.repeated -= repeatFactor * int64(len(e.Data))
	switch e.Type {
	case eventnames.RunStarted:
		return s.start(e)
	case eventnames.RunFinished, eventnames.RunError:
		return s.finish(e)
	case eventnames.StateSnapshot, eventnames.StateDelta:
		return s.addState(e)
	case eventnames.MessagesSnapshot:
		s.messages.snapshot = true
		v, _ := e.Get("metadata")
		if err := s.fold(e, &s.messages.bytes, &s.messages.metadata, v); err != nil {
			return err
		}
		return s.addMessages(e)
	case eventnames.ToolCallResult:
		if err := s.holdResult(e); err != nil {
			return err
		}
		return s.addMessages(e)
	case eventnames.TextMessageStart, eventnames.TextMessageContent, eventnames.TextMessageEnd, eventnames.TextMessageChunk,
		eventnames.ToolCallStart, eventnames.ToolCallArgs, eventnames.ToolCallEnd, eventnames.ToolCallChunk,
		eventnames.ReasoningMessageStart, eventnames.ReasoningMessageContent, eventnames.ReasoningMessageEnd, eventnames.ReasoningMessageChunk,
		eventnames.ThinkingTextMessageStart, eventnames.ThinkingTextMessageContent, eventnames.ThinkingTextMessageEnd,
		eventnames.ReasoningEncryptedValue, eventnames.ActivitySnapshot, eventnames.ActivityDelta:
		return s.addMessages(e)
	case eventnames.ReasoningStart, eventnames.ReasoningEnd, eventnames.ThinkingStart, eventnames.ThinkingEnd:
		// They only bracket reasoning messages. An untagged start would belong to
		// another subagent without the messages before it.
		return s.apply(e)
	}
	// The event may end messages that chunks began.
	if err := s.apply(e); err != nil {
		return err
	}
	return s.emit(e.Data)
}

// apply applies an event to the conversation and the state. Its warnings say what is lost
// in the copy.
func (s *snapshots) apply(e *envelope.Event) error {
	for _, f := range s.reducer.Event(e) {
		s.report(f)
	}
	if s.reducer.Full() {
		return e.Finding(finding.CompactionLimit, fullText)
	}
	return nil
}

const fullText = "the messages, the state or an open stream of chunks exceed a limit; the warning conversation_too_large says which"

func (s *snapshots) addMessages(e *envelope.Event) error {
	s.messages.changed = true
	return s.apply(e)
}

// holdResult keeps a tool result that may belong between messages from before the run. A
// snapshot alone can add messages only behind those that a client has.
func (s *snapshots) holdResult(e *envelope.Event) error {
	id, _ := e.Get("messageId")
	if len(s.present) == 0 || id.Kind != envelope.StringValue {
		return nil
	}
	r := toolResult{data: slices.Clone(e.Data)}
	r.id, _ = id.Text()
	s.messages.results = append(s.messages.results, r)
	return s.hold(e, &s.messages.bytes, len(r.data)+groupBytes)
}

// addState applies a state event.
func (s *snapshots) addState(e *envelope.Event) error {
	w := &s.state
	w.changed = true
	v, _ := e.Get("metadata")
	if err := s.fold(e, &w.bytes, &w.metadata, v); err != nil {
		return err
	}
	return s.apply(e)
}

// start handles RUN_STARTED.
func (s *snapshots) start(e *envelope.Event) error {
	if err := s.close(); err != nil {
		return err
	}
	first := !s.started
	s.started, s.open = true, true
	s.run = runID{e.Text("threadId"), e.Text("runId")}
	base, parent := s.latest[s.run.thread], e.Text("parentRunId")
	if parent != "" {
		s.unseeded = nil
		base = s.runs[runID{s.run.thread, parent}]
	}
	switch {
	case first && (parent == "" || s.seeded):
		base = s.base
	case parent != "" && base == nil:
		v, _ := e.Get("parentRunId")
		s.report(e.FindingAt(v, finding.ParentRunUnknown, "parentRunId %s does not name an earlier run of thread %s",
			finding.Quote(parent), finding.Quote(s.run.thread)).WithPointer("/parentRunId"))
	}
	root := base == nil
	if root {
		base = &ending{state: []byte(emptyState)}
	}
	if base != s.base {
		s.base = base
		if err := s.reducer.Restore(appendMessages(nil, base.messages), base.state); err != nil {
			return err
		}
	}
	if root {
		s.reducer.Exchange()
	}
	data := s.normalizeStart(e)
	if err := s.apply(e); err != nil {
		return err
	}
	return s.emit(data)
}

// normalizeStart returns the text of a RUN_STARTED without the messages of its input
// that the conversation has, and adds the others to it.
func (s *snapshots) normalizeStart(e *envelope.Event) []byte {
	s.present = s.base.messages
	messages := inputMessages(e)
	if messages.Kind == 0 {
		return e.Data
	}
	cuts, differing := historyOf(s.base.messages).normalize(messages)
	for _, m := range differing {
		s.report(e.FindingAt(envelope.Value{Start: m.start}, finding.InputMessageDiffers, differsText, finding.Quote(m.id)).
			WithPointer(finding.Pointer("/input/messages").Index(m.index)))
	}
	s.present = addInput(s.present, messages)
	if s.seeded {
		// Messages that only the request has, which the copy does not contain, stay.
		cuts, _ = historyOf(s.unseeded).normalize(messages)
		s.unseeded = addInput(s.unseeded, messages)
	}
	if len(cuts) == 0 {
		return e.Data
	}
	return remove(e.Data, cuts)
}

// finish handles RUN_FINISHED and RUN_ERROR.
func (s *snapshots) finish(e *envelope.Event) error {
	var pending []string
	if s.open {
		pending = s.reducer.PendingToolCalls()
	}
	if err := s.apply(e); err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return err
	}
	s.open = false
	return s.emit(withPending(e, pending))
}

func (s *snapshots) end() error { return s.close() }
