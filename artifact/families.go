package artifact

import (
	"strings"
	"sync"

	"github.com/p20export/p20export/envelope/event/names"
)

// familyKeys are keys under which AG-UI carries another family's payload, and
// the family. They are compared without the case of
// ASCII letters, underscores and hyphens.
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

// families has familyKeys and, under its normal form, every event type an
// artifact could smuggle in: those of releases, and those of drafts that logs
// still hold.
var families = sync.OnceValue(func() map[string]string {
	all := familyKeys()
	for _, name := range names.All() {
		all[normal(name)] = name
	}
	return all
})

// longestFamily bounds which names are worth comparing, in bytes before
// normalising.
const longestFamily = 64

// family returns the AG-UI event family that name stands for.
func family(name string) (string, bool) {
	if len(name) > longestFamily {
		return "", false
	}
	f, ok := families()[normal(name)]
	return f, ok
}

var separators = strings.NewReplacer("_", "", "-", "")

func normal(name string) string { return separators.Replace(strings.Map(lower, name)) }

// lower is that of ASCII alone: what Unicode makes lower case depends on its
// version, and on the language.
func lower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// meantKeys has the keys of the contract under their normal forms, with and
// without the ending of references.
var meantKeys = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for _, key := range []string{
		"schema", "framework", "surface", "thread_id_ref", "run_id_ref", "parent_run_id_ref", "started_at", "finished_at",
		"messages", "terminal_event", "error_code", "error_message", "id", "role", "content", "name",
	} {
		all[normal(key)] = key
		all[normal(strings.TrimSuffix(key, "_ref"))] = key
	}
	return all
})

// meant returns the key of the contract that an unknown key looks like, such as
// the name upstream has for it.
func meant(name string) (key string, ok bool) {
	if len(name) <= longestFamily {
		key, ok = meantKeys()[normal(name)]
	}
	return key, ok
}
