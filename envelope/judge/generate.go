package judge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Feature is a set of what generated streams may contain.
type Feature uint64

// These features are in generated streams unless Generator.Without has them.
const (
	Chunks         Feature = 1 << iota // *_CHUNK events
	Tools                              // tool calls and their results
	Reasoning                          // REASONING_*
	Activities                         // ACTIVITY_*
	State                              // STATE_*
	Snapshots                          // MESSAGES_SNAPSHOT
	Steps                              // STEP_*
	Subagents                          // SUBAGENT_* and subagentRunId
	Metadata                           // metadata of events
	FailingPatches                     // patches that cannot be applied
	Surrogates                         // lone surrogates, and pairs split between events
	Numbers                            // numbers that binary64 cannot hold, and odd spellings
	Interleaving                       // several messages and calls open at a time
	Reopening                          // ids used again after their end
	Collisions                         // one id for messages of several kinds, and empty ids
	MoreRuns                           // more than one run
	Failures                           // RUN_ERROR
	OpenEnds                           // messages and calls open at RUN_ERROR, and streams without a terminal event
	Inputs                             // the input of RUN_STARTED
	OtherOwners                        // events that name another subagent than the message does, or none when they begin it
)

// These features are outside AG-UI 1.0 or differ between readers; they are in generated
// streams only if Generator.With has them.
const (
	UnknownTypes      Feature = 1 << (32 + iota) // events of unknown types
	ExtraKeys                                    // unknown keys of events and messages
	Legacy                                       // THINKING_* events, binary parts, and null in optional fields, as in 0.x
	OddPatches                                   // patches on which the client and RFC 6902 differ
	UnknownOperations                            // operations of patches that JSON Patch does not define
	UnknownKinds                                 // messages with unknown roles, and content parts of unknown types
	EncryptedTypes                               // encryptedValueType, which AG-UI 1.1 added
)

// Generator says what Generate generates. The zero value stands for streams of 5 to 60
// events of AG-UI 1.0 that keep the sequence rules.
type Generator struct {
	Events  int // the number of events to aim at; 0 is a random number
	Without Feature
	With    Feature
}

func (g Generator) has(f Feature) bool {
	if f >= UnknownTypes {
		return g.With&f != 0
	}
	return g.Without&f == 0
}

// Generate returns a random stream of events, which depends on r and g alone. The stream
// keeps the sequence rules of the client, and its events follow the schema of AG-UI 1.0
// apart from what g.With asks for.
func Generate(r *rand.Rand, g Generator) []string {
	s := &stream{r: r, g: g, messages: map[string]string{}}
	n := g.Events
	if n == 0 {
		n = 5 + r.IntN(56)
	}
	s.runs(n)
	return s.events
}

// owner is the subagent that something belongs to. The zero value is the parent agent.
type owner struct {
	tagged bool
	id     string
}

// kind is a kind of entity that is opened and closed.
type kind int

const (
	text kind = iota
	tool
	reasoning
	span
)

// lane is a stream of chunks that is open.
type lane struct {
	owner owner
	kind  kind
	id    string
	given fields // what later chunks may repeat
}

type step struct {
	owner owner
	name  string
}

// stream is a stream as far as it has been generated.
type stream struct {
	r      *rand.Rand
	g      Generator
	events []string

	// The run's, as the client's verification sees it.
	open     [4][]string // ids by kind, without those of lanes
	owners   [4]map[string]owner
	lanes    []lane
	earlier  []lane // lanes that THINKING_* ended for this generator, and are open in the client
	steps    []step
	active   []string // subagents
	closed   []string
	thinking int // 1 in a span of THINKING_*, 2 in a message

	// The conversation's.
	before     [4]map[string]owner // of messages and calls, as their members or their messages say
	messages   map[string]string   // roles by id
	ids        []string            // of messages, in order
	calls      []string            // ids of tool calls
	state      any
	contents   map[string]any // of activities
	activities []string
	runID      int
	names      int
}

// buckets of owners: spans and reasoning messages share one, and activities have the last.
const activity = span

func (s *stream) bucket(k kind) map[string]owner {
	if k == span {
		k = reasoning
	}
	return s.owners[k]
}

// chance reports true n times in a hundred.
func (s *stream) chance(n int) bool { return s.r.IntN(100) < n }

// may reports whether a feature is wanted, and n times in a hundred reports true.
func (s *stream) may(f Feature, n int) bool { return s.g.has(f) && s.chance(n) }

func pick[T any](s *stream, from []T) T { return from[s.r.IntN(len(from))] }

