package judge

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// Damage returns a copy of events that breaks sequence rules, mostly: some damage happens
// to keep them. Each event stays one of its schema, apart from null where the client's
// verification looks for it.
func Damage(r *rand.Rand, events []string) []string {
	d := &damage{r: r, events: slices.Clone(events)}
	for range 1 + r.IntN(3) {
		d.once()
	}
	return d.events
}

type damage struct {
	r      *rand.Rand
	events []string
}

// at returns the index of an event, or of the end if end is true.
func (d *damage) at(end bool) int {
	n := len(d.events)
	if end {
		n++
	}
	return d.r.IntN(n)
}

func (d *damage) insert(at int, events ...string) {
	d.events = slices.Insert(d.events, at, events...)
}

func (d *damage) choose(from ...string) string { return from[d.r.IntN(len(from))] }

func (d *damage) once() {
	if len(d.events) == 0 {
		d.insert(0, finish)
	}
	switch d.r.IntN(12) {
	case 0: // lose an event
		i := d.at(false)
		d.events = slices.Delete(d.events, i, i+1)
	case 1: // send an event again
		i := d.at(false)
		d.insert(min(len(d.events), i+1+d.r.IntN(3)), d.events[i])
	case 2: // send an event late
		i, k := d.at(false), d.at(false)
		event := d.events[i]
		d.events = slices.Delete(d.events, i, i+1)
		d.insert(k, event)
	case 3: // lose the start
		d.events = d.events[d.r.IntN(1+len(d.events)/2):]
	case 4: // name another subagent
		d.tag(d.at(false), d.choose(`"s1"`, `"s9"`, `""`, `null`))
	case 5: // name another entity
		i := d.at(false)
		found := id.FindAllStringSubmatchIndex(d.events[i], -1)
		if len(found) > 0 {
			m := found[d.r.IntN(len(found))]
			d.events[i] = d.events[i][:m[4]] + d.someID() + d.events[i][m[5]:]
		}
	case 6, 7: // an event that does not fit there
		i := d.at(true)
		event := strings.ReplaceAll(d.choose(strays...), "ID", d.someID())
		d.insert(i, event)
		if d.r.IntN(4) == 0 {
			d.tag(i, d.choose(`"s1"`, `"s9"`, `null`))
		}
	case 8: // a run that ends with something open, or twice
		d.insert(d.at(true), finish)
	case 9: // a run that starts in another
		d.insert(d.at(true), begin)
	default: // a whole scene, which breaks one rule
		scene := scenes[d.r.IntN(len(scenes))]
		i := d.at(true)
		d.insert(i, scene...)
	}
}

// tag makes an event name a subagent.
func (d *damage) tag(i int, subagent string) {
	e := d.events[i]
	if m := tagged.FindStringSubmatchIndex(e); m != nil {
		d.events[i] = e[:m[2]] + subagent + e[m[3]:]
		return
	}
	d.events[i] = strings.TrimSuffix(e, "}") + `,"subagentRunId":` + subagent + "}"
}

var (
	tagged = regexp.MustCompile(`"subagentRunId":("[^"]*"|null)`)
	id     = regexp.MustCompile(`"(messageId|toolCallId|parentMessageId|stepName|entityId|parentSubagentRunId)":("[^"\\]*")`)
)

// someID returns an id that some event has, as a JSON string.
func (d *damage) someID() string {
	for range 10 {
		if m := id.FindStringSubmatch(d.events[d.at(false)]); m != nil {
			return m[2]
		}
	}
	return `"m1"`
}

const (
	begin  = `{"type":"RUN_STARTED","threadId":"t","runId":"again"}`
	finish = `{"type":"RUN_FINISHED","threadId":"t","runId":"run1"}`
)

