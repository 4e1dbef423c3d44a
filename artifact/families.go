package artifact

import (
	"strings"
	"sync"

	"github.com/p20export/p20export/envelope/event/names"
)

// familyKeys maps the keys that AG-UI uses for the payload of other event families
// to these families. The keys are in normalized form.
func familyKeys() map[string]string {
	return map[string]string{
		"event": names.Raw, "events": names.Raw, "rawevent": names.Raw, "rawevents": names.Raw,
		"state": names.StateSnapshot, "states": names.StateSnapshot, "snapshot": names.StateSnapshot,
		"delta": names.StateDelta, "deltas": names.StateDelta, "patch": names.StateDelta, "patches": names.StateDelta,
		"toolcall": names.ToolCallStart, "toolcalls": names.ToolCallStart, "toolcallid": names.ToolCallStart,
		"toolcallname": names.ToolCallStart, "toolcallresult": names.ToolCallResult, "parentmessageid": names.ToolCallStart,
		"activity": names.ActivitySnapshot, "activities": names.ActivitySnapshot, "activitytype": names.ActivitySnapshot,
		"reasoning": names.ReasoningStart, "encryptedvalue": names.ReasoningEncryptedValue,
		"encryptedcontent": names.ReasoningEncryptedValue, "thinking": names.ThinkingStart,
		"step": names.StepStarted, "steps": names.StepStarted, "stepname": names.StepStarted,
		"subagent": names.SubagentStarted, "subagents": names.SubagentStarted, "subagentrunid": names.SubagentStarted,
	}
}

// families returns familyKeys and the normalized names of all event types, including
// those of drafts that old logs contain.
var families = sync.OnceValue(func() map[string]string {
	all := familyKeys()
	for _, name := range names.All() {
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
