package chunk_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/chunk"
)

// kinds are the types of chunk, and those of the events that they stand for.
var kinds = []struct{ chunk, start, content, end, id, first, repeated string }{
	{"TEXT_MESSAGE_CHUNK", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "messageId", "", `"role":"assistant"`},
	{"TOOL_CALL_CHUNK", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "toolCallId", `,"toolCallName":"f"`, `"toolCallName":"f"`},
	{"REASONING_MESSAGE_CHUNK", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "messageId", "", `"role":"reasoning"`},
}

// TestUnchunked expands streams that are written with chunks and compares the result with
// the same streams written without chunks.
func TestUnchunked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type open struct {
			kind int
			id   string
		}
		tags := []string{"", `,"subagentRunId":"s"`, `,"subagentRunId":""`}
		lanes := map[string]*open{}
		var order []string // of the open lanes
		var chunked, want []string
		end := func(tag string) {
			if o := lanes[tag]; o != nil {
				want = append(want, fmt.Sprintf(`{"type":"%s","%s":"%s"%s}`, kinds[o.kind].end, kinds[o.kind].id, o.id, tag))
				delete(lanes, tag)
				order = slices.DeleteFunc(order, func(s string) bool { return s == tag })
			}
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "events") {
			tag := rapid.SampledFrom(tags).Draw(t, "tag")
			delta := fmt.Sprintf(`,"delta":"%d"`, i)
			o := lanes[tag]
			switch step := rapid.SampledFrom([]string{"begin", "begin", "continue", "continue", "continue", "end", "all", "none"}).Draw(t, "step"); {
			case step == "begin" || step == "continue" && o == nil:
				end(tag)
				kind := rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")
				k := kinds[kind]
				lanes[tag] = &open{kind, fmt.Sprintf("e%d", i)}
				order = append(order, tag)
				id := fmt.Sprintf(`,"%s":"e%d"`, k.id, i)
				want = append(want, fmt.Sprintf(`{"type":"%s"%s,%s%s}`, k.start, id, k.repeated, tag))
				if rapid.Bool().Draw(t, "delta") {
					want = append(want, fmt.Sprintf(`{"type":"%s"%s%s%s}`, k.content, id, delta, tag))
				} else {
					delta = ""
				}
				chunked = append(chunked, fmt.Sprintf(`{"type":"%s"%s%s%s%s}`, k.chunk, id, k.first, delta, tag))
			case step == "continue":
				k := kinds[o.kind]
				id := fmt.Sprintf(`,"%s":"%s"`, k.id, o.id)
				want = append(want, fmt.Sprintf(`{"type":"%s"%s%s%s}`, k.content, id, delta, tag))
				switch rapid.IntRange(0, 2).Draw(t, "form") {
				case 0: // with the id alone
					chunked = append(chunked, fmt.Sprintf(`{"type":"%s"%s%s}`, k.chunk, id, delta))
				case 1: // with the tag alone
					chunked = append(chunked, fmt.Sprintf(`{"type":"%s"%s%s}`, k.chunk, delta, tag))
				default:
					chunked = append(chunked, fmt.Sprintf(`{"type":"%s"%s%s%s}`, k.chunk, id, delta, tag))
				}
			case step == "none":
				event := fmt.Sprintf(`{"type":"RAW"%s}`, tag)
				chunked, want = append(chunked, event), append(want, event)
			default:
				event := fmt.Sprintf(`{"type":"CUSTOM"%s}`, tag)
				if step == "end" {
					end(tag)
				} else {
					event = `{"type":"RUN_FINISHED"}`
					for len(order) > 0 {
						end(order[0])
					}
				}
				chunked, want = append(chunked, event), append(want, event)
			}
		}
		got := []string{}
		var x chunk.Expander
		for _, text := range chunked {
			e, err := envelope.ReadEvent([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if fault := x.Expand(e, func(e *envelope.Event) { got = append(got, string(e.Data)) }); fault != nil {
				t.Fatalf("%s: %v", text, fault)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n-want +got\n%s", strings.Join(chunked, "\n"), diff)
		}
	})
}