// strays are events that need others before them, or must not come again. ID stands for an
// id of the stream.
var strays = []string{
	`{"type":"TEXT_MESSAGE_START","messageId":ID}`,
	`{"type":"TEXT_MESSAGE_CONTENT","messageId":ID,"delta":"stray"}`,
	`{"type":"TEXT_MESSAGE_END","messageId":ID}`,
	`{"type":"TOOL_CALL_START","toolCallId":ID,"toolCallName":"search"}`,
	`{"type":"TOOL_CALL_START","toolCallId":"t99","toolCallName":"search","parentMessageId":ID}`,
	`{"type":"TOOL_CALL_ARGS","toolCallId":ID,"delta":"stray"}`,
	`{"type":"TOOL_CALL_END","toolCallId":ID}`,
	`{"type":"REASONING_START","messageId":ID}`,
	`{"type":"REASONING_END","messageId":ID}`,
	`{"type":"REASONING_MESSAGE_START","messageId":ID,"role":"reasoning"}`,
	`{"type":"REASONING_MESSAGE_CONTENT","messageId":ID,"delta":"stray"}`,
	`{"type":"REASONING_MESSAGE_END","messageId":ID}`,
	`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"message","entityId":ID,"encryptedValue":"x","subagentRunId":"s9"}`,
	`{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":ID,"encryptedValue":"x","subagentRunId":"s9"}`,
	`{"type":"ACTIVITY_DELTA","messageId":ID,"activityType":"plan","patch":[],"subagentRunId":"s9"}`,
	`{"type":"STEP_STARTED","stepName":ID}`,
	`{"type":"STEP_FINISHED","stepName":ID}`,
	`{"type":"SUBAGENT_STARTED","subagentRunId":"s1","name":"n"}`,
	`{"type":"SUBAGENT_STARTED","subagentRunId":"s8","name":"n","parentSubagentRunId":ID}`,
	`{"type":"SUBAGENT_FINISHED","subagentRunId":"s1"}`,
	`{"type":"SUBAGENT_ERROR","subagentRunId":"s1","message":"m"}`,
	`{"type":"RUN_ERROR","message":"early"}`,
	`{"type":"TEXT_MESSAGE_CHUNK","delta":"stray"}`,
	`{"type":"TEXT_MESSAGE_CHUNK","messageId":ID,"delta":"stray"}`,
	`{"type":"TEXT_MESSAGE_CHUNK","messageId":ID,"role":"user","name":"n","delta":"stray"}`,
	`{"type":"TOOL_CALL_CHUNK","delta":"stray"}`,
	`{"type":"TOOL_CALL_CHUNK","toolCallId":ID,"delta":"stray"}`,
	`{"type":"TOOL_CALL_CHUNK","toolCallId":ID,"toolCallName":"other"}`,
	`{"type":"REASONING_MESSAGE_CHUNK","delta":"stray"}`,
	`{"type":"REASONING_MESSAGE_CHUNK","messageId":ID,"delta":"stray"}`,
}

