package main

import (
	"fmt"
	"slices"
	"strings"

	agui "github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/project"
)

// event returns an event with these members, mostly with its type first, and with members
// that integrations add.
func (g *streams) event(kind string, members ...member) string {
	all := append([]member{{`"type"`, quoted(kind)}}, members...)
	if g.chance(0.05) {
		all = append(all, g.extra())
	}
	if g.chance(0.05) {
		all = append(all, member{`"rawEvent"`, pick(g.generator, []string{`{"event":"on_chain_start","data":{"messages":[]}}`, "null", `"x"`})})
		g.record("rawEvent")
	}
	if g.chance(0.1) {
		g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	for i, m := range all {
		if g.chance(0.005) && len(m.name) > 2 && m.name[1] != '\\' && m.name[1] < 0x80 {
			all[i].name = fmt.Sprintf(`"\u%04x%s`, m.name[1], m.name[2:])
			g.record("escaped keys")
		}
	}
	if g.chance(g.odd / 2) {
		all = g.disturb(all, g.odd)
	}
	if g.chance(g.odd/4) && len(all) > 0 {
		all = append(all, all[g.IntN(len(all))])
		g.record("a key twice")
	}
	if g.chance(g.odd / 8) {
		all = append(all, member{`"x"`, "\"\xc3\""})
		g.record("invalid UTF-8")
	}
	return object(all)
}

// values are JSON values that any member may have.
var values = []string{"null", "true", "0", "-1", "1e400", "1.50E-3", "12345678901234567890", `""`, `"x"`, "[]", "{}", `{"a":{"b":[1]}}`, `"\ud800"`, `{"\udfff":1}`}

// extra returns a member that no AG-UI event has.
func (g *streams) extra() member {
	value := pick(g.generator, values)
	switch name := pick(g.generator, []string{"metadata", "x", "", "a/b", "a~b", "~1", "thread_id", "runid", "\U0001f600", `\ud800`, `a\udc00`, "deep", `caf\u00e9`, "protocol_version", `\n`}); name {
	case `\ud800`, `a\udc00`:
		g.record("half of a pair in a key")
		return member{quoted(name), value}
	case "deep":
		g.record("deep values")
		return member{`"deep"`, nested(pick(g.generator, []int{20, 20, 20, 20, 20, 510, 511, 512}))}
	default:
		return member{quoted(name), value}
	}
}

// textEvents returns the events of the streamed messages.
func (g *streams) textEvents() []string {
	var parts [][]string
	mixed := g.chance(0.15)
	for i := range g.streamed {
		m := &g.streamed[i]
		if g.chance(0.06) {
			m.role = pick(g.generator, []string{"user", "developer", "system", "tool", "reasoning", "activity", "", "Assistant"})
			if g.rich == 0 {
				m.role = pick(g.generator, []string{"user", "developer", "system"})
			}
			g.record("streamed roles")
		}
		if mixed {
			parts = append(parts, g.whole(*m))
			continue
		}
		switch g.IntN(5) {
		case 0:
			parts = append(parts, g.chunks(*m, 1))
			g.record("chunks that all have ids")
		case 1:
			parts = append(parts, g.chunks(*m, 0))
			g.record("chunks without ids")
		case 2:
			parts = append(parts, g.chunks(*m, 0.5))
			g.record("chunks some of which have ids")
		default:
			parts = append(parts, g.whole(*m))
		}
	}
	if g.chance(0.12) {
		parts = slices.Insert(parts, g.IntN(len(parts)+1), g.subagent())
		g.record("a subagent")
	}
	if g.chance(0.3) {
		parts = slices.Insert(parts, g.IntN(len(parts)+1), g.toolCall())
		g.record("tool calls")
	}
	if mixed && len(parts) > 1 {
		g.record("interleaved messages")
		return g.interleave(parts)
	}
	return slices.Concat(parts...)
}

// interleave merges lists of events.
func (g *streams) interleave(parts [][]string) []string {
	var all []string
	for len(parts) > 0 {
		i := g.IntN(len(parts))
		all = append(all, parts[i][0])
		if parts[i] = parts[i][1:]; len(parts[i]) == 0 {
			parts = slices.Delete(parts, i, i+1)
		}
	}
	return all
}

// speaker returns the members of an event that begins a message.
func (g *streams) speaker(m message) []member {
	all := []member{{`"messageId"`, g.value(g.odd/8, quoted(m.id))}}
	if m.role != "assistant" || g.chance(0.8) {
		all = append(all, member{`"role"`, g.value(g.odd/8, quoted(m.role))})
	} else if g.chance(0.1) {
		all = append(all, member{`"role"`, "null"})
	}
	switch {
	case m.name != "":
		all = append(all, member{`"name"`, quoted(m.name)})
	case g.chance(0.03):
		all = append(all, member{`"name"`, pick(g.generator, []string{"null", `""`, `" "`})})
	case g.chance(g.odd):
		all = append(all, member{`"name"`, pick(g.generator, []string{"7", "{}"})})
	}
	return all
}

// whole returns the START, CONTENT and END events of a message.
func (g *streams) whole(m message) []string {
	g.record("text events")
	id := member{`"messageId"`, quoted(m.id)}
	all := []string{g.event(agui.TextMessageStart, g.speaker(m)...)}
	for i, piece := range m.pieces {
		all = append(all, g.event(agui.TextMessageContent, id, member{`"delta"`, g.value(g.odd/8, quoted(piece))}))
		switch {
		case g.chance(0.03):
			all = append(all, g.noise())
		case g.chance(0.02) && i < len(m.pieces)-1:
			again := m
			if g.chance(0.1) {
				again.role, again.name = pick(g.generator, []string{"user", m.role}), "another"
			}
			all = append(all, g.event(agui.TextMessageEnd, id), g.event(agui.TextMessageStart, g.speaker(again)...))
			g.record("a message begun again")
		}
	}
	if g.chance(0.95) {
		all = append(all, g.event(agui.TextMessageEnd, id))
	}
	return all
}

// chunks returns the CHUNK events of a message. Each chunk after the first has an id with
// probability ids.
func (g *streams) chunks(m message, ids float64) []string {
	var all []string
	for i, piece := range m.pieces {
		delta := member{`"delta"`, quoted(piece)}
		switch {
		case i == 0:
			first := g.speaker(m)
			if g.chance(0.2) {
				all = append(all, g.event(agui.TextMessageChunk, first...)) // without text
				first = first[:1]
			}
			all = append(all, g.event(agui.TextMessageChunk, append(first, delta)...))
		case g.chance(ids):
			all = append(all, g.event(agui.TextMessageChunk, member{`"messageId"`, quoted(m.id)}, delta))
		case g.chance(0.1):
			all = append(all, g.event(agui.TextMessageChunk, member{`"messageId"`, "null"}, delta))
		default:
			all = append(all, g.event(agui.TextMessageChunk, delta))
		}
		if g.chance(0.03) {
			all = append(all, g.event(pick(g.generator, []string{agui.Raw, agui.ActivitySnapshot, agui.ActivityDelta, "THINKING_START", "UNHEARD_OF"})))
		}
	}
	return all
}

// subagent returns the events of a subagent, which may stream text.
func (g *streams) subagent() []string {
	tag := member{`"subagentRunId"`, pick(g.generator, []string{`"sub-1"`, `"sub-2"`, `""`})}
	m := g.message("assistant")
	id := member{`"messageId"`, quoted(m.id)}
	all := []string{g.event(agui.SubagentStarted, tag, member{`"parentRunId"`, `"run-0"`})}
	if g.chance(0.5) {
		all = append(all, g.event(agui.TextMessageStart, id, tag, member{`"role"`, `"assistant"`}))
		for _, piece := range m.pieces {
			content := []member{id, {`"delta"`, quoted(piece)}}
			if g.chance(0.8) {
				content = append(content, tag)
			}
			all = append(all, g.event(agui.TextMessageContent, content...))
		}
		all = append(all, g.event(agui.TextMessageEnd, id, tag))
	} else {
		for i, piece := range m.pieces {
			chunk := []member{tag, {`"delta"`, quoted(piece)}}
			if i == 0 || g.chance(0.3) {
				chunk = append(chunk, id)
			}
			if i > 0 && g.chance(0.1) {
				chunk = chunk[1:] // the only open stream is the subagent's
			}
			all = append(all, g.event(agui.TextMessageChunk, chunk...))
		}
	}
	return append(all, g.event(pick(g.generator, []string{agui.SubagentFinished, agui.SubagentError}), tag))
}

// toolCall returns the events of a tool call.
func (g *streams) toolCall() []string {
	id := member{`"toolCallId"`, `"call-1"`}
	if g.chance(0.2) {
		return []string{g.event(agui.ToolCallChunk, id, member{`"toolCallName"`, `"get_weather"`}, member{`"delta"`, `"{}"`})}
	}
	return []string{
		g.event(agui.ToolCallStart, id, member{`"toolCallName"`, `"get_weather"`}, member{`"parentMessageId"`, `"m-1"`}),
		g.event(agui.ToolCallArgs, id, member{`"delta"`, `"{\"city\":\"Oslo\"}"`}),
		g.event(agui.ToolCallEnd, id),
		g.event(agui.ToolCallResult, id, member{`"messageId"`, `"result-1"`}, member{`"content"`, `"Sunny"`}, member{`"role"`, `"tool"`}),
	}
}

// families are the event types other than those of text, snapshots, and the begin and end
// of a run.
var families = slices.DeleteFunc(agui.All(), func(name string) bool {
	return strings.HasPrefix(name, "TEXT_MESSAGE") || strings.HasPrefix(name, "RUN_") || name == agui.MessagesSnapshot
})

// noise returns an event of one of the families.
func (g *streams) noise() string {
	g.record("events of other families")
	return g.other()
}

func (g *streams) other() string {
	if g.chance(0.1) {
		g.record("types that AG-UI does not have")
		return g.event(pick(g.generator, []string{"UNHEARD_OF", "run_started", "RunStarted", "TEXT_MESSAGE", "e\u0301", `RUN\u005fSTART`, strings.Repeat("T", 128), strings.Repeat("T", 129)}))
	}
	members := []member{
		{`"stepName"`, `"model"`}, {`"delta"`, `"x"`}, {`"delta"`, `[{"op":"add","path":"/a","value":1}]`}, {`"snapshot"`, `{"messages":[]}`}, {`"messageId"`, `"m-1"`}, {`"toolCallId"`, `"call-1"`},
		{`"event"`, `{"data":{"chunk":{"content":"x"}}}`}, {`"name"`, `"PredictState"`}, {`"value"`, `[1.50,1e400]`}, {`"content"`, `{"a":"\ud83d"}`}, {`"encryptedValue"`, `"zzz"`}, {`"subagentRunId"`, `"sub-1"`}, {`"timestamp"`, "1"},
	}
	n := g.IntN(4)
	var some []member
	for _, i := range g.Perm(len(members))[:n] {
		if !slices.ContainsFunc(some, func(m member) bool { return m.name == members[i].name }) {
			some = append(some, members[i])
		}
	}
	return g.event(pick(g.generator, families), some...)
}

// withSnapshots inserts the snapshots of the run into its events.
func (g *streams) withSnapshots(body []string) []string {
	n := 1
	switch {
	case g.target == project.FoldedStream:
		n = 0
		if g.chance(0.03) {
			n = 1
		}
	case g.target == project.EmittedSnapshot:
		if g.chance(0.06) {
			n = g.IntN(3)
		}
	case g.chance(0.3):
		n = g.IntN(5)
	}
	g.snapshots = max(g.snapshots, n)
	g.record([...]kind{"no snapshot", "one snapshot", "several snapshots"}[min(n, 2)])
	for i := range n {
		if i < n-1 || g.chance(0.15) {
			body = slices.Insert(body, g.IntN(len(body)+1), g.snapshot())
			g.record("an early snapshot")
		} else {
			body = append(body, g.snapshot())
		}
	}
	return body
}
