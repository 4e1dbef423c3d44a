// Package captures generates captures for benchmarks. The same shape, size and seed give the
// same bytes on every machine. The shapes copy what real integrations send: the keys and
// their order, the lengths of deltas and ids, escapes and text outside ASCII, keep-alive
// comments, and events between the messages.
//
// Every capture is one run that emitted-snapshot freezes. Its snapshot has the latest messages
// only, at most about a megabyte, because an artifact is limited to 8 MiB. Runs of the shapes
// without timestamps need operator times.
package captures

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// Shape names the kind of events that a capture consists of.
type Shape string

const (
	// ADK has text deltas of about 30 bytes in events of about 130 bytes, as the ADK
	// middleware sends them.
	ADK Shape = "adk"
	// Timestamped has the events of ADK with a timestamp in each, as Pydantic AI sends them.
	Timestamped Shape = "timestamped"
	// LangGraph has few deltas, each sent three times, between RAW events of 10 to 100 KB
	// with the conversation so far, as LangGraph sends them.
	LangGraph Shape = "langgraph"
	// Dense has the events of ADK with deltas of a single token.
	Dense Shape = "dense"
)

// Shapes lists the shapes.
func Shapes() []Shape { return []Shape{ADK, Timestamped, LangGraph, Dense} }

// ParseShape returns the named shape.
func ParseShape(name string) (Shape, error) {
	if s := Shape(name); slices.Contains(Shapes(), s) {
		return s, nil
	}
	return "", fmt.Errorf("shape %q is not known; the shapes are %q", name, Shapes())
}

// maxDeltas is the largest number of deltas in a message.
const maxDeltas = 2000

// maxHistory bounds the messages of the final snapshot, in bytes and in number.
const (
	maxHistory         = 1 << 20
	maxHistoryMessages = 1000
)

// Write writes a capture of about size bytes. It is larger only if the size is too small for
// a message: a kilobyte, or 32 KB for LangGraph.
func Write(w io.Writer, shape Shape, size int64, seed uint64) error {
	g := &generator{
		w: bufio.NewWriterSize(w, 1<<20), shape: shape, left: size,
		random: rand.New(rand.NewPCG(seed, uint64(len(shape)))),
		now:    1_795_287_361_000,
	}
	g.thread, g.run = g.uuid(), g.uuid()
	g.event("RUN_STARTED", `"threadId":"`, g.thread, `","runId":"`, g.run, `","protocolVersion":"1.0"`)
	g.remember("user", g.uuid(), "", g.sentence(4, 12))
	if shape == LangGraph {
		g.langGraph()
	} else {
		g.conversation()
	}
	g.event("MESSAGES_SNAPSHOT", `"messages":[`, strings.Join(g.history, ","), `]`)
	g.event("RUN_FINISHED", `"threadId":"`, g.thread, `","runId":"`, g.run, `"`)
	return g.w.Flush()
}

// A generator writes one capture.
type generator struct {
	w           *bufio.Writer
	shape       Shape
	left        int64 // bytes that remain of the wanted size
	random      *rand.Rand
	now         int64 // milliseconds since 1970
	thread, run string

	history      []string // messages of the snapshot, in JSON
	historyBytes int
}

// event writes an event with a type and the members that the parts make up.
func (g *generator) event(name string, parts ...string) {
	stamp := ""
	if g.shape == Timestamped {
		if g.random.IntN(5) > 1 {
			g.now += g.random.Int64N(40)
		}
		stamp = fmt.Sprintf(`"timestamp":%d,`, g.now)
	}
	g.put(`data: {"type":"`, name, `",`, stamp)
	g.put(parts...)
	g.put("}\n\n")
}

func (g *generator) put(parts ...string) {
	for _, s := range parts {
		g.w.WriteString(s) // Flush returns the error
		g.left -= int64(len(s))
	}
}

// turn is the size of the shortest message and of what comes before it, in bytes.
const turn = 1200