func (s *stream) runs(n int) {
	if s.may(Failures, 3) {
		s.emit("RUN_ERROR", owner{}, fields{"message", s.text()})
		if s.chance(50) {
			return
		}
	}
	for {
		part := n
		if s.g.has(MoreRuns) {
			part = 1 + s.r.IntN(n)
		}
		s.start()
		for range part - 2 {
			s.act()
		}
		n -= part
		more := s.g.has(MoreRuns) && n > 2
		if !more && s.may(OpenEnds, 8) {
			return
		}
		s.end()
		if !more {
			return
		}
	}
}

// start starts a run.
func (s *stream) start() {
	for k := range s.open {
		s.open[k] = nil
		if s.before[k] == nil {
			s.before[k] = map[string]owner{}
		}
		maps.Copy(s.before[k], s.owners[k])
		s.owners[k] = map[string]owner{}
	}
	s.lanes, s.earlier, s.steps, s.active, s.closed, s.thinking = nil, nil, nil, nil, nil, 0
	if s.chance(90) {
		s.runID++
	}
	f := fields{"threadId", `"t"`, "runId", quote("run" + strconv.Itoa(s.runID))}
	if s.chance(20) {
		f = f.add("protocolVersion", pick(s, []string{`"1.0"`, `"1.0"`, `"0.9"`, `"1.7"`}))
	}
	if s.runID > 1 && s.chance(30) {
		f = f.add("parentRunId", quote("run"+strconv.Itoa(1+s.r.IntN(s.runID))))
	}
	if s.may(Inputs, 40) {
		f = f.add("input", s.input())
	}
	s.emit("RUN_STARTED", owner{}, f)
}

// end ends the run.
func (s *stream) end() {
	failed := s.may(Failures, 20)
	if !failed || !s.g.has(OpenEnds) || s.chance(40) {
		s.settle()
	}
	if failed {
		s.emit("RUN_ERROR", owner{}, s.failure())
		return
	}
	f := fields{"threadId", `"t"`, "runId", quote("run" + strconv.Itoa(s.runID))}
	switch s.r.IntN(8) {
	case 0:
		f = f.add("outcome", `{"type":"success"}`)
	case 1:
		f = f.add("outcome", `{"type":"success","pendingToolCallIds":[`+s.optional(s.calls)+`]}`)
	case 2:
		f = f.add("outcome", `{"type":"interrupt","interrupts":[`+s.interrupt()+`]}`)
	case 3:
		f = f.add("outcome", `{"type":"cancelled"}`)
	case 4:
		if s.g.has(Legacy) {
			f = f.add("outcome", "null").add("result", "null")
		}
	}
	if s.chance(15) && !f.has("result") {
		f = f.add("result", s.notNull())
	}
	if s.chance(15) {
		f = f.add("usage", s.usage())
	}
	s.emit("RUN_FINISHED", owner{}, f)
	if s.may(Failures, 5) {
		s.emit("RUN_ERROR", owner{}, s.failure())
	}
}

func (s *stream) failure() fields {
	f := fields{"message", s.text()}
	if s.chance(30) {
		f = f.add("code", s.text())
	}
	if s.chance(10) {
		f = f.add("usage", s.usage())
	}
	return f
}

// settle closes everything that is open, in random order.
func (s *stream) settle() {
	for s.thinking > 0 {
		s.think(true)
	}
	var closers []func()
	for k := range s.open {
		for _, id := range s.open[k] {
			closers = append(closers, func() { s.close(kind(k), id) })
		}
	}
	for _, st := range s.steps {
		closers = append(closers, func() { s.finishStep(st) })
	}
	for _, id := range s.active {
		closers = append(closers, func() { s.finishSubagent(id) })
	}
	s.r.Shuffle(len(closers), func(i, j int) { closers[i], closers[j] = closers[j], closers[i] })
	for _, c := range closers {
		c()
	}
}

