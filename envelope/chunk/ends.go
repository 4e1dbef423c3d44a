package chunk

import "github.com/p20export/p20export/envelope/event/names"

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
	case names.TextMessageStart, names.TextMessageContent, names.TextMessageEnd, names.TextMessageChunk,
		names.ToolCallStart, names.ToolCallArgs, names.ToolCallEnd, names.ToolCallChunk, names.ToolCallResult,
		names.StateSnapshot, names.StateDelta, names.Custom, names.StepStarted, names.StepFinished,
		names.ReasoningStart, names.ReasoningEnd, names.ReasoningMessageStart, names.ReasoningMessageContent,
		names.ReasoningMessageEnd, names.ReasoningMessageChunk:
		return EndsLane
	case names.SubagentFinished, names.SubagentError:
		return EndsSubagent
	case names.RunStarted, names.RunFinished, names.RunError, names.MessagesSnapshot:
		return EndsAll
	}
	return EndsNone
}
