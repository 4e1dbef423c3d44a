package reduce

import (
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// The members that AG-UI 1.1 defines of events about runs and subagents, and of what is in
// them.
var (
	startedMembers  = []string{"type", "timestamp", "rawEvent", metadataKey, "threadId", "runId", "parentRunId", "protocolVersion", "input", "thread_id", "run_id"}
	inputMembers    = []string{"threadId", "runId", "parentRunId", "protocolVersion", "state", messagesKey, "tools", "context", "forwardedProps", "resume", "thread_id", "run_id"}
	finishedMembers = []string{"type", "timestamp", "rawEvent", metadataKey, "threadId", "runId", "result", "outcome", "usage", "thread_id", "run_id"}
	errorMembers    = []string{"type", "timestamp", "rawEvent", metadataKey, "message", "code", "usage"}

	subagentStartedMembers  = []string{"type", "timestamp", "rawEvent", metadataKey, subagentKey, nameKey, "description", "parentSubagentRunId", "parentToolCallId", "parentMessageId"}
	subagentFinishedMembers = []string{"type", "timestamp", "rawEvent", metadataKey, subagentKey, "result", "outcome"}
	subagentErrorMembers    = []string{"type", "timestamp", "rawEvent", metadataKey, subagentKey, "message", "code"}

	definitionMembers = []string{nameKey, "description", "parameters", metadataKey}
	contextMembers    = []string{"description", "value"}
	resumeMembers     = []string{"interruptId", "status", "payload", metadataKey}
	usageMembers      = []string{"provider", "model", "inputTokens", "outputTokens", "totalTokens", "reasoningTokens", "cachedInputTokens", "cacheWriteInputTokens"}
)

// KnownEvent returns the text of an event about a run or a subagent without what AG-UI does
// not define. If nothing is removed, and for events of other types, it is e.Data.
func KnownEvent(e *envelope.Event) []byte {
	var s stripper
	members, inside := startedMembers, s.inEvent
	switch e.Type {
	case eventnames.RunStarted:
	case eventnames.RunFinished:
		members = finishedMembers
	case eventnames.RunError:
		members = errorMembers
	case eventnames.SubagentStarted:
		members, inside = subagentStartedMembers, nil
	case eventnames.SubagentFinished:
		members = subagentFinishedMembers
	case eventnames.SubagentError:
		members, inside = subagentErrorMembers, nil
	default:
		return e.Data
	}
	v, o := read(e.Data)
	known := s.object(v, o, members, inside)
	if s.removed == 0 {
		return e.Data
	}
	return known.Raw
}

// KnownRequest does the same for a request (a RunAgentInput), which must be an object.
func KnownRequest(request []byte) []byte {
	v, o := read(request)
	return new(stripper).object(v, o, inputMembers, new(stripper).inInput).Raw
}

// inEvent does so for a member of an event.
func (s *stripper) inEvent(m strictjson.Member) (envelope.Value, bool) {
	isObject := m.Value.Kind == strictjson.ObjectStart
	switch {
	case isObject && m.Is("input"):
		_, o := read(m.Value.Raw)
		return s.object(m.Value, o, inputMembers, s.inInput), true
	case isObject && m.Is("outcome"):
		return s.outcome(m.Value)
	case m.Value.Kind == strictjson.ArrayStart && m.Is("usage"):
		return s.list(m.Value, s.only(usageMembers)), true
	}
	return m.Value, true
}

// inInput does so for a member of an input.
func (s *stripper) inInput(m strictjson.Member) (envelope.Value, bool) {
	each := s.message
	switch {
	case m.Value.Kind != strictjson.ArrayStart:
		return m.Value, true
	case m.Is(messagesKey):
	case m.Is("tools"):
		each = s.only(definitionMembers)
	case m.Is("context"):
		each = s.only(contextMembers)
	case m.Is("resume"):
		each = s.only(resumeMembers)
	default:
		return m.Value, true
	}
	return s.list(m.Value, each), true
}

// only returns a function that leaves members of objects.
func (s *stripper) only(members []string) func(envelope.Value, *envelope.Object) (envelope.Value, bool) {
	return func(v envelope.Value, o *envelope.Object) (envelope.Value, bool) {
		return s.object(v, o, members, nil), true
	}
}

// outcome returns an outcome of a run or a subagent without what AG-UI does not define, or
// false if AG-UI does not define its type.
func (s *stripper) outcome(v envelope.Value) (envelope.Value, bool) {
	_, o := read(v.Raw)
	var members []string
	switch kind, _ := o.Get("type"); {
	case kind.Kind != strictjson.String:
		return v, true // not valid
	case kind.Is("success"):
		members = []string{"type", "pendingToolCallIds"}
	case kind.Is("interrupt"):
		members = []string{"type", "interrupts"}
	case kind.Is("cancelled"):
		members = []string{"type"}
	case kind.Is("suspended"):
		members = []string{"type", "interruptIds"}
	default:
		s.remove(false)
		return v, false
	}
	return s.object(v, o, members, func(m strictjson.Member) (envelope.Value, bool) {
		if m.Value.Kind == strictjson.ArrayStart && m.Is("interrupts") {
			return s.list(m.Value, s.only(interruptMembers)), true
		}
		return m.Value, true
	}), true
}
