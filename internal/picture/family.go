package picture

import "strings"

// families lists the families of events in the order of the lanes.
var families = []string{"run", "text", "reasoning", "tool", "state", "activity", "snapshot", "other", "bad"}

// Family returns the family of an event type, which has its own colour. The type of
// something that is not an event is "".
func Family(kind string) string {
	for _, of := range []struct{ prefix, family string }{
		{"RUN_", "run"}, {"STEP_", "run"}, {"SUBAGENT_", "run"},
		{"TEXT_", "text"}, {"TOOL_", "tool"}, {"STATE_", "state"}, {"MESSAGES_", "snapshot"},
		{"REASONING_", "reasoning"}, {"THINKING_", "reasoning"}, {"ACTIVITY_", "activity"},
	} {
		if strings.HasPrefix(kind, of.prefix) {
			return of.family
		}
	}
	if kind == "" {
		return "bad"
	}
	return "other"
}

// name returns the label of a family.
func name(family string) string {
	switch family {
	case "tool":
		return "Tools"
	case "bad":
		return "Not an event"
	}
	return strings.ToUpper(family[:1]) + family[1:]
}
