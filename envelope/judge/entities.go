package judge

import (
	"slices"
	"strconv"
)

// names of the events of each kind of entity: START, CONTENT, END, CHUNK.
var eventsOf = [4][4]string{
	text:      {"TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK"},
	tool:      {"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK"},
	reasoning: {"REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_MESSAGE_CHUNK"},
	span:      {"REASONING_START", "", "REASONING_END", ""},
}

// idKey returns the key that names an entity.
func (k kind) idKey() string {
	if k == tool {
		return "toolCallId"
	}
	return "messageId"
}

// anyOwner returns the owner of something new.
func (s *stream) anyOwner() owner {
	if !s.g.has(Subagents) || s.chance(70) {
		return owner{}
	}
	if known := append(slices.Clone(s.active), s.closed...); len(known) > 0 && s.chance(70) {
		return owner{true, pick(s, known)}
	}
	return owner{true, pick(s, []string{"s1", "s2", "x", ""})}
}

// tag returns how an event names the owner o: the parent agent never, a subagent mostly.
func (s *stream) tag(o owner) owner {
	if s.chance(30) {
		return owner{}
	}
	return o
}

// ownerOf returns the owner on record of an entity, or else the one that its message names if
// events may not say otherwise.
func (s *stream) ownerOf(k kind, id string) (o owner, ok bool) {
	if o, ok = s.owners[k][id]; !ok && !s.g.has(OtherOwners) {
		o, ok = s.before[k][id]
	}
	return o, ok
}

// busy reports whether an entity is open.
func (s *stream) busy(k kind, id string) bool {
	same := func(l lane) bool { return l.kind == k && l.id == id }
	return slices.Contains(s.open[k], id) || slices.ContainsFunc(s.lanes, same) || slices.ContainsFunc(s.earlier, same)
}

// freshID returns an id that is not open: mostly a new one.
func (s *stream) freshID(k kind) string {
	if s.may(Collisions, 5) {
		if id := pick(s, []string{"", "1", "constructor", "m1", "t1"}); !s.busy(k, id) {
			return id
		}
	}
	if s.may(Reopening, 12) {
		known := s.ids
		if k == tool {
			known = s.calls
		}
		known = slices.DeleteFunc(slices.Clone(known), func(id string) bool {
			return s.busy(k, id) || !s.g.has(Collisions) && s.messages[id] != "" && (s.messages[id] == "activity" || (s.messages[id] == "reasoning") != (k == reasoning || k == span))
		})
		if len(known) > 0 {
			return pick(s, known)
		}
	}
	if k == reasoning && len(s.open[span]) > 0 && s.chance(40) {
		if id := pick(s, s.open[span]); !s.busy(reasoning, id) {
			return id // producers often use one id for both
		}
	}
	for {
		s.names++
		if id := [4]string{"m", "t", "r", "p"}[k] + strconv.Itoa(s.names); !s.busy(k, id) {
			return id
		}
	}
}

// know records a message of the conversation.
func (s *stream) know(id, role string) {
	if _, ok := s.messages[id]; !ok {
		s.messages[id] = role
		s.ids = append(s.ids, id)
	}
}

func (s *stream) knowCall(id string) {
	if !slices.Contains(s.calls, id) {
		s.calls = append(s.calls, id)
	}
}

// opening returns a new id, its opener's tag and the opener's other fields, and records
// what the client would.
func (s *stream) opening(k kind) (id string, tag owner, f fields) {
	id = s.freshID(k)
	f = fields{k.idKey(), quote(id)}
	known, ok := s.bucket(k)[id]
	if !ok {
		known = s.anyOwner()
		tag = known
	} else {
		tag = s.tag(known)
	}
	if o, named := s.ownerOf(min(k, reasoning), id); named && !s.g.has(OtherOwners) {
		known, tag = o, o
	}
	switch k {
	case text:
		role := "assistant"
		if s.chance(60) {
			role = pick(s, []string{"assistant", "assistant", "user", "system", "developer"})
			f = f.add("role", quote(role))
		}
		if s.chance(15) {
			f = f.add("name", s.text())
		}
		s.know(id, role)
	case tool:
		f = f.add("toolCallName", pick(s, []string{`"search"`, `"lookup"`, `""`, `"ünïcode"`}))
		// The call belongs to its parent's owner.
		if parent, named := s.parent(known); named {
			f = f.add("parentMessageId", quote(parent))
			if !ok {
				tag = s.tag(known)
				if _, owned := s.owners[text][parent]; !owned || !s.g.has(OtherOwners) {
					tag = known
				}
			}
			s.know(parent, "assistant")
			s.before[text][parent] = known
		} else {
			if s.may(Legacy, 10) {
				f = f.add("parentMessageId", "null")
			}
			s.know(id, "assistant")
			s.before[text][id] = known
		}
		s.knowCall(id)
	case reasoning, span:
		if k == reasoning {
			f = f.add("role", `"reasoning"`)
			s.know(id, "reasoning")
		}
	}
	if !ok {
		s.bucket(k)[id] = known
	}
	return id, tag, f
}

