package artifact

import "strings"

// eventTypes are the AG-UI event types an artifact could smuggle in: those of
// 1.0, and those of earlier releases and drafts that logs still hold.
var eventTypes = []string{
	"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "STEP_FINISHED",
	"TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK",
	"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT",
	"STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT",
	"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "RAW", "CUSTOM",
	"REASONING_START", "REASONING_END", "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT",
	"REASONING_MESSAGE_END", "REASONING_MESSAGE_CHUNK", "REASONING_ENCRYPTED_VALUE",
	"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR",
	"THINKING_START", "THINKING_END", "THINKING_TEXT_MESSAGE_START",
	"THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_END", "META",
}

// familyKeys are keys under which AG-UI carries another family's payload, and
// the family. They are compared without the case of
// ASCII letters, underscores and hyphens.
var familyKeys = map[string]string{
	"event": "RAW", "events": "RAW", "rawevent": "RAW", "rawevents": "RAW",
	"state": "STATE_SNAPSHOT", "states": "STATE_SNAPSHOT", "snapshot": "STATE_SNAPSHOT",
	"delta": "STATE_DELTA", "deltas": "STATE_DELTA", "patch": "STATE_DELTA", "patches": "STATE_DELTA",
	"toolcall": "TOOL_CALL_START", "toolcalls": "TOOL_CALL_START", "toolcallid": "TOOL_CALL_START",
	"toolcallname": "TOOL_CALL_START", "toolcallresult": "TOOL_CALL_RESULT", "parentmessageid": "TOOL_CALL_START",
	"activity": "ACTIVITY_SNAPSHOT", "activities": "ACTIVITY_SNAPSHOT", "activitytype": "ACTIVITY_SNAPSHOT",
	"reasoning": "REASONING_START", "encryptedvalue": "REASONING_ENCRYPTED_VALUE",
	"encryptedcontent": "REASONING_ENCRYPTED_VALUE", "thinking": "THINKING_START",
	"step": "STEP_STARTED", "steps": "STEP_STARTED", "stepname": "STEP_STARTED",
	"subagent": "SUBAGENT_STARTED", "subagents": "SUBAGENT_STARTED", "subagentrunid": "SUBAGENT_STARTED",
}

// families has familyKeys and every event type under its normal form.
var families = func() map[string]string {
	all := make(map[string]string, len(familyKeys)+len(eventTypes))
	for key, family := range familyKeys {
		all[key] = family
	}
	for _, name := range eventTypes {
		all[normal(name)] = name
	}
	return all
}()

// longestFamily bounds which names are worth comparing, in bytes before
// normalising.
const longestFamily = 64

// family returns the AG-UI event family that name stands for.
func family(name string) (string, bool) {
	if len(name) > longestFamily {
		return "", false
	}
	f, ok := families[normal(name)]
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
var meantKeys = func() map[string]string {
	all := make(map[string]string)
	for _, key := range []string{
		"schema", "framework", "surface", "thread_id_ref", "run_id_ref", "parent_run_id_ref", "started_at", "finished_at",
		"messages", "terminal_event", "error_code", "error_message", "id", "role", "content", "name",
	} {
		all[normal(key)] = key
		all[normal(strings.TrimSuffix(key, "_ref"))] = key
	}
	return all
}()

// meant returns the key of the contract that an unknown key looks like, such as
// the name upstream has for it.
func meant(name string) (key string, ok bool) {
	if len(name) <= longestFamily {
		key, ok = meantKeys[normal(name)]
	}
	return key, ok
}
