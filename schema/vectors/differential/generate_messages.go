package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	agui "github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/project"
)

// snapshot returns a MESSAGES_SNAPSHOT.
func (g *streams) snapshot() string {
	members := []member{{`"messages"`, g.list(g.snapshotMessages())}}
	members = append(members, g.timestamp(2)...)
	if g.chance(0.01) {
		members = append(members, member{`"metadata"`, pick(g.generator, []string{`{"p20export":{"origin":"built"}}`, `{"p20export":{"origin":"emitted"}}`, `{"p20export":{}}`, `{"p20export":"built"}`})})
		g.record("a snapshot that bears the mark of a built one")
	}
	if g.chance(g.odd / 2) {
		members[0].value = pick(g.generator, []string{"null", "{}", "[null]", "[1]", `[{"id":"m"},[]]`, `""`, "[]"})
	}
	return g.event(agui.MessagesSnapshot, members...)
}

// snapshotMessages returns the messages of a snapshot: those of the conversation, unchanged
// or changed as integrations do.
func (g *streams) snapshotMessages() []message {
	all := append(slices.Clone(g.requested), g.streamed...)
	if g.chance(0.2) {
		all = append(all, g.message("tool"))
	}
	switch g.IntN(12) {
	case 0:
		g.record("a snapshot of the request alone")
		if len(g.requested) > 0 {
			all = slices.Clone(g.requested)
		}
	case 1, 2:
		g.record("a snapshot that lacks messages")
		all = slices.DeleteFunc(all, func(message) bool { return g.chance(0.4) })
	case 3:
		g.record("a snapshot that joins messages")
		for i := len(all) - 1; i > 0; i-- {
			if a, b := &all[i-1], all[i]; a.role == b.role {
				a.pieces = slices.Concat(a.pieces, pick(g.generator, [][]string{nil, {" "}, {`\n\n`}}), b.pieces)
				all = slices.Delete(all, i, i+1)
			}
		}
	case 4:
		g.record("a snapshot that divides messages")
		for i := len(all) - 1; i >= 0; i-- {
			m := all[i]
			if len(m.pieces) < 2 {
				continue
			}
			at := 1 + g.IntN(len(m.pieces)-1)
			if strings.Contains(m.pieces[at], `\ude00`) && m.pieces[at-1] == `\ud83d` {
				continue // not inside a pair
			}
			rest := g.message(m.role)
			rest.pieces = m.pieces[at:]
			all[i].pieces = m.pieces[:at]
			all = slices.Insert(all, i+1, rest)
		}
	case 5:
		g.record("a snapshot in another order")
		g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	case 6:
		g.record("a snapshot with other white space")
		for i, m := range all {
			if !slices.Contains(m.pieces, `\ud83d`) {
				all[i].pieces = []string{strings.Join(m.pieces, pick(g.generator, []string{" ", `\n`, "\u00a0"})) + " "}
			}
		}
	case 7:
		g.record("a snapshot that repeats messages")
		if len(all) > 0 {
			again := pick(g.generator, all)
			g.ids++
			again.id = fmt.Sprintf("again-%d", g.ids)
			all = slices.Insert(all, g.IntN(len(all)+1), again)
		}
	default:
		g.record("a whole snapshot")
	}
	for i := range all {
		if g.chance(0.15) { // integrations choose their own ids
			g.ids++
			all[i].id = fmt.Sprintf("own-%d", g.ids)
		}
	}
	if len(all) == 0 {
		all = append(all, g.message("assistant"))
	}
	if g.chance(0.02) {
		again := g.message("user")
		again.id = pick(g.generator, []string{all[0].id, " " + all[0].id, strings.ToUpper(all[0].id)})
		all = append(all, again)
		g.record("ids twice")
	}
	return all
}

// list returns a list of messages as JSON text.
func (g *streams) list(messages []message) string {
	var all []string
	for _, m := range messages {
		for g.chance(g.rich / 3) {
			all = append(all, g.richMessage())
		}
		all = append(all, g.object(m))
	}
	if g.chance(g.odd) && len(all) > 0 {
		all = append(all, pick(g.generator, append(slices.Clone(scalars), all[0])))
		g.record("ids twice")
	}
	return "[" + strings.Join(all, ",") + "]"
}

