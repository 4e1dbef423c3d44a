package markup

import (
	"strings"
	"sync"
)

// words has the names that do not need to be redacted.
type words struct{ keys, roles, contentTypes map[string]bool }

// vocabulary returns the keys of AG-UI's events, messages and run inputs, the keys of
// artifacts, and the roles of messages.
var vocabulary = sync.OnceValue(func() words {
	return words{
		keys: set(`
			type timestamp rawEvent metadata
			threadId runId parentRunId protocolVersion input result outcome interrupt code message stepName
			messageId role name delta toolCallId toolCallName parentMessageId content
			snapshot messages activityType replace patch op path from value event source
			entityId subtype encryptedValue title subagentRunId
			id toolCalls function arguments error text data url mimeType filename
			state tools description parameters context forwardedProps resume
			schema framework surface thread_id_ref run_id_ref parent_run_id_ref started_at finished_at
			terminal_event error_code error_message`),
		roles:        set("developer system assistant user tool reasoning activity"),
		contentTypes: set("application/json application/problem+json application/x-ndjson text/event-stream text/html text/plain"),
	}
})

func set(names string) map[string]bool {
	all := make(map[string]bool)
	for name := range strings.FieldsSeq(names) {
		all[name] = true
	}
	return all
}
