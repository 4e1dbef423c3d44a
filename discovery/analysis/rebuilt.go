package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// Rebuilt compares the messages that a client rebuilds from the request and the events of
// a run, without its snapshots, with the messages of the last snapshot.
type Rebuilt struct {
	// Rebuilt and Emitted count the messages.
	Rebuilt int
	Emitted int
	// Same counts the pairs of messages that are the same: they have the same role,
	// content, tool calls, call that they answer, and error. OtherID and OtherName count
	// those of them whose id or name differs.
	Same      int
	OtherID   int
	OtherName int
	// Deviations counts the other messages by what is different. Messages that are
	// joined or split count once.
	Deviations map[Deviation]int
}

// Agrees reports whether all messages are the same and in the same order. Their ids and
// names may differ.
func (r Rebuilt) Agrees() bool { return len(r.Deviations) == 0 }

// Identical reports whether the ids and names are the same too.
func (r Rebuilt) Identical() bool { return r.Agrees() && r.OtherID == 0 && r.OtherName == 0 }

// Deviation is a way in which rebuilt and emitted messages differ.
type Deviation string

// The deviations of messages that are only in the snapshot, of those that are only in the
// stream, of groups, and of two messages of the same role.
const (
	EmittedInstructions Deviation = "a system or developer message is only in the snapshot"
	EmittedResult       Deviation = "a tool result is only in the snapshot"
	EmittedEmpty        Deviation = "a message without content is only in the snapshot"
	EmittedTwice        Deviation = "a message is in the snapshot twice"
	EmittedOther        Deviation = "another message is only in the snapshot"

	StreamedReasoning Deviation = "reasoning is only in the stream"
	StreamedTwice     Deviation = "a message is in the stream twice"
	StreamedText      Deviation = "text is only in the stream"
	StreamedOther     Deviation = "another message is only in the stream"

	Moved  Deviation = "a message is at another position"
	Joined Deviation = "two messages of the stream are one in the snapshot"
	Split  Deviation = "one message of the stream is two in the snapshot"

	ContentSpace  Deviation = "content differs in white space at its ends"
	ContentParts  Deviation = "content parts have another form"
	ContentOther  Deviation = "content differs"
	CallsEmitted  Deviation = "tool calls are only in the snapshot"
	CallsStreamed Deviation = "tool calls are only in the stream"
	CallsOther    Deviation = "tool calls differ"
	ResultOther   Deviation = "the call or the error of a tool result differs"
)

// Deviations returns all deviations, in the order in which a report lists them.
func Deviations() []Deviation {
	return []Deviation{
		EmittedInstructions, EmittedResult, EmittedEmpty, EmittedTwice, EmittedOther,
		StreamedReasoning, StreamedTwice, StreamedText, StreamedOther,
		Moved, Joined, Split,
		ContentSpace, ContentParts, ContentOther, CallsEmitted, CallsStreamed, CallsOther, ResultOther,
	}
}

// CompareRebuilt compares two JSON arrays of AG-UI messages.
func CompareRebuilt(rebuilt, emitted []byte) (Rebuilt, error) {
	a, err := readHistory(rebuilt)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("the rebuilt messages: %w", err)
	}
	b, err := readHistory(emitted)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("the emitted messages: %w", err)
	}
	c := comparison{rebuilt: a, emitted: b, result: Rebuilt{Rebuilt: len(a), Emitted: len(b), Deviations: map[Deviation]int{}}}
	c.compare()
	return c.result, nil
}

// historyMessage is a message as far as it is compared.
type historyMessage struct {
	id, name string
	text     string // the content if it is a string
	historyKey
	paired bool
}

// historyKey is what the same messages have in common. Its texts are canonical: those of
// equal values are equal.
type historyKey struct {
	role    string
	content string // a JSON text; empty if there is no content
	calls   string // empty if there are no tool calls
	answers string // what else a message that is not the assistant's has
}

// history is a list of messages.
type history []historyMessage

func (h history) keys() []historyKey {
	list := make([]historyKey, len(h))
	for i, m := range h {
		list[i] = m.historyKey
	}
	return list
}

