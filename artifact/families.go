package artifact

import (
	"strings"
	"sync"

	"github.com/p20export/p20export/internal/eventnames"
)

// familyKeys maps the keys that AG-UI uses for the payload of other event families
// to these families. The keys are in normalized form.
func familyKeys() map[string]string {
	return map[string]string{
		"event": eventnames.Raw, "events": eventnames.Raw, "rawevent": eventnames.Raw, "rawevents": eventnames.Raw,
		"state": eventnames.StateSnapshot, "states": eventnames.StateSnapshot, "snapshot": eventnames.StateSnapshot,
		"delta": eventnames.StateDelta, "deltas": eventnames.StateDelta, "patch": eventnames.StateDelta, "patches": eventnames.StateDelta,
		"toolcall": eventnames.ToolCallStart, "toolcalls": eventnames.ToolCallStart, "toolcallid": eventnames.ToolCallStart,
		"toolcallname": eventnames.ToolCallStart, "toolcallresult": eventnames.ToolCallResult, "parentmessageid": eventnames.ToolCallStart,
		"activity": eventnames.ActivitySnapshot, "activities": eventnames.ActivitySnapshot, "activitytype": eventnames.ActivitySnapshot,
		"reasoning": eventnames.ReasoningStart, "encryptedvalue": eventnames.ReasoningEncryptedValue,
		"encryptedcontent": eventnames.ReasoningEncryptedValue, "thinking": eventnames.ThinkingStart,
		"step": eventnames.StepStarted, "steps": eventnames.StepStarted, "stepname": eventnames.StepStarted,
		"subagent": eventnames.SubagentStarted, "subagents": eventnames.SubagentStarted, "subagentrunid": eventnames.SubagentStarted,
	}
}

// families returns familyKeys and the normalized names of all event types, including
// those of drafts that old logs contain.
var families = sync.OnceValue(func() map[string]string {
	all := familyKeys()
	for _, name := range eventnames.All() {
		all[normalize(name)] = name
	}
	return all
})

// longestFamily is the maximum length of names to compare, in bytes before they are
// normalized.
const longestFamily = 64

// family returns the AG-UI event family of a name or key. It ignores the case of
// ASCII letters, underscores and hyphens.
func family(name string) (string, bool) {
	if len(name) > longestFamily {
		return "", false
	}
	f, ok := families()[normalize(name)]
	return f, ok
}

var separators = strings.NewReplacer("_", "", "-", "")

func normalize(name string) string { return separators.Replace(strings.Map(lower, name)) }

// lower maps ASCII letters to lower case. It leaves other letters unchanged, because
// their case mapping depends on the Unicode version and the language.
func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// suggestedKeys returns the keys of the contract by their normalized names, with and
// without the suffix _ref.
var suggestedKeys = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for _, key := range []string{
		"schema", "framework", "surface", "thread_id_ref", "run_id_ref", "parent_run_id_ref", "started_at", "finished_at",
		"messages", "terminal_event", "error_code", "error_message", "id", "role", "content", "name",
	} {
		all[normalize(key)] = key
		all[normalize(strings.TrimSuffix(key, "_ref"))] = key
	}
	return all
})

// suggestKey returns the key of the contract that resembles an unknown key, such as
// AG-UI's own name for it.
func suggestKey(name string) (key string, ok bool) {
	if len(name) <= longestFamily {
		key, ok = suggestedKeys()[normalize(name)]
	}
	return key, ok
}
