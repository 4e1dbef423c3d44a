package chunk

import "github.com/p20export/p20export/internal/eventnames"

// Ends says which open streams of chunks an event ends.
type Ends int

const (
	// EndsNone means that the event ends no stream.
	EndsNone Ends = iota
	// EndsLane means that the event ends the stream of the subagent that it names or,
	// if it names none, of the run itself. A chunk does so only if it begins a stream
	// in this lane.
	EndsLane
	// EndsSubagent means that the event ends the stream of the subagent that it names.
	EndsSubagent
	// EndsAll means that the event ends all streams.
	EndsAll
)

// EndsOf returns which streams of chunks an event of the type ends. Events of unknown
// types end none.
func EndsOf(eventType string) Ends {
	switch eventType {
	case eventnames.TextMessageStart, eventnames.TextMessageContent, eventnames.TextMessageEnd, eventnames.TextMessageChunk,
		eventnames.ToolCallStart, eventnames.ToolCallArgs, eventnames.ToolCallEnd, eventnames.ToolCallChunk, eventnames.ToolCallResult,
		eventnames.StateSnapshot, eventnames.StateDelta, eventnames.Custom, eventnames.StepStarted, eventnames.StepFinished,
		eventnames.ReasoningStart, eventnames.ReasoningEnd, eventnames.ReasoningMessageStart, eventnames.ReasoningMessageContent,
		eventnames.ReasoningMessageEnd, eventnames.ReasoningMessageChunk:
		return EndsLane
	case eventnames.SubagentFinished, eventnames.SubagentError:
		return EndsSubagent
	case eventnames.RunStarted, eventnames.RunFinished, eventnames.RunError, eventnames.MessagesSnapshot:
		return EndsAll
	}
	return EndsNone
}