// parent returns the id of a message for a call of the owner o, or reports false.
func (s *stream) parent(o owner) (string, bool) {
	if s.chance(30) {
		return "", false
	}
	var fit []string
	for _, id := range s.ids {
		if known, ok := s.owners[text][id]; ok && known == o && (s.g.has(Collisions) || s.messages[id] == "assistant") {
			fit = append(fit, id)
		}
	}
	if len(fit) > 0 && s.chance(85) {
		return pick(s, fit), true
	}
	if s.chance(50) {
		return "", false
	}
	s.names++
	return "m" + strconv.Itoa(s.names), true
}

// openEntity opens an entity, unless one is open and none may be interleaved.
func (s *stream) openEntity(k kind) {
	if !s.g.has(Interleaving) && k != span && (len(s.open[text])+len(s.open[tool])+len(s.open[reasoning]) > 0 || len(s.lanes) > 0) {
		return
	}
	id, tag, f := s.opening(k)
	s.open[k] = append(s.open[k], id)
	s.emit(eventsOf[k][0], tag, f)
}

// grow sends a part of an entity that is open.
func (s *stream) grow(k kind) {
	if len(s.open[k]) == 0 {
		return
	}
	id := pick(s, s.open[k])
	for range 1 + s.r.IntN(2) {
		s.emit(eventsOf[k][1], s.tag(s.bucket(k)[id]), fields{k.idKey(), quote(id), "delta", s.delta(k)})
	}
}

func (s *stream) closeAny(k kind) {
	if len(s.open[k]) > 0 {
		s.close(k, pick(s, s.open[k]))
	}
}

func (s *stream) close(k kind, id string) {
	s.open[k] = slices.DeleteFunc(s.open[k], func(open string) bool { return open == id })
	s.emit(eventsOf[k][2], s.tag(s.bucket(k)[id]), fields{k.idKey(), quote(id)})
}

// chunk opens a stream of chunks, or continues one.
func (s *stream) chunk() {
	if len(s.lanes) > 0 && s.chance(70) {
		s.continueLane(pick(s, s.lanes))
		return
	}
	k := kind(s.r.IntN(3))
	if k == tool && !s.g.has(Tools) || k == reasoning && !s.g.has(Reasoning) {
		k = text
	}
	if !s.g.has(Interleaving) && len(s.open[text])+len(s.open[tool])+len(s.open[reasoning]) > 0 {
		return
	}
	id, tag, f := s.opening(k)
	if !s.g.has(Interleaving) && len(s.lanes) > 0 && s.lanes[0].owner != tag {
		// Another lane would stay open: leave this one to the explicit events.
		s.open[k] = append(s.open[k], id)
		s.emit(eventsOf[k][0], tag, f)
		return
	}
	if k == reasoning {
		f = f[:2] // a chunk has no role
	}
	// Only one stream is open in a lane.
	of := func(l lane) bool { return l.owner == tag }
	s.lanes, s.earlier = slices.DeleteFunc(s.lanes, of), slices.DeleteFunc(s.earlier, of)
	s.lanes = append(s.lanes, lane{tag, k, id, f[2:]})
	if s.chance(80) {
		f = f.add("delta", s.delta(k))
	}
	s.emit(eventsOf[k][3], tag, f)
}

// continueLane sends a later chunk, in one of the ways that name the lane.
func (s *stream) continueLane(l lane) {
	var f fields
	tag := s.tag(l.owner)
	alone := true // no other lane has a stream of this kind
	for _, other := range slices.Concat(s.lanes, s.earlier) {
		if other.kind == l.kind && other.owner != l.owner {
			alone = false
		}
	}
	if named := tag.tagged || !l.owner.tagged || alone; !named || s.chance(40) {
		f = f.add(l.kind.idKey(), quote(l.id))
	}
	for i := 0; i < len(l.given); i += 2 {
		if l.given[i+1] != "null" && s.chance(25) {
			f = f.add(l.given[i], l.given[i+1])
		}
	}
	if s.chance(85) {
		f = f.add("delta", s.delta(l.kind))
	}
	s.emit(eventsOf[l.kind][3], tag, f)
}

