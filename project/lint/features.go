package lint

import (
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// The features of AG-UI that a stream can exercise.
const (
	featText            = "text"
	featCalls           = "tool-calls"
	featParallel        = "parallel"
	featResults         = "tool-results"
	featFrontend        = "frontend-tools"
	featReasoning       = "reasoning"
	featSteps           = "steps"
	featSubagents       = "subagents"
	featState           = "state-snapshot"
	featStateDelta      = "state-delta"
	featMessages        = "messages-snapshot"
	featActivity        = "activity"
	featChunks          = "chunks"
	featInterrupts      = "interrupts"
	featResume          = "resume"
	featCancelled       = "cancelled"
	featErrors          = "errors"
	featSeveral         = "several-runs"
	featUsage           = "usage"
	featMetadata        = "metadata"
	featCustom, featRaw = "custom", "raw"
)

// Features returns the names of the features, in the order of docs/lint.md.
func Features() []string {
	return []string{
		featText, featCalls, featParallel, featResults, featFrontend, featReasoning, featSteps, featSubagents,
		featState, featStateDelta, featMessages, featActivity, featChunks, featInterrupts, featResume, featCancelled,
		featErrors, featSeveral, featUsage, featMetadata, featCustom, featRaw,
	}
}

// features collects the features of a stream.
type features struct {
	seen map[string]bool
	runs int
	// open counts what is open of each kind.
	openTexts, openCalls, openSubagents int
	tools                               map[string]bool // the tools of the request
}

func (x *features) add(names ...string) {
	if x.seen == nil {
		x.seen = make(map[string]bool)
	}
	for _, name := range names {
		x.seen[name] = true
	}
}

// list returns the features in the order of Features.
func (x *features) list() []string {
	return slices.DeleteFunc(Features(), func(name string) bool { return !x.seen[name] })
}

// request notes the features of a request, or of the input of RUN_STARTED.
func (x *features) request(o *strictjson.Object) {
	if resume, _ := o.Get("resume"); resume.Kind == envelope.ObjectValue || resume.Kind == envelope.ArrayValue && strings.Trim(string(resume.Raw), "[] \t\r\n") != "" {
		x.add(featResume)
	}
	tools, _ := o.Get("tools")
	// The request was read before, so there is no error.
	_ = strictjson.Elements(tools, func(_ int, v strictjson.Value, o *strictjson.Object) error {
		if name, _ := o.Get("name"); v.Kind == envelope.ObjectValue && name.Kind == envelope.StringValue && len(x.tools) < maxTools {
			if x.tools == nil {
				x.tools = make(map[string]bool)
			}
			text, _ := name.Text()
			x.tools[text] = true
		}
		return nil
	})
}

// maxTools is the number of tools of requests that are remembered.
const maxTools = 10_000

// event notes the features of an event.
func (x *features) event(e *envelope.Event) {
	if v, ok := e.Get("metadata"); ok && v.Kind == envelope.ObjectValue {
		x.add(featMetadata)
	}
	if strings.HasSuffix(e.Type, "_CHUNK") && eventnames.IsReleased(e.Type) {
		x.add(featChunks)
	}
	switch e.Type {
	case eventnames.RunStarted:
		x.start(e)
	case eventnames.RunFinished, eventnames.RunError:
		x.end(e)
	case eventnames.StepStarted:
		x.add(featSteps)
	case eventnames.TextMessageStart, eventnames.TextMessageChunk:
		x.add(featText)
		x.opens(e, eventnames.TextMessageStart, &x.openTexts)
	case eventnames.TextMessageEnd:
		x.openTexts--
	case eventnames.ToolCallStart, eventnames.ToolCallChunk:
		x.add(featCalls)
		x.opens(e, eventnames.ToolCallStart, &x.openCalls)
		if name, _ := e.Get("toolCallName"); name.Kind == envelope.StringValue {
			if text, _ := name.Text(); x.tools[text] {
				x.add(featFrontend)
			}
		}
	case eventnames.ToolCallEnd:
		x.openCalls--
	case eventnames.ToolCallResult:
		x.add(featResults)
	case eventnames.StateSnapshot:
		x.add(featState)
	case eventnames.StateDelta:
		x.add(featStateDelta)
	case eventnames.MessagesSnapshot:
		x.add(featMessages)
	case eventnames.ActivitySnapshot, eventnames.ActivityDelta:
		x.add(featActivity)
	case eventnames.Custom:
		x.add(featCustom)
	case eventnames.Raw:
		x.add(featRaw)
	case eventnames.SubagentStarted:
		x.add(featSubagents)
		x.opens(e, eventnames.SubagentStarted, &x.openSubagents)
	case eventnames.SubagentFinished, eventnames.SubagentError:
		x.openSubagents--
	default:
		if strings.HasPrefix(e.Type, "REASONING_") || strings.HasPrefix(e.Type, "THINKING_") {
			x.add(featReasoning)
		}
	}
}

// opens counts what an event opens.
func (x *features) opens(e *envelope.Event, start string, count *int) {
	if e.Type != start {
		return
	}
	if *count++; *count > 1 {
		x.add(featParallel)
	}
}

func (x *features) start(e *envelope.Event) {
	x.openTexts, x.openCalls, x.openSubagents = 0, 0, 0
	if x.runs++; x.runs > 1 {
		x.add(featSeveral)
	}
	if input, _ := e.Get("input"); input.Kind == envelope.ObjectValue {
		var o strictjson.Object
		if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), input.Raw); err == nil {
			x.request(&o)
		}
	}
}

func (x *features) end(e *envelope.Event) {
	if e.Type == eventnames.RunError {
		x.add(featErrors)
	}
	if usage, _ := e.Get("usage"); usage.Kind == envelope.ArrayValue {
		x.add(featUsage)
	}
	outcome, _ := e.Get("outcome")
	if outcome.Kind != envelope.ObjectValue {
		return
	}
	switch kind, _ := outcome.Member("type"); {
	case kind.Is("interrupt"):
		x.add(featInterrupts)
	case kind.Is("cancelled"):
		x.add(featCancelled)
	}
}