// waiting returns the indexes of messages without a pair, in order, by what group returns
// for them.
func waiting[K comparable](h history, group func(m *historyMessage) K) map[K][]int {
	all := make(map[K][]int)
	for i := range h {
		if m := &h[i]; !m.paired {
			all[group(m)] = append(all[group(m)], i)
		}
	}
	return all
}

func keyOf(m *historyMessage) historyKey { return m.historyKey }
func roleOf(m *historyMessage) string    { return m.role }

// take returns the first of the indexes in a group and removes it.
func take[K comparable](all map[K][]int, group K) (i int, ok bool) {
	list := all[group]
	if len(list) == 0 {
		return 0, false
	}
	all[group] = list[1:]
	return list[0], true
}

type comparison struct {
	rebuilt, emitted history
	result           Rebuilt
}

// compare pairs the messages: the same ones in order, the same ones in another order, two
// that are the same as one, and then those of the same role, in order.
func (c *comparison) compare() {
	for _, p := range longestCommon(c.rebuilt.keys(), c.emitted.keys()) {
		c.pairSame(p.folded, p.emitted)
	}
	moved := waiting(c.emitted, keyOf)
	for i := range c.rebuilt {
		if c.rebuilt[i].paired {
			continue
		}
		if j, ok := take(moved, c.rebuilt[i].historyKey); ok {
			c.pairSame(i, j)
			c.count(Moved)
		}
	}
	for range joined(c.rebuilt, c.emitted) {
		c.count(Joined)
	}
	for range joined(c.emitted, c.rebuilt) {
		c.count(Split)
	}
	rest := waiting(c.emitted, roleOf)
	for i := range c.rebuilt {
		a := &c.rebuilt[i]
		if a.paired {
			continue
		}
		if j, ok := take(rest, a.role); ok {
			a.paired, c.emitted[j].paired = true, true
			c.deviate(a, &c.emitted[j])
		}
	}
	streamed, emitted := frequencies(c.rebuilt), frequencies(c.emitted)
	for i := range c.rebuilt {
		if m := &c.rebuilt[i]; !m.paired {
			c.count(onlyStreamed(m, streamed[m.historyKey] > 1))
		}
	}
	for j := range c.emitted {
		if m := &c.emitted[j]; !m.paired {
			c.count(onlyEmitted(m, emitted[m.historyKey] > 1))
		}
	}
}

func (c *comparison) count(d Deviation) { c.result.Deviations[d]++ }

func (c *comparison) pairSame(i, j int) {
	a, b := &c.rebuilt[i], &c.emitted[j]
	a.paired, b.paired = true, true
	c.result.Same++
	if a.id != b.id {
		c.result.OtherID++
	}
	if a.name != b.name {
		c.result.OtherName++
	}
}

// joined pairs two messages that follow each other in parts, the first with only content
// and the second with only tool calls, with the first message of wholes that is the same as
// both together. It returns how often it does.
func joined(parts, wholes history) (n int) {
	whole := waiting(wholes, keyOf)
	for i := 0; i+1 < len(parts); i++ {
		first, second := &parts[i], &parts[i+1]
		if first.paired || second.paired || first.role != second.role || first.calls != "" || second.content != "" || second.calls == "" {
			continue
		}
		both := first.historyKey
		both.calls = second.calls
		if j, ok := take(whole, both); ok {
			first.paired, second.paired, wholes[j].paired = true, true, true
			n++
		}
	}
	return n
}

// deviate counts what is different in two messages of the same role.
func (c *comparison) deviate(a, b *historyMessage) {
	switch {
	case a.content == b.content:
	case a.text != "" && b.text != "" && trimJSONSpace(a.text) == trimJSONSpace(b.text):
		c.count(ContentSpace)
	case strings.HasPrefix(a.content, "[") && strings.HasPrefix(b.content, "["):
		c.count(ContentParts)
	default:
		c.count(ContentOther)
	}
	switch {
	case a.calls == b.calls:
	case a.calls == "":
		c.count(CallsEmitted)
	case b.calls == "":
		c.count(CallsStreamed)
	default:
		c.count(CallsOther)
	}
	if a.answers != b.answers {
		c.count(ResultOther)
	}
}