// result sends the result of a tool call, mostly of one that is known.
func (s *stream) result() {
	call := "t0"
	if len(s.calls) > 0 && s.chance(95) {
		call = pick(s, s.calls)
	}
	s.names++
	for s.busy(text, "m"+strconv.Itoa(s.names)) {
		s.names++
	}
	id := "m" + strconv.Itoa(s.names)
	if s.may(Collisions, 5) && len(s.ids) > 0 {
		if known := pick(s, s.ids); !s.busy(text, known) {
			id = known
		}
	}
	f := fields{"messageId", quote(id), "toolCallId", quote(call), "content", s.content()}
	if s.chance(40) {
		f = f.add("role", `"tool"`)
	}
	o := s.anyOwner()
	s.owners[text][id] = o
	s.know(id, "tool")
	s.emit("TOOL_CALL_RESULT", o, f)
}

// encrypted attaches an encrypted value to a message or a call.
func (s *stream) encrypted() {
	subtype, entity, o := "message", "none", s.anyOwner()
	if s.g.has(Tools) && len(s.calls) > 0 && s.chance(40) {
		subtype, entity = "tool-call", pick(s, s.calls)
		if known, ok := s.ownerOf(tool, entity); ok {
			o = s.tag(known)
		}
	} else if len(s.ids) > 0 && s.chance(90) {
		entity = pick(s, s.ids)
		if known, ok := s.ownerOf(text, entity); ok {
			o = s.tag(known)
		} else if known, ok := s.ownerOf(reasoning, entity); ok {
			o = s.tag(known)
		}
	}
	f := fields{"subtype", quote(subtype), "entityId", quote(entity), "encryptedValue", s.text()}
	if s.may(EncryptedTypes, 50) {
		f = f.add("encryptedValueType", `"vendor.kind"`)
	}
	s.emit("REASONING_ENCRYPTED_VALUE", o, f)
}

func (s *stream) startStep() {
	st := step{s.anyOwner(), pick(s, []string{"plan", "tools", "", "answer"})}
	if slices.Contains(s.steps, st) {
		return
	}
	s.steps = append(s.steps, st)
	s.emit("STEP_STARTED", st.owner, fields{"stepName", quote(st.name)})
}

func (s *stream) finishStep(st step) {
	s.steps = slices.DeleteFunc(s.steps, func(open step) bool { return open == st })
	s.emit("STEP_FINISHED", st.owner, fields{"stepName", quote(st.name)})
}

func (s *stream) startSubagent() {
	known := append(slices.Clone(s.active), s.closed...)
	id := pick(s, []string{"s1", "s2", "s3", "s4", ""})
	if slices.Contains(known, id) {
		return
	}
	f := fields{"name", s.text()}
	if len(known) > 0 && s.chance(40) {
		f = f.add("parentSubagentRunId", quote(pick(s, known)))
	}
	if s.chance(30) {
		f = f.add("description", s.text())
	}
	if len(s.calls) > 0 && s.chance(30) {
		f = f.add("parentToolCallId", quote(pick(s, s.calls)))
	}
	if len(s.ids) > 0 && s.chance(30) {
		f = f.add("parentMessageId", quote(pick(s, s.ids)))
	}
	s.active = append(s.active, id)
	s.emit("SUBAGENT_STARTED", owner{true, id}, f)
}

func (s *stream) finishSubagent(id string) {
	s.active = slices.DeleteFunc(s.active, func(open string) bool { return open == id })
	s.closed = append(s.closed, id)
	if s.chance(25) {
		f := fields{"message", s.text()}
		if s.chance(30) {
			f = f.add("code", s.text())
		}
		s.emit("SUBAGENT_ERROR", owner{true, id}, f)
		return
	}
	var f fields
	switch s.r.IntN(5) {
	case 0:
		f = f.add("outcome", `{"type":"success"}`)
	case 1:
		f = f.add("outcome", `{"type":"suspended"}`)
	case 2:
		f = f.add("outcome", `{"type":"suspended","interruptIds":["i1"]}`)
	}
	if s.chance(20) {
		f = f.add("result", s.notNull())
	}
	s.emit("SUBAGENT_FINISHED", owner{true, id}, f)
}

// think sends the next event of THINKING_*, which have no ids.
func (s *stream) think(ending bool) {
	switch {
	case s.thinking == 0:
		var f fields
		if s.chance(50) {
			f = f.add("title", s.text())
		}
		s.thinking = 1
		s.emit("THINKING_START", owner{}, f)
	case s.thinking == 1 && (ending || s.chance(30)):
		s.thinking = 0
		s.emit("THINKING_END", owner{}, nil)
	case s.thinking == 1:
		s.thinking = 2
		s.emit("THINKING_TEXT_MESSAGE_START", owner{}, nil)
	case ending || s.chance(30):
		s.thinking = 1
		s.emit("THINKING_TEXT_MESSAGE_END", owner{}, nil)
	default:
		s.emit("THINKING_TEXT_MESSAGE_CONTENT", owner{}, fields{"delta", s.delta(text)})
	}
}
