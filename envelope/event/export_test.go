package event

import (
	"slices"

	"github.com/p20export/p20export/internal/eventnames"
)

// Field is a row of a table of fields.
type Field struct {
	Name, Kind string
	Required   bool
	// Legacy reports that the reference client converts null to an absent field.
	Legacy bool
	// Since is the version that added the field, if it is later than 1.0.
	Since Protocol
}

// Fields returns the fields of an object. What is a type of event, "message ROLE", "part
// TYPE", or the name of a Go type.
func Fields(what string) (table []Field) {
	rows := []field{}
	f := &fields{table: &rows}
	switch o := object(what).(type) {
	case Event:
		o.Common().visit(f)
		o.visit(f)
	case Message:
		o.Common().visit(f)
		o.visit(f)
	case interface{ visit(*fields) }:
		o.visit(f)
	}
	nulls := &fields{d: &decoder{kind: what}}
	media := len(what) > 5 && slices.Contains(mediaKinds, what[5:])
	for _, r := range rows {
		legacy := !r.required && (nulls.convertsNull(r.name) || media && r.name == "metadata")
		table = append(table, Field{r.name, r.kind, r.required, legacy, r.since})
	}
	return table
}

// Records lists the objects inside events, by the names of their Go types.
func Records() []string {
	return []string{
		"RunAgentInput", "Tool", "Context", "ResumeEntry", "Outcome", "Interrupt", "SubagentOutcome", "TokenUsage",
		"ToolCall", "FunctionCall", "Source", "Operation",
	}
}

// Roles and Parts list the roles of messages and the types of parts.
func Roles() []string {
	return []string{RoleDeveloper, RoleSystem, RoleAssistant, RoleUser, RoleTool, RoleActivity, RoleReasoning}
}

// Parts lists the types of parts.
func Parts() []string {
	return []string{"text", MediaImage, MediaAudio, MediaVideo, MediaDocument, "binary"}
}

func object(what string) any {
	switch what {
	case "RunAgentInput":
		return new(RunAgentInput)
	case "Tool":
		return new(Tool)
	case "Context":
		return new(Context)
	case "ResumeEntry":
		return new(ResumeEntry)
	case "Outcome":
		return new(Outcome)
	case "Interrupt":
		return new(Interrupt)
	case "SubagentOutcome":
		return new(SubagentOutcome)
	case "TokenUsage":
		return new(TokenUsage)
	case "ToolCall":
		return new(ToolCall)
	case "FunctionCall":
		return new(FunctionCall)
	case "Source":
		return new(Source)
	case "Operation":
		return new(Operation)
	case "part text":
		return new(TextPart)
	case "part binary":
		return new(BinaryPart)
	}
	if len(what) > 5 && what[:5] == "part " {
		return &MediaPart{Type: what[5:]}
	}
	if len(what) > 8 && what[:8] == "message " {
		return newMessage(what[8:])
	}
	return newEvent(what)
}

// Types lists the types of AG-UI 1.0.
func Types() []string {
	all := eventnames.Released()
	return all[:31]
}

// Retired lists the types of AG-UI 0.x and of drafts that AG-UI 1.0 does not have.
func Retired() []string { return eventnames.All()[31:] }