// trimJSONSpace returns a text without white space, as JSON defines it, at its ends.
func trimJSONSpace(s string) string { return strings.Trim(s, " \t\r\n") }

// frequencies counts the messages that are the same.
func frequencies(h history) map[historyKey]int {
	counts := make(map[historyKey]int, len(h))
	for i := range h {
		counts[h[i].historyKey]++
	}
	return counts
}

// onlyStreamed returns the deviation of a rebuilt message without a pair.
func onlyStreamed(m *historyMessage, repeated bool) Deviation {
	switch {
	case repeated:
		return StreamedTwice
	case m.role == "reasoning":
		return StreamedReasoning
	case m.text != "":
		return StreamedText
	}
	return StreamedOther
}

// onlyEmitted returns the deviation of an emitted message without a pair.
func onlyEmitted(m *historyMessage, repeated bool) Deviation {
	switch {
	case m.role == "system" || m.role == "developer":
		return EmittedInstructions
	case m.role == "tool":
		return EmittedResult
	case m.content == "" && m.calls == "":
		return EmittedEmpty
	case repeated:
		return EmittedTwice
	}
	return EmittedOther
}

// readHistory reads a JSON array of messages. Elements that are not objects are skipped.
func readHistory(data []byte) (list history, err error) {
	v, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	array, ok := v.(*jsonvalue.Array)
	if !ok {
		return nil, fmt.Errorf("not an array")
	}
	for _, element := range array.All {
		o, ok := element.(*jsonvalue.Object)
		if !ok {
			continue
		}
		m := historyMessage{id: textOf(o, "id"), name: textOf(o, "name"), text: textOf(o, "content")}
		m.role = textOf(o, "role")
		if content, _ := o.Get("content"); content != nil && content != "" {
			m.content = canonical(content)
		}
		if calls, _ := o.Get("toolCalls"); calls != nil {
			m.calls = canonicalCalls(calls)
		}
		for _, key := range []string{"toolCallId", "error", "activityType"} {
			if v, _ := o.Get(key); v != nil && m.role != "assistant" {
				m.answers += key + canonical(v)
			}
		}
		list = append(list, m)
	}
	return list, nil
}

// canonicalCalls returns tool calls as an array of their ids, names and arguments, or an
// empty text if there are none. Arguments that are JSON are compared as values.
func canonicalCalls(calls jsonvalue.Value) string {
	array, ok := calls.(*jsonvalue.Array)
	if !ok {
		return canonical(calls)
	}
	var b strings.Builder
	for _, element := range array.All {
		o, ok := element.(*jsonvalue.Object)
		if !ok {
			b.WriteString(canonical(element))
			continue
		}
		var name, arguments string
		if v, _ := o.Get("function"); v != nil {
			if f, ok := v.(*jsonvalue.Object); ok {
				name, arguments = textOf(f, "name"), textOf(f, "arguments")
			}
		}
		value := canonical(arguments)
		if v, err := parseJSON([]byte(arguments)); err == nil {
			value = "JSON " + canonical(v)
		}
		fmt.Fprintf(&b, "[%s,%s,%s]", canonical(textOf(o, "id")), canonical(name), value)
	}
	return b.String()
}

// textOf returns the value of a key if it is a string.
func textOf(o *jsonvalue.Object, key string) string {
	v, _ := o.Get(key)
	s, _ := v.(string)
	return s
}

func parseJSON(data []byte) (jsonvalue.Value, error) {
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, strictjson.NewDecoder(data), data)
	if err != nil {
		return nil, err
	}
	return jsonvalue.Parse(v), nil
}

// canonical returns a JSON text that is the same for equal values: its keys are sorted,
// and its numbers are rounded to binary64.
func canonical(v jsonvalue.Value) string {
	switch v := v.(type) {
	case jsonvalue.Number:
		return strconv.FormatFloat(jsonvalue.Float64(v)+0, 'g', -1, 64) // 0 for -0
	case *jsonvalue.Array:
		var parts []string
		for _, e := range v.All {
			parts = append(parts, canonical(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *jsonvalue.Object:
		var parts []string
		for name, e := range v.All {
			parts = append(parts, string(jsonvalue.AppendString(nil, name))+":"+canonical(e))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	return string(jsonvalue.Append(nil, v))
}