// object returns a message as JSON text. If the target projection accepts content outside
// the text subset, the message may have some.
func (g *streams) object(m message) string {
	outside := func(usual string, others ...string) string {
		if g.chance(g.rich / 4) {
			g.record("messages outside the text subset")
			return pick(g.generator, others)
		}
		return g.value(g.odd/8, usual)
	}
	role := m.role
	if !artifact.IsRole(role) && g.rich == 0 {
		role = "assistant"
	}
	all := []member{
		{`"id"`, g.value(g.odd/8, quoted(m.id))},
		{`"role"`, outside(quoted(role), `"reasoning"`, `"activity"`, `"User"`, "null", `"model"`, `""`, "1")},
		{`"content"`, outside(quoted(m.text()), "null", `""`, `" "`, "{}", "7", "[]", `"\u3000"`, `[{"type":"image","source":{"type":"url","value":"x"}}]`)},
	}
	if g.chance(g.rich/3) && all[2].value == quoted(m.text()) {
		all[2].value = g.parts(m)
		g.record("content in parts")
	}
	if m.name != "" {
		all = append(all, member{`"name"`, outside(quoted(m.name), "null", `""`, `" "`)})
	} else if g.chance(g.rich / 4) {
		all = append(all, member{`"name"`, pick(g.generator, []string{"null", `""`, `"\u00a0"`})})
	}
	for g.chance(g.rich) {
		g.record("messages outside the text subset")
		all = append(all, g.richKey())
	}
	for i := range all { // no duplicate keys
		if at := slices.IndexFunc(all[:i], func(m member) bool { return m.name == all[i].name }); at >= 0 {
			all[i].name = fmt.Sprintf(`"again%d"`, i)
		}
	}
	if g.chance(0.15) {
		g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	if g.chance(g.odd / 4) {
		all = g.disturb(all, g.odd)
	}
	return object(all)
}

// richKey returns a member outside the text subset.
func (g *streams) richKey() member {
	return pick(g.generator, []member{
		{`"toolCalls"`, `[{"id":"call-1","type":"function","function":{"name":"get_weather","arguments":"{}"}}]`}, {`"toolCalls"`, "[]"}, {`"toolCalls"`, "null"}, {`"toolCallId"`, `"call-1"`},
		{`"encryptedValue"`, `"zzz"`}, {`"metadata"`, `{"a":1}`}, {`"error"`, `"boom"`}, {`"timestamp"`, "1"}, {`"a/b~c"`, "1"}, {`""`, "null"}, {`"\ud800"`, `"\udc00"`}, {`"type"`, `"ai"`}, {`"created_at"`, "1.5"},
	})
}

// richMessage returns a message that is outside the text subset as a whole.
func (g *streams) richMessage() string {
	g.record("messages outside the text subset")
	return pick(g.generator, []string{
		`{"id":"r-1","role":"reasoning","content":"Thinking.","encryptedValue":"zzz"}`,
		`{"id":"a-1","role":"activity","activityType":"PLAN","content":{"steps":[]}}`,
		`{"id":"c-1","role":"assistant","toolCalls":[{"id":"call-1","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
		`{"id":"c-2","role":"assistant","content":"","toolCalls":[]}`, `{"role":"model"}`, `{}`, `{"id":7,"role":null,"content":null,"a/b":1}`,
		`{"id":"b-1","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"aaaa"}]}`,
		`{"id":"b-2","role":"user","content":[{"type":"text","text":"Look"},{"type":"binary","mimeType":"image/png","url":"x"}]}`,
	})
}

// parts returns the content of a message as a list of parts.
func (g *streams) parts(m message) string {
	var all []string
	for _, piece := range m.pieces {
		p := []member{{`"type"`, `"text"`}, {`"text"`, quoted(piece)}}
		for g.chance(0.1) {
			p = append(p, g.richKey())
		}
		switch {
		case g.chance(0.03):
			p[0].value = pick(g.generator, []string{`"image"`, `"Text"`, "null", `"te\u0078t"`})
		case g.chance(0.03):
			p[1].value = pick(g.generator, []string{"null", "7", `""`, "[]"})
		}
		for i := range p {
			if at := slices.IndexFunc(p[:i], func(m member) bool { return m.name == p[i].name }); at >= 0 {
				p[i].name = fmt.Sprintf(`"again%d"`, i)
			}
		}
		all = append(all, object(p))
	}
	if g.chance(0.03) {
		all = append(all, pick(g.generator, values))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// request returns the request.json of a run, or nil.
func (g *streams) request(thread, run string) []byte {
	switch {
	case g.chance(0.35), g.large() && g.target != project.FoldedStream:
		g.record("no request")
		return nil
	case g.chance(0.01):
		g.record("an empty request")
		return []byte{}
	case g.chance(0.02 + g.odd/2):
		g.record("a request that cannot be read")
		damaged := g.damage([]byte(g.input(thread, run)))
		return pick(g.generator, [][]byte{damaged, damaged, []byte("[]"), []byte("{}"), []byte(`{"messages":{}}`), []byte("\ufeff{}"), []byte(`{"messages":[]} 1`), []byte(`{"messages":[],"messages":[]}`), []byte(`{"messages":[1]}`)})
	case g.chance(0.06):
		g.record("the request of another run")
		if g.chance(0.5) {
			return []byte(g.input(thread, pick(g.generator, []string{`"another"`, "null", "7", `"\ud83d"`})))
		}
		return []byte(g.input(`"another"`, run))
	}
	g.record("its request")
	return []byte(g.input(thread, run))
}

// input returns a run input as JSON text.
func (g *streams) input(thread, run string) string {
	requested := g.list(g.requested)
	if g.chance(0.03) && len(g.streamed) > 0 {
		requested = g.list(append(slices.Clone(g.requested), g.streamed[0])) // its id is also streamed
	}
	all := []member{{`"messages"`, requested}}
	for _, id := range []member{{`"threadId"`, thread}, {`"runId"`, run}} {
		if g.chance(0.9) {
			all = append(all, id)
		}
	}
	for _, m := range []member{{`"state"`, "{}"}, {`"tools"`, "[]"}, {`"context"`, "[]"}, {`"forwardedProps"`, `{"a":[1.50]}`}, {`"protocolVersion"`, `"1.0"`}, {`"a/b"`, "null"}} {
		if g.chance(0.3) {
			all = append(all, m)
		}
	}
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	text := object(all)
	if g.chance(0.2) {
		text = g.spaced(text, []string{"\n", "\r\n", " ", "\t"})
	}
	return text
}

// large reports whether the messages of the request are large.
func (g *streams) large() bool { return g.kinds["an artifact about as large as the limit"] }

// limits rarely makes a run about as large as a limit.
func (g *streams) limits() {
	if g.target == project.FoldedStream && g.chance(0.5) {
		return // the other projections do not read the request
	}
	repeat := func(n int) []message {
		all := make([]message, n)
		for i := range all {
			all[i] = message{id: fmt.Sprintf("n-%d", i), role: "user", pieces: []string{"x"}}
		}
		return all
	}
	switch r := g.Float64(); {
	case r < 0.003:
		g.requested = repeat(pick(g.generator, []int{1_990, 1_998, 1_999, 2_000, 2_001, 2_001, 2_001, 2_005}))
		g.record("about as many messages as the limit")
	case r < 0.0055:
		n := pick(g.generator, []int{262_144, 262_144, 400, 400}) + g.IntN(3) - 1
		g.streamed = []message{{id: "long", role: "assistant", pieces: []string{strings.Repeat(pick(g.generator, []string{"a", "\u00e9", "\U0001f600", `\u0041`}), n)}}}
		g.record("content about as long as the limit")
	case r < 0.0062:
		n := 8<<20/34 - 90 + g.IntN(40)
		for i := range 34 {
			g.requested = append(g.requested, message{id: fmt.Sprintf("l-%d", i), role: "user", pieces: []string{strings.Repeat("a", n)}})
		}
		g.streamed = g.streamed[:min(len(g.streamed), 1)]
		g.record("an artifact about as large as the limit")
	case r < 0.008 && g.target != project.EmittedSnapshot:
		g.requested = repeat(1_500)
		g.rich = 0.9
		g.record("more omissions than are listed")
	}
}
