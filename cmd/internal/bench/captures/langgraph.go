package captures

import (
	"fmt"
	"strings"
)

// minContext and maxContext bound the conversation that LangGraph's events repeat, in bytes.
// Beyond the upper limit it is trimmed to the lower one, as an agent trims the messages that
// it passes to its model.
const (
	minContext = 10_000
	maxContext = 100_000
)

// A graph writes the events of LangGraph's model node, one turn after another.
type graph struct {
	*generator
	context      []string // messages in LangChain's form, in JSON
	contextBytes int
	root         string // run id of the graph
}

func (g *generator) langGraph() {
	graph := &graph{generator: g, root: g.uuid()}
	graph.add("human", g.uuid(), g.sentence(4, 12))
	for first := true; first || g.more(6*graph.contextBytes+40_000); first = false {
		if !first {
			graph.tool()
		}
		graph.turn()
	}
}

// add adds a message to the context.
func (g *graph) add(kind, id, content string) {
	tail := ""
	if kind == "ai" {
		tail = `,"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null`
	}
	g.context = append(g.context, `{"content":"`+content+`","additional_kwargs":{},"response_metadata":{},"type":"`+kind+`","name":null,"id":"`+id+`"`+tail+`}`)
	g.contextBytes += len(g.context[len(g.context)-1]) + 1
	if g.contextBytes > maxContext {
		for g.contextBytes > minContext && len(g.context) > 1 {
			g.contextBytes -= len(g.context[0]) + 1
			g.context = g.context[1:]
		}
	}
}

// raw writes a RAW event.
func (g *graph) raw(event string) { g.event("RAW", `"event":`, event) }

// turn writes one call of the model: what starts and ends the graph and its node, and the
// answer in chunks. Chunks and the events around them repeat the same metadata.
func (g *graph) turn() {
	node, model := g.uuid(), g.uuid()
	metadata := fmt.Sprintf(`"metadata":{"ls_integration":"langchain_chat_model","lc_agent_name":"guide","thread_id":"%s","langgraph_step":%d,`+
		`"langgraph_node":"model","langgraph_triggers":["branch:to:model"],"langgraph_path":["__pregel_pull","model"],`+
		`"langgraph_checkpoint_ns":"model:%s","checkpoint_ns":"model:%[3]s","ls_provider":"openai","ls_model_type":"chat","ls_temperature":0.7,`+
		`"lc_versions":{"langchain-core":"1.7.2","langchain":"1.4.7"}},"parent_ids":["%s","%s"]`, g.thread, 1+g.random.IntN(20), node, g.root, node)
	of := func(name, kind, data, id string) string {
		return `{"event":"` + kind + `","data":` + data + `,"run_id":"` + id + `","name":"` + name + `","tags":["seq:step:1"],` + metadata + `}`
	}
	messages := strings.Join(g.context, ",")
	g.raw(of("guide", "on_chain_start", `{"input":{"messages":[`+messages+`],"tools":[]}}`, g.root))
	g.event("STEP_STARTED", `"stepName":"model"`)
	g.raw(of("model", "on_chain_start", `{"input":{"messages":[`+messages+`]}}`, node))
	g.raw(of("ChatOpenAI", "on_chat_model_start", `{"input":{"messages":[[{"content":"Answer briefly.","additional_kwargs":{},"response_metadata":{},"type":"system","name":null,"id":null},`+messages+`]]}}`, model))

	id := "lc_run--" + model
	chunk := func(delta, position string) string {
		return of("ChatOpenAI", "on_chat_model_stream", `{"chunk":{"content":"`+delta+`","additional_kwargs":{},"response_metadata":{},"type":"AIMessageChunk","name":null,"id":"`+id+
			`","tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null,"tool_call_chunks":[],"chunk_position":`+position+`}}`, model)
	}
	var answer strings.Builder
	for i := range 10 + g.random.IntN(50) {
		delta := g.text(1, 3)
		if i == 0 {
			delta = g.sentence(0, 2)
		}
		if i > 2 && !g.more(6*g.contextBytes+20_000) {
			break
		}
		raw := chunk(delta, "null")
		g.raw(raw)
		if i == 0 {
			g.event("TEXT_MESSAGE_START", `"rawEvent":`, raw, `,"messageId":"`, id, `","role":"assistant"`)
		}
		g.event("TEXT_MESSAGE_CONTENT", `"rawEvent":`, raw, `,"messageId":"`, id, `","delta":"`, delta, `"`)
		answer.WriteString(delta)
	}
	g.raw(chunk("", `"last"`))
	output := fmt.Sprintf(`{"content":"%s","additional_kwargs":{},"response_metadata":{"finish_reason":"stop","model_name":"gpt-4o-mini"},"type":"ai","name":null,"id":"%s",`+
		`"tool_calls":[],"invalid_tool_calls":[],"usage_metadata":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%[3]d}}`, answer.String(), id, g.contextBytes/4, answer.Len()/4)
	end := of("ChatOpenAI", "on_chat_model_end", `{"output":`+output+`,"input":{"messages":[[`+messages+`]]}}`, model)
	g.raw(end)
	g.event("TEXT_MESSAGE_END", `"rawEvent":`, end, `,"messageId":"`, id, `"`)
	g.raw(of("model", "on_chain_stream", `{"chunk":{"messages":[`+output+`]}}`, node))
	g.raw(of("model", "on_chain_end", `{"output":{"messages":[`+output+`]},"input":{"messages":[`+messages+`]}}`, node))
	g.event("STEP_FINISHED", `"stepName":"model"`)
	g.add("ai", id, answer.String())
	g.remember("assistant", id, "guide", answer.String())
	g.event("STATE_SNAPSHOT", `"snapshot":{"messages":[`, strings.Join(g.context, ","), `]}`)
}

// tool writes what a tool for searching documents returned, and adds it to the context. The
// documents are nested in the RAW event, and a JSON text in a string of the message.
func (g *graph) tool() {
	id, call := g.uuid(), "call_"+g.uuid()
	var documents, quoted strings.Builder
	for i := range 2 + g.random.IntN(8) {
		if i > 0 {
			documents.WriteByte(',')
		}
		title, content := g.text(2, 6), g.text(100, 400)
		fmt.Fprintf(&documents, `{"page_content":"%s","metadata":{"title":"%s","source":"s3://documents/%s.pdf","page":%d,"score":%.6f,"tags":[null,true,-%d,%de-%d]},"id":"%s"}`,
			content, title, g.uuid(), g.random.IntN(900), g.random.Float64(), g.random.IntN(9), 1+g.random.IntN(9), g.random.IntN(9), g.uuid())
		fmt.Fprintf(&quoted, `{\"title\": \"%s\", \"score\": %.3f}\n%s`, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(title), g.random.Float64(), content)
	}
	g.raw(`{"event":"on_tool_end","data":{"output":{"content":"` + quoted.String() + `","type":"tool","name":"search","id":"` + id + `","tool_call_id":"` + call +
		`","artifact":[` + documents.String() + `],"status":"success"},"input":{"query":"` + g.text(3, 9) + `"}},"run_id":"` + id + `","name":"search","tags":["seq:step:2"],"metadata":{"thread_id":"` + g.thread + `"},"parent_ids":["` + g.root + `"]}`)
	g.add("tool", id, quoted.String())
	question := g.sentence(4, 30)
	g.add("human", g.uuid(), question)
	g.remember("user", g.uuid(), "", question)
}
