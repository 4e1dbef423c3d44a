package event

import (
	"fmt"
	"slices"

	"github.com/p20export/p20export/finding"
)

// Fault is one place where an event deviates from AG-UI.
type Fault struct {
	// Tolerance says how a tolerant decode reads the place. It is empty if a tolerant
	// decode refuses the event because of it.
	Tolerance Tolerance
	// Fatal reports that the reference client, @ag-ui/client 1.0.0, ends the run with
	// an error. Otherwise it converts the event, or removes what it does not know,
	// and continues.
	Fatal bool
	// SpecFatal reports that the specification demands that a client ends the run.
	// Otherwise it lets clients convert the place, or demands that they remove it
	// (specification 1.1, Processing Model). The reference client differs for unknown
	// values of closed sets of strings, which it refuses, and for objects whose type or
	// role is missing or not a string, which it removes.
	SpecFatal bool
	// Pointer is the place in the event. If a required field is missing, it is the
	// place where the field belongs.
	Pointer finding.Pointer
	// Offset is the byte offset of the value at Pointer, or of the enclosing object if
	// there is no value.
	Offset int
	// Message is one sentence for people.
	Message string
}

// Error is the error for an event that deviates from AG-UI.
type Error struct {
	// Type is the type of the event, or empty for a message or an input.
	Type string
	// Faults are the deviations, in the order in which they were found. There is at
	// least one and there are at most MaxFaults.
	Faults []Fault
}

// Error returns the type and the message of the first fault, and how many more there are.
// A fault that no decode tolerates comes before the others.
func (e *Error) Error() string {
	first := slices.IndexFunc(e.Faults, func(f Fault) bool { return f.Tolerance == refused })
	f := e.Faults[max(first, 0)]
	text := fmt.Sprintf("%s at byte %d", f.Message, f.Offset)
	if e.Type != "" {
		text = e.Type + ": " + text
	}
	if more := len(e.Faults) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// Tolerance names a deviation from AG-UI 1.0 that a tolerant decode accepts.
type Tolerance string

// The tolerances. Tolerances says what each becomes.
const (
	UnknownType         Tolerance = "unknown_type"
	UnknownKey          Tolerance = "unknown_key"
	UnknownMember       Tolerance = "unknown_member"
	RetiredType         Tolerance = "retired_type"
	DraftType           Tolerance = "draft_type"
	DraftName           Tolerance = "draft_name"
	SnakeCaseName       Tolerance = "snake_case_name"
	NullOptional        Tolerance = "null_optional"
	MissingPayload      Tolerance = "missing_payload"
	MissingConstant     Tolerance = "missing_constant"
	MissingThread       Tolerance = "missing_thread"
	PartialInput        Tolerance = "partial_input"
	StringMessage       Tolerance = "string_message"
	SingleResume        Tolerance = "single_resume"
	SingleOperation     Tolerance = "single_operation"
	OutcomeString       Tolerance = "outcome_string"
	EmptyInterrupts     Tolerance = "empty_interrupts"
	ReasoningRole       Tolerance = "reasoning_role"
	MessageRole         Tolerance = "message_role"
	BinaryContent       Tolerance = "binary_part"
	ActivityContent     Tolerance = "activity_content"
	FractionalTimestamp Tolerance = "fractional_timestamp"
	PatchPointer        Tolerance = "patch_pointer"
	MalformedOptional   Tolerance = "malformed_optional"
	MalformedMember     Tolerance = "malformed_member"
)

// ToleranceInfo describes a tolerance.
type ToleranceInfo struct {
	Tolerance Tolerance
	// Found is what the event has, and Becomes is what a tolerant decode makes of it.
	Found, Becomes string
	// Client is what the reference client 1.0.0 does.
	Client string
}

// Tolerances returns the descriptions of all tolerances.
func Tolerances() []ToleranceInfo {
	const (
		fails   = "fails"
		removes = "removes it"
		drops   = "drops the event"
	)
	return []ToleranceInfo{
		{UnknownType, "an event of a type that AG-UI does not define", "kept, as `Unknown`; also by a strict decode", drops},
		{UnknownKey, "a key that AG-UI does not define for the object", "kept, in `Extra`; also by a strict decode", removes},
		{UnknownMember, "a message with an unknown role, or a content part, patch operation or outcome of an unknown type", "kept as it is", removes},
		{RetiredType, "a `THINKING_*` event of AG-UI 0.x", "kept as it is; `Upgrader` makes a `REASONING_*` event", "converts it"},
		{DraftType, "a `META` event", "kept as it is, as `Unknown` if it is not valid", drops},
		{DraftName, "`patch` for the `delta` of STATE_DELTA, `delta` for the `patch` of ACTIVITY_DELTA, or `state` for the `snapshot` of STATE_SNAPSHOT", "the name of AG-UI 1.0", fails},
		{SnakeCaseName, "a required field under a name in snake case, such as `message_id`", "the name in camel case", fails},
		{NullOptional, "null for an optional field", "absent", "converts the fields marked *0.x: null* above, otherwise fails"},
		{MissingPayload, "STATE_SNAPSHOT without `snapshot`, RAW without `event`, CUSTOM without `value`", "null", fails},
		{MissingConstant, "REASONING_MESSAGE_START without `role`, or a tool call without `type`", "the only legal value", fails},
		{MissingThread, "RUN_STARTED without `threadId`", "an empty `threadId`", fails},
		{PartialInput, "the `input` of RUN_STARTED without `threadId`, `runId` or `messages`", "the ids of the event; no messages", fails},
		{StringMessage, "a string as a message of `input`", "a user message, whose id is made from the run's id and the message's index", fails},
		{SingleResume, "one object as `resume`", "an array with one entry, whose status is `resolved` if it has none", fails},
		{SingleOperation, "one object as a patch", "an array with one operation", fails},
		{OutcomeString, "a string as the `outcome` of RUN_FINISHED, with or without an `interrupt` next to it", "an outcome of that type; the payload of the interrupt becomes `metadata.payload`", fails},
		{EmptyInterrupts, "the outcome `interrupt` without interrupts", "no interrupts", fails},
		{ReasoningRole, "REASONING_MESSAGE_START with the role `assistant`", "the role `reasoning`", fails},
		{MessageRole, "the `role` of TEXT_MESSAGE_START or TEXT_MESSAGE_CHUNK is a string that AG-UI does not allow there, such as `tool`", "absent, which means `assistant`", fails},
		{BinaryContent, "a content part of type `binary`", "an image, audio, video or document part, unless the message has an equal one; kept as it is if it has only an `id`", "converts it, and removes it if it has only an `id`"},
		{ActivityContent, "the `content` of ACTIVITY_SNAPSHOT is not an object", "kept as it is", fails},
		{FractionalTimestamp, "a `timestamp` that is not an integer", "rounded down", fails},
		{PatchPointer, "the `path` or `from` of a patch operation is not a JSON Pointer", "kept as it is", fails},
		{MalformedOptional, "an optional field with a value that is not valid", "absent", fails},
		{MalformedMember, "a message, content part or patch operation that is not valid", "kept as it is, as `UnknownMessage`, `UnknownPart` or the `JSON` of the operation", fails},
	}
}

// specFatal reports whether the specification usually demands that a client ends the
// run. See Fault.SpecFatal.
func (t Tolerance) specFatal() bool { return t.fatal() && t != MessageRole }

// fatal reports whether the reference client usually ends the run. See Fault.Fatal.
func (t Tolerance) fatal() bool {
	switch t {
	case UnknownType, UnknownKey, UnknownMember, RetiredType, DraftType, BinaryContent:
		return false
	}
	return true
}
