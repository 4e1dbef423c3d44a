package project_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
)

// units returns the UTF-16 code units of a text as JSON escapes, so that the text
// can be cut anywhere, even within a surrogate pair.
func units(s string) []string {
	var out []string
	for _, u := range utf16.Encode([]rune(s)) {
		switch {
		case u >= 0x20 && u < 0x7f && u != '"' && u != '\\':
			out = append(out, string(rune(u)))
		default:
			out = append(out, fmt.Sprintf(`\u%04x`, u))
		}
	}
	return out
}

// plain draws a text that is not blank.
func plain(t *rapid.T, label string) string {
	return "x" + rapid.StringOfN(rapid.RuneFrom([]rune("a \"\\\n\x00é<\u2028😀🙂\U0010ffff")), 0, 8, -1).Draw(t, label)
}

// TestFoldProperty streams messages in a random valid interleaving of text events
// and compares the result with a naive fold.
func TestFoldProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type message struct {
			id, role, name string
			pieces         []string // of escaped text still to be streamed
			chunks         bool
			begun, open    bool
			ended          int
		}
		var (
			all    []*message
			order  []*message
			texts  = map[string]string{}
			events = []string{started}
		)
		for i := range rapid.IntRange(1, 5).Draw(t, "messages") {
			m := &message{id: fmt.Sprintf("m%d", i), chunks: rapid.Bool().Draw(t, "chunks")}
			if i == 4 {
				m.id = "" + m.id + "é" // not ASCII
			}
			m.role = rapid.SampledFrom([]string{"", "assistant", "user", "system", "developer"}).Draw(t, "role")
			if rapid.Bool().Draw(t, "named") {
				m.name = plain(t, "name")
			}
			text := plain(t, "text")
			texts[m.id] = text
			u := units(text)
			for len(u) > 0 {
				n := rapid.IntRange(0, len(u)).Draw(t, "cut")
				m.pieces = append(m.pieces, strings.Join(u[:n], ""))
				u = u[n:]
				if len(m.pieces) > 20 {
					m.pieces = append(m.pieces, strings.Join(u, ""))
					break
				}
			}
			all = append(all, m)
		}
		id := func(m *message) string { return strings.Join(units(m.id), "") }
		opener := func(m *message) (more []string) {
			if m.role != "" {
				more = append(more, `"role":"`+m.role+`"`)
			}
			if m.name != "" {
				more = append(more, `"name":"`+strings.Join(units(m.name), "")+`"`)
			}
			return more
		}
		var current *message // continued by chunks without an id
		for {
			var open []*message
			for _, m := range all {
				if len(m.pieces) > 0 || m.open && m.ended == 0 && rapid.Bool().Draw(t, "close") {
					open = append(open, m)
				}
			}
			if len(open) == 0 {
				break
			}
			m := rapid.SampledFrom(open).Draw(t, "next")
			if !m.begun {
				order = append(order, m)
			}
			switch rapid.IntRange(0, 9).Draw(t, "beside") {
			case 0:
				events = append(events, `{"type":"RAW","event":{}}`)
			case 1:
				events, current = append(events, `{"type":"STATE_DELTA","delta":[]}`), nil
			case 2:
				events = append(events, textStart("sub", `"subagentRunId":"s"`), textContent("sub", "no", `"subagentRunId":"s"`))
			}
			if m.chunks {
				members := []string{}
				if current != m || rapid.Bool().Draw(t, "id again") {
					members = append(members, `"messageId":"`+id(m)+`"`)
				}
				if !m.begun {
					members = append(members, opener(m)...)
				}
				if len(m.pieces) > 0 {
					members = append(members, `"delta":"`+m.pieces[0]+`"`)
					m.pieces = m.pieces[1:]
				}
				events = append(events, chunk(members...))
				m.begun, current = true, m
				continue
			}
			current = nil
			switch {
			case !m.open:
				events = append(events, textStart(id(m), opener(m)...))
				m.begun, m.open = true, true
			case len(m.pieces) > 0 && rapid.IntRange(0, 3).Draw(t, "reopen") > 0:
				events = append(events, textContent(id(m), m.pieces[0]))
				m.pieces = m.pieces[1:]
			default:
				events = append(events, textEnd(id(m)))
				m.open = false
				if len(m.pieces) == 0 {
					m.ended++
				}
			}
		}
		var want []artifact.Message
		for _, m := range order {
			if m.role == "" {
				m.role = "assistant"
			}
			want = append(want, artifact.Message{ID: m.id, Role: m.role, Content: texts[m.id], Name: m.name})
		}
		r := projectRun(t, folded, request(), append(events, failed)...)
		if r.out == nil {
			t.Fatalf("%v\n%s", formatFindings(r.findings), strings.Join(events, "\n"))
		}
		if diff := cmp.Diff(want, r.out.Artifact.Messages); diff != "" {
			t.Errorf("%s\n%s", diff, strings.Join(events, "\n"))
		}
		for _, o := range formatOmissions(r.out.Omissions) {
			if !strings.HasPrefix(o, "subagent_text ") {
				t.Errorf("left out: %s", o)
			}
		}
	})
}

// TestEmittedProperty freezes random plain runs: the artifact's messages are
// the snapshot's as encoding/json reads them.
func TestEmittedProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type message struct {
			ID      string `json:"id"`
			Role    string `json:"role"`
			Content string `json:"content"`
			Name    string `json:"name,omitempty"`
		}
		var messages []message
		for i := range rapid.IntRange(1, 6).Draw(t, "messages") {
			m := message{ID: fmt.Sprint(i, plain(t, "id")), Role: rapid.SampledFrom(artifact.Roles()).Draw(t, "role"), Content: plain(t, "content")}
			if rapid.Bool().Draw(t, "named") {
				m.Name = plain(t, "name")
			}
			messages = append(messages, m)
		}
		data, err := json.Marshal(map[string]any{"type": "MESSAGES_SNAPSHOT", "messages": messages})
		if err != nil {
			t.Fatal(err)
		}
		var read struct{ Messages []message }
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		var want []artifact.Message
		for _, m := range read.Messages {
			want = append(want, artifact.Message{ID: m.ID, Role: m.Role, Content: m.Content, Name: m.Name})
		}
		end := rapid.SampledFrom([]string{finished, failed}).Draw(t, "end")
		for _, s := range []string{"", "text"} {
			settings := strict
			if s != "" {
				settings = text("last", "")
			}
			r := projectRun(t, settings, "", started, string(data), end)
			if r.out == nil || len(r.out.Omissions) != 0 {
				t.Fatalf("%v\n%s", formatFindings(r.findings), data)
			}
			a, broken := artifact.Decode(r.out.Bytes, artifact.V1)
			if a == nil || len(broken) != 0 {
				t.Fatal(formatFindings(broken))
			}
			if diff := cmp.Diff(want, a.Messages); diff != "" {
				t.Error(diff)
			}
			if want := started + "\n" + string(data) + "\n" + end + "\n"; string(r.out.Envelope) != want {
				t.Error(cmp.Diff(want, string(r.out.Envelope)))
			}
		}
	})
}
