package judge

import (
	"slices"
	"strconv"
	"strings"
)

// message returns a message of a role for a snapshot or an input, and the owner that it
// names. The calls of an assistant message get that owner too.
func (s *stream) message(id, role string, o owner) string {
	f := fields{"id", quote(id), "role", quote(role)}
	switch role {
	case "assistant":
		if s.chance(80) {
			f = f.add("content", s.text())
		}
		if s.g.has(Tools) && s.chance(50) {
			var calls []string
			for range s.r.IntN(3) {
				calls = append(calls, s.call(o))
			}
			f = f.add("toolCalls", "["+strings.Join(calls, ",")+"]")
		}
	case "user":
		f = f.add("content", s.content())
	case "tool":
		call := "t0"
		if len(s.calls) > 0 {
			call = pick(s, s.calls)
		}
		f = f.add("content", s.content()).add("toolCallId", quote(call))
		if s.chance(20) {
			f = f.add("error", s.text())
		}
	case "activity":
		content := s.object(2)
		f = f.add("activityType", `"plan"`).add("content", content)
		s.setActivity(id, decode(content))
	default:
		f = f.add("content", s.text())
	}
	if role != "activity" && s.chance(15) {
		f = f.add("encryptedValue", s.text())
		if s.may(EncryptedTypes, 50) {
			f = f.add("encryptedValueType", `"vendor.kind"`)
		}
	}
	if role != "activity" && role != "reasoning" && role != "tool" && s.chance(15) {
		f = f.add("name", s.text())
	}
	if o.tagged {
		f = f.add("subagentRunId", quote(o.id))
	}
	if s.may(Metadata, 15) {
		f = f.add("metadata", s.metadata())
	}
	if s.may(ExtraKeys, 15) {
		f = f.add("extra", s.value(2))
	}
	return f.object()
}

// call returns a tool call of an assistant message: a known one or a new one.
func (s *stream) call(o owner) string {
	s.names++
	id := "t" + strconv.Itoa(s.names)
	if len(s.calls) > 0 && s.chance(60) {
		id = pick(s, s.calls)
	}
	if known, ok := s.ownerOf(tool, id); ok && known != o && !s.g.has(OtherOwners) {
		id = "t" + strconv.Itoa(s.names)
	}
	s.knowCall(id)
	s.seed(tool, id, o)
	function := fields{"name", `"search"`, "arguments", s.delta(tool)}
	if s.may(ExtraKeys, 10) {
		function = function.add("extra", s.value(1))
	}
	f := fields{"id", quote(id), "type", `"function"`, "function", function.object()}
	if s.chance(15) {
		f = f.add("encryptedValue", s.text())
		if s.may(EncryptedTypes, 50) {
			f = f.add("encryptedValueType", `"vendor.call"`)
		}
	}
	if s.may(ExtraKeys, 10) {
		f = f.add("extra", s.value(1))
	}
	if s.may(Metadata, 15) {
		f = f.add("metadata", s.metadata())
	}
	return f.object()
}

// seed records the owner of an entity in a snapshot.
func (s *stream) seed(k kind, id string, o owner) { s.owners[k][id] = o }

// bucketOf returns the kind whose owners a message of a role is among.
func bucketOf(role string) kind {
	switch role {
	case "reasoning":
		return reasoning
	case "activity":
		return activity
	}
	return text
}

// conversation returns messages as a JSON array: most of those that are known, in order
// or not, and new ones. Each is named once.
func (s *stream) conversation() string {
	ids := slices.DeleteFunc(slices.Clone(s.ids), func(string) bool { return s.chance(20) })
	if s.chance(15) {
		s.r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	}
	for range s.r.IntN(3) {
		s.names++
		id := "m" + strconv.Itoa(s.names)
		ids = slices.Insert(ids, s.r.IntN(len(ids)+1), id)
	}
	var messages []string
	for _, id := range ids {
		role, known := s.messages[id]
		if !known || s.may(Collisions, 3) {
			roles := []string{"user", "assistant", "system", "developer"}
			if s.g.has(Tools) {
				roles = append(roles, "tool")
			}
			if s.g.has(Reasoning) {
				roles = append(roles, "reasoning")
			}
			if s.g.has(Activities) {
				roles = append(roles, "activity")
			}
			role = pick(s, roles)
		}
		o, owned := s.ownerOf(bucketOf(role), id)
		if !owned {
			o = s.anyOwner()
		}
		s.seed(bucketOf(role), id, o)
		messages = append(messages, s.message(id, role, o))
		s.know(id, role)
	}
	if s.may(UnknownKinds, 30) {
		unknown := `{"id":` + pick(s, []string{`"m0"`, `"x1"`}) + `,"role":"robot","content":"beep"}`
		messages = slices.Insert(messages, s.r.IntN(len(messages)+1), unknown)
	}
	return "[" + strings.Join(messages, ",") + "]"
}

func (s *stream) snapshot() {
	s.emit("MESSAGES_SNAPSHOT", owner{}, fields{"messages", s.conversation()})
}

// input returns the input of a run. Owners in it count only for ids without one, and none
// has one at the start of a run.
func (s *stream) input() string {
	f := fields{"threadId", `"t"`, "runId", quote("run" + strconv.Itoa(s.runID)), "messages", s.inputMessages()}
	if s.chance(40) {
		f = f.add("state", s.notNull())
	}
	if s.chance(40) {
		f = f.add("tools", pick(s, []string{"[]", `[{"name":"search","description":"d"}]`, `[{"name":"search","description":"d","parameters":{"type":"object"}}]`}))
	}
	if s.may(Legacy, 20) {
		f = f.add("forwardedProps", "null")
	} else if s.chance(20) {
		f = f.add("forwardedProps", s.notNull())
	}
	if s.chance(40) {
		f = f.add("context", pick(s, []string{"[]", `[{"description":"d","value":"v"}]`}))
	}
	if s.chance(15) {
		f = f.add("resume", `[{"interruptId":"i1","status":"resolved","payload":{"ok":true}},{"interruptId":"i2","status":"cancelled"}]`)
	}
	return f.object()
}

// inputMessages returns the messages of an input. The owner of a call in several messages
// is that of the first, so each call is in one.
func (s *stream) inputMessages() string {
	var messages []string
	for range s.r.IntN(4) {
		role := pick(s, []string{"user", "user", "assistant", "system"})
		s.names++
		id := "m" + strconv.Itoa(s.names)
		if len(s.ids) > 0 && s.chance(50) {
			id = pick(s, s.ids)
			role = s.messages[id]
			if _, again := s.owners[bucketOf(role)][id]; again {
				continue
			}
		}
		o := s.anyOwner()
		if known, ok := s.ownerOf(bucketOf(role), id); ok && !s.g.has(OtherOwners) {
			o = known
		}
		s.seed(bucketOf(role), id, o)
		f := fields{"id", quote(id), "role", quote(role), "content", s.content()}
		switch role {
		case "assistant", "system", "developer", "reasoning":
			f[5] = s.text()
		case "tool":
			f = f.add("toolCallId", `"t0"`)
		case "activity":
			f[5] = s.object(1)
			f = f.add("activityType", `"plan"`)
			if _, known := s.contents[id]; !known {
				s.setActivity(id, decode(f[5]))
			}
		}
		if o.tagged {
			f = f.add("subagentRunId", quote(o.id))
		}
		s.know(id, role)
		messages = append(messages, f.object())
	}
	return "[" + strings.Join(messages, ",") + "]"
}