// scenes each break one rule wherever they stand in a run.
var scenes = [][]string{
	{`{"type":"TEXT_MESSAGE_START","messageId":"n1"}`, `{"type":"TEXT_MESSAGE_START","messageId":"n1"}`},
	{`{"type":"TEXT_MESSAGE_START","messageId":"n1"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"n1","delta":"","subagentRunId":"s9"}`},
	{`{"type":"TEXT_MESSAGE_START","messageId":"n1","subagentRunId":"s9"}`, `{"type":"TEXT_MESSAGE_END","messageId":"n1"}`, `{"type":"TEXT_MESSAGE_START","messageId":"n1","subagentRunId":"s8"}`},
	{`{"type":"TEXT_MESSAGE_START","messageId":"n1","subagentRunId":null}`},
	{`{"type":"TEXT_MESSAGE_START","messageId":"n1"}`, `{"type":"TEXT_MESSAGE_END","messageId":"n1"}`, `{"type":"TOOL_CALL_START","toolCallId":"n2","toolCallName":"f","parentMessageId":"n1","subagentRunId":"s9"}`},
	{`{"type":"TOOL_CALL_RESULT","messageId":"n1","toolCallId":"n2","content":"","subagentRunId":"s9"}`, `{"type":"TOOL_CALL_START","toolCallId":"n2","toolCallName":"f"}`, `{"type":"TOOL_CALL_END","toolCallId":"n2"}`, `{"type":"TOOL_CALL_START","toolCallId":"n2","toolCallName":"f","parentMessageId":"n1"}`},
	{`{"type":"TOOL_CALL_START","toolCallId":"n2","toolCallName":"f"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"n2","delta":"","subagentRunId":""}`},
	{`{"type":"TOOL_CALL_START","toolCallId":"n2","toolCallName":"f"}`, `{"type":"TOOL_CALL_START","toolCallId":"n2","toolCallName":"f"}`},
	{`{"type":"TOOL_CALL_START","toolCallId":"n2","toolCallName":"f"}`, finish},
	{`{"type":"STEP_STARTED","stepName":"n"}`, `{"type":"STEP_STARTED","stepName":"n"}`},
	{`{"type":"STEP_STARTED","stepName":"n","subagentRunId":"s9"}`, `{"type":"STEP_STARTED","stepName":"n","subagentRunId":"s9"}`},
	{`{"type":"STEP_STARTED","stepName":"n"}`, `{"type":"STEP_FINISHED","stepName":"n","subagentRunId":"s9"}`},
	{`{"type":"STEP_STARTED","stepName":"n"}`, finish},
	{`{"type":"REASONING_START","messageId":"n3"}`, `{"type":"REASONING_START","messageId":"n3"}`},
	{`{"type":"REASONING_START","messageId":"n3"}`, finish},
	{`{"type":"REASONING_START","messageId":"n3"}`, `{"type":"REASONING_MESSAGE_START","messageId":"n3","role":"reasoning","subagentRunId":"s9"}`},
	{`{"type":"REASONING_MESSAGE_START","messageId":"n3","role":"reasoning"}`, `{"type":"REASONING_MESSAGE_START","messageId":"n3","role":"reasoning"}`},
	{`{"type":"REASONING_MESSAGE_START","messageId":"n3","role":"reasoning"}`, finish},
	{`{"type":"ACTIVITY_SNAPSHOT","messageId":"n4","activityType":"plan","content":{}}`, `{"type":"ACTIVITY_DELTA","messageId":"n4","activityType":"plan","patch":[],"subagentRunId":"s9"}`},
	{`{"type":"SUBAGENT_STARTED","subagentRunId":"n5","name":"n"}`, `{"type":"SUBAGENT_STARTED","subagentRunId":"n5","name":"n"}`},
	{`{"type":"SUBAGENT_STARTED","subagentRunId":"n5","name":"n"}`, `{"type":"SUBAGENT_FINISHED","subagentRunId":"n5"}`, `{"type":"SUBAGENT_STARTED","subagentRunId":"n5","name":"n"}`},
	{`{"type":"SUBAGENT_STARTED","subagentRunId":"n5","name":"n"}`, finish},
	{`{"type":"SUBAGENT_STARTED","subagentRunId":"n5","name":"n","description":null}`},
	{`{"type":"SUBAGENT_STARTED","name":"n"}`},
	{`{"type":"SUBAGENT_STARTED","subagentRunId":"n5"}`},
	{`{"type":"SUBAGENT_FINISHED","outcome":{"type":"success"}}`},
	{`{"type":"SUBAGENT_FINISHED","subagentRunId":"n5","outcome":{"type":"lost"}}`},
	{`{"type":"SUBAGENT_FINISHED","subagentRunId":"n5","outcome":{"type":"suspended","interruptIds":null}}`},
	{`{"type":"SUBAGENT_FINISHED","subagentRunId":"n5","outcome":{"type":"suspended","interruptIds":[1]}}`},
	{`{"type":"SUBAGENT_STARTED","subagentRunId":"n5","name":"n"}`, `{"type":"SUBAGENT_ERROR","subagentRunId":"n5"}`},
	{`{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"r","subagentRunId":null}]}}`},
	{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"n1","role":"user","content":"","subagentRunId":null}]}`},
	{`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"n1","role":"user","content":"","subagentRunId":"s8"}]}`, `{"type":"TEXT_MESSAGE_START","messageId":"n1","subagentRunId":"s9"}`},
	{`{"type":"TEXT_MESSAGE_CHUNK","messageId":"n1","delta":"a","subagentRunId":"s8"}`, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"n1","delta":"a","subagentRunId":"s9"}`},
	{`{"type":"TEXT_MESSAGE_CHUNK","messageId":"n1","subagentRunId":"s8"}`, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"n6","subagentRunId":"s9"}`, `{"type":"CUSTOM","name":"n","value":1}`, `{"type":"TEXT_MESSAGE_CHUNK","delta":"a"}`},
	{`{"type":"TEXT_MESSAGE_CHUNK","messageId":"n1","role":"user"}`, `{"type":"TEXT_MESSAGE_CHUNK","role":"assistant"}`},
	{`{"type":"TEXT_MESSAGE_CHUNK","messageId":"n1"}`, `{"type":"TEXT_MESSAGE_CHUNK","name":"n"}`},
	{`{"type":"TOOL_CALL_CHUNK","toolCallId":"n2","toolCallName":"f"}`, `{"type":"TOOL_CALL_CHUNK","toolCallName":"g"}`},
	{`{"type":"TOOL_CALL_CHUNK","toolCallId":"n2","toolCallName":"f"}`, `{"type":"TOOL_CALL_CHUNK","parentMessageId":"n1"}`},
	{`{"type":"TEXT_MESSAGE_START","messageId":"n1"}`, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"n1"}`},
}