// randomEvents returns events, most of them chunks, that share few ids, tags and names, so
// that they often continue, end and contradict each other. Every event is valid on its
// own, apart from null tags.
func randomEvents(r *rand.Rand) []string {
	pick := func(list ...string) string { return list[r.Intn(len(list))] }
	maybe := func(percent int, list ...string) string {
		if r.Intn(100) >= percent {
			return ""
		}
		return pick(list...)
	}
	tagged := 5 + r.Intn(90)
	named := 30 + r.Intn(70)
	var events []string
	for range 1 + r.Intn(40) {
		tag := maybe(tagged, `,"subagentRunId":"s"`, `,"subagentRunId":"s"`, `,"subagentRunId":"u"`, `,"subagentRunId":""`, `,"subagentRunId":null`)
		common := maybe(20, `,"timestamp":1`) + maybe(20, `,"metadata":{"k":[1,{"a":null}]}`, `,"metadata":{}`) + maybe(15, `,"rawEvent":{"b":"\ud800"}`, `,"rawEvent":0`) +
			maybe(10, `,"future":{"x":[]}`, `,"f\u0075ture":1`)
		id := func(key string) string { return maybe(named, `,"`+key+`":"a"`, `,"`+key+`":"\u0062"`, `,"`+key+`":""`) }
		delta := maybe(70, `,"delta":""`, `,"delta":"x"`, `,"delta":"\ud83d"`)
		switch r.Intn(12) {
		case 0, 1, 2, 3:
			events = append(events, `{"type":"TEXT_MESSAGE_CHUNK"`+id("messageId")+delta+maybe(20, `,"role":"assistant"`, `,"role":"user"`)+maybe(10, `,"name":"n"`, `,"toolCallId":"t"`)+common+tag+`}`)
		case 4, 5, 6:
			name := maybe(80, `,"toolCallName":"f"`, `,"toolCallName":"f"`, `,"toolCallName":"f"`, `,"toolCallName":"g"`)
			events = append(events, `{"type":"TOOL_CALL_CHUNK"`+id("toolCallId")+delta+name+maybe(15, `,"parentMessageId":"p"`, `,"messageId":"m"`)+common+tag+`}`)
		case 7, 8:
			events = append(events, `{"type":"REASONING_MESSAGE_CHUNK"`+id("messageId")+delta+maybe(10, `,"role":"user"`)+common+tag+`}`)
		default:
			kind := pick("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT",
				"STATE_SNAPSHOT", "STATE_DELTA", "CUSTOM", "STEP_STARTED", "STEP_FINISHED", "REASONING_START", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT",
				"REASONING_MESSAGE_END", "REASONING_END", "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT", "RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA",
				"REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR", "META")
			events = append(events, `{"type":"`+kind+`"`+common+tag+`}`)
		}
	}
	return events
}

// checkExpansion checks what holds for the expansion of any events: it has no chunks, each
// CONTENT and END that stands for a chunk belongs to a START before it, and expanding it
// again changes nothing.
func checkExpansion(t testing.TB, events []string) {
	t.Helper()
	var x, again chunk.Expander
	open := map[string]int{}
	for i, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			continue
		}
		e.Index = i
		last := false
		fault := x.Expand(e, func(y *envelope.Event) {
			checkEvent(t, e, y)
			if slices.Contains([]string{"TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CHUNK"}, y.Type) {
				t.Errorf("%s was not expanded", y.Data)
			}
			if last {
				t.Errorf("%s follows the event itself", y.Data)
			}
			if last = y == e; last {
				return
			}
			for _, k := range kinds {
				key := k.start + y.Text(k.id)
				switch y.Type {
				case k.start:
					open[key]++
				case k.content, k.end:
					if open[key] != 1 {
						t.Errorf("event %d: %s: %d streams are open", i, y.Data, open[key])
					}
					if y.Type == k.end {
						delete(open, key)
					}
				}
			}
			n := 0
			if again.Expand(y, func(*envelope.Event) { n++ }) != nil || n != 1 {
				t.Errorf("%s was expanded again", y.Data)
			}
		})
		if fault != nil && (fault.Key == "" || fault.Text == "" || last ||
			!slices.Contains([]chunk.Reason{chunk.Malformed, chunk.Incomplete, chunk.Ambiguous, chunk.Conflict, chunk.TooLarge}, fault.Reason)) {
			t.Errorf("event %d: the fault is %+v", i, fault)
		}
	}
}

func TestRandom(t *testing.T) {
	t.Parallel()
	faults := map[string]int{}
	for seed := range int64(400) {
		events := randomEvents(rand.New(rand.NewSource(seed)))
		checkExpansion(t, events)
		for _, line := range expand(t, events) {
			if line[0] != '{' {
				faults[line]++
			}
		}
	}
	for _, fault := range []string{
		"incomplete messageId", "incomplete toolCallId", "incomplete toolCallName", "ambiguous messageId", "ambiguous toolCallId",
		"conflict role", "conflict name", "conflict toolCallName", "conflict parentMessageId", "conflict subagentRunId",
	} {
		if faults[fault] == 0 {
			t.Errorf("no stream has the fault %s", fault)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for seed := range int64(20) {
		f.Add([]byte(strings.Join(randomEvents(rand.New(rand.NewSource(seed))), "\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkExpansion(t, strings.Split(string(data), "\n"))
	})
}

func BenchmarkExpand(b *testing.B) {
	for _, test := range []struct{ name, first, next string }{
		{"chunk", `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m"}`, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"Hello, world."}`},
		{"content", `{"type":"TEXT_MESSAGE_START","messageId":"m"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hello, world."}`},
	} {
		b.Run(test.name, func(b *testing.B) {
			var x chunk.Expander
			first, next := read(b, 0, test.first), read(b, 1, test.next)
			count := 0
			yield := func(*envelope.Event) { count++ }
			x.Expand(first, yield)
			b.ReportAllocs()
			b.SetBytes(int64(len(test.next)))
			for b.Loop() {
				x.Expand(next, yield)
			}
		})
	}
}