// more reports whether there is room for more events before the snapshot, which holds extra
// more bytes by then.
func (g *generator) more(extra int) bool {
	const ends = 400 // TEXT_MESSAGE_END, and the frames of the snapshot and RUN_FINISHED
	return g.left > int64(g.historyBytes+extra+ends)
}

// remember adds a message to the snapshot, and drops the oldest messages beyond its limits.
func (g *generator) remember(role, id, name, content string) {
	if name != "" {
		name = `","name":"` + name
	}
	g.history = append(g.history, `{"id":"`+id+`","role":"`+role+name+`","content":"`+content+`"}`)
	g.historyBytes += len(g.history[len(g.history)-1]) + 1
	for g.historyBytes > maxHistory || len(g.history) > maxHistoryMessages {
		g.historyBytes -= len(g.history[0]) + 1
		g.history = g.history[1:]
	}
}

// conversation writes messages, tool calls and changes of state.
func (g *generator) conversation() {
	for first := true; first || g.more(turn); first = false {
		if !first {
			g.between()
		}
		g.message()
	}
	g.event("STATE_SNAPSHOT", `"snapshot":{"_ag_ui_thread_id":"`, g.thread, `","_ag_ui_app_name":"bench"}`)
}

// message writes one streamed message. The number of deltas is distributed evenly on a
// logarithmic scale, so that short and long messages are equally likely.
func (g *generator) message() {
	id := g.uuid()
	g.event("TEXT_MESSAGE_START", `"messageId":"`, id, `","role":"assistant"`)
	deltas := 3
	for deltas < maxDeltas && g.random.IntN(8) > 0 {
		deltas += 1 + deltas/2
	}
	least, most := 1, 9
	if g.shape == Dense {
		least, most = 1, 1
	}
	var content strings.Builder
	for i := 0; i < deltas || !g.more(turn+content.Len()+150); i++ { // the last message fills the capture
		delta := g.text(least, most)
		if i == 0 {
			delta = g.sentence(0, most-1) // a snapshot has no blank message
		} else if !g.more(content.Len() + 2*len(delta) + 250) {
			break
		}
		g.event("TEXT_MESSAGE_CONTENT", `"messageId":"`, id, `","delta":"`, delta, `"`)
		content.WriteString(delta)
		if g.random.IntN(4000) == 0 {
			g.put(": ping - 2026-11-21 09:39:22.011679+00:00\r\n\r\n")
		}
	}
	g.event("TEXT_MESSAGE_END", `"messageId":"`, id, `"`)
	g.remember("assistant", id, "guide", content.String())
}

// between writes what comes between two messages of the assistant: a tool call, a change of
// state or a question of the user, which is only in the snapshot.
func (g *generator) between() {
	switch g.random.IntN(3) {
	case 0:
		call := "adk-" + g.uuid()
		g.event("TOOL_CALL_START", `"toolCallId":"`, call, `","toolCallName":"get_weather"`)
		g.event("TOOL_CALL_ARGS", `"toolCallId":"`, call, `","delta":"{\"city\":\"`, g.word(), `\"}"`)
		g.event("TOOL_CALL_END", `"toolCallId":"`, call, `"`)
		g.event("TOOL_CALL_RESULT", `"messageId":"`, g.uuid(), `","toolCallId":"`, call,
			fmt.Sprintf(`","content":"{\"celsius\": %d, \"sky\": \"`, g.random.IntN(60)-20), g.word(), `\"}"`)
	case 1:
		g.event("STATE_DELTA", fmt.Sprintf(`"delta":[{"op":"add","path":"/turn%d","value":{"note":"`, g.random.IntN(100)), g.text(2, 6),
			fmt.Sprintf(`","score":%.4f,"done":%t}}]`, g.random.Float64(), g.random.IntN(2) == 0))
	default:
		g.remember("user", g.uuid(), "", g.sentence(4, 30))
	}
}

// uuid returns a random UUID of version 4.
func (g *generator) uuid() string {
	a, b := g.random.Uint64(), g.random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}