// act emits one event, or several.
func (s *stream) act() {
	type action struct {
		feature Feature
		weight  int
		do      func()
	}
	actions := []action{
		{0, 5, func() { s.openEntity(text) }},
		{0, 16, func() { s.grow(text) }},
		{0, 4, func() { s.closeAny(text) }},
		{Tools, 4, func() { s.openEntity(tool) }},
		{Tools, 8, func() { s.grow(tool) }},
		{Tools, 4, func() { s.closeAny(tool) }},
		{Tools, 4, s.result},
		{Reasoning, 2, func() { s.openEntity(reasoning) }},
		{Reasoning, 5, func() { s.grow(reasoning) }},
		{Reasoning, 2, func() { s.closeAny(reasoning) }},
		{Reasoning, 1, func() { s.openEntity(span) }},
		{Reasoning, 1, func() { s.closeAny(span) }},
		{Reasoning, 1, s.encrypted},
		{Chunks, 14, s.chunk},
		{Activities, 4, s.activity},
		{Activities, 4, s.activityDelta},
		{State, 3, s.stateSnapshot},
		{State, 7, s.stateDelta},
		{Snapshots, 2, s.snapshot},
		{Steps, 2, s.startStep},
		{Steps, 2, func() {
			if len(s.steps) > 0 {
				s.finishStep(pick(s, s.steps))
			}
		}},
		{Subagents, 2, s.startSubagent},
		{Subagents, 1, func() {
			if len(s.active) > 0 {
				s.finishSubagent(pick(s, s.active))
			}
		}},
		{0, 2, func() { s.emit("CUSTOM", s.anyOwner(), fields{"name", s.text(), "value", s.value(3)}) }},
		{0, 1, func() {
			f := fields{"event", s.value(3)}
			if s.chance(30) {
				f = f.add("source", s.text())
			}
			s.emit("RAW", s.anyOwner(), f)
		}},
		{UnknownTypes, 3, func() {
			s.emit(pick(s, []string{"META", "FUTURE_EVENT", "text_message_start"}), owner{}, fields{"metaType", s.text(), "payload", s.value(3)})
		}},
		{Legacy, 6, func() { s.think(false) }},
	}
	total := 0
	for _, a := range actions {
		if a.feature == 0 || s.g.has(a.feature) {
			total += a.weight
		}
	}
	n := s.r.IntN(total)
	for _, a := range actions {
		if a.feature != 0 && !s.g.has(a.feature) {
			continue
		}
		if n -= a.weight; n < 0 {
			a.do()
			return
		}
	}
}

// fields are the keys and JSON values of an object, alternating.
type fields []string

func (f fields) add(key, value string) fields { return append(f, key, value) }

func (f fields) has(key string) bool {
	for i := 0; i < len(f); i += 2 {
		if f[i] == key {
			return true
		}
	}
	return false
}

func (f fields) object() string {
	var b strings.Builder
	for i := 0; i < len(f); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(f[i]) + ":" + f[i+1])
	}
	return "{" + b.String() + "}"
}

func quote(s string) string { return fmt.Sprintf("%+q", s) } // for ids, which are plain ASCII

// emit adds an event.
func (s *stream) emit(name string, o owner, f fields) {
	event := append(fields{"type", quote(name)}, f...)
	if o.tagged {
		event = event.add("subagentRunId", quote(o.id))
	}
	if s.chance(25) {
		event = event.add("timestamp", pick(s, []string{"1767225600000", "0", "-1", "9007199254740991", strconv.Itoa(s.r.IntN(1_000_000_000))}))
	}
	chunk := strings.HasSuffix(name, "_CHUNK")
	switch {
	case s.chance(6):
		event = event.add("rawEvent", s.notNull())
	case !chunk && s.may(Legacy, 4):
		event = event.add("rawEvent", "null")
	}
	if s.may(Metadata, 15) {
		event = event.add("metadata", s.metadata())
	}
	if s.may(ExtraKeys, 8) {
		event = event.add(pick(s, []string{"extra", "runId2", "0", "_x"}), s.value(2))
	}
	s.events = append(s.events, event.object())
	s.shut(name, o)
}

// shut closes the lanes that an event closes. The client keeps those before THINKING_* open, which
// other readers close: no later event may need either.
func (s *stream) shut(name string, o owner) {
	of := func(l lane) bool { return l.owner == o }
	switch name {
	case "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT":
		s.lanes, s.earlier = nil, nil
	case "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END",
		"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
		"STATE_SNAPSHOT", "STATE_DELTA", "CUSTOM", "STEP_STARTED", "STEP_FINISHED",
		"REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_END",
		"SUBAGENT_FINISHED", "SUBAGENT_ERROR":
		s.lanes, s.earlier = slices.DeleteFunc(s.lanes, of), slices.DeleteFunc(s.earlier, of)
	case "THINKING_START", "THINKING_TEXT_MESSAGE_START", "THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_END", "THINKING_END":
		for _, l := range s.lanes {
			if of(l) {
				s.earlier = append(s.earlier, l)
			}
		}
		s.lanes = slices.DeleteFunc(s.lanes, of)
	}
}
