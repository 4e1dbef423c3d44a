// Package artifact implements the v1 contract: the frozen, bounded form of one
// run's message history (P20 §8), its limits, its canonical form and its strict
// decoding.
//
// It must not know captures, events or projections.
package artifact

// The values of the three self-describing keys (P20 §8.3, "Wrapper
// self-description"). They describe the file, not an export by AG-UI.
const (
	Schema    = "ag-ui.compacted-message-snapshot.export.v1"
	Framework = "ag_ui"
	Surface   = "compacted_message_snapshot_artifact"
)

// The terminal labels (P20 §8.3, terminal_event).
const (
	RunFinished = "RUN_FINISHED"
	RunError    = "RUN_ERROR"
)

// Artifact is one frozen artifact. An absent optional string is empty, which is
// unambiguous because strings of the contract must not be blank.
type Artifact struct {
	Schema    string `json:"schema"`
	Framework string `json:"framework"`
	Surface   string `json:"surface"`
	// ThreadIDRef, RunIDRef and ParentRunIDRef are opaque references that do not
	// resolve to anything (P20 §8.3, "Envelope identity").
	ThreadIDRef    string `json:"thread_id_ref"`
	RunIDRef       string `json:"run_id_ref"`
	ParentRunIDRef string `json:"parent_run_id_ref,omitempty"`
	// StartedAt and FinishedAt are labels. They are not evidence of order or
	// completeness (P20 §8.3, "Envelope timestamps").
	StartedAt  string `json:"started_at"`
	FinishedAt string `json:"finished_at,omitempty"`
	// Messages is the text subset of the snapshot, in order. It is never empty.
	Messages []Message `json:"messages"`
	// TerminalEvent is RunFinished or RunError.
	TerminalEvent string `json:"terminal_event"`
	// ErrorCode and ErrorMessage are only allowed with RunError, which requires
	// ErrorMessage.
	ErrorCode    string `json:"error_code,omitempty"`
	ErrorMessage string `json:"error_message,omitempty"`
}

// Message is one message of the text subset (P20 §8.3, messages).
type Message struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Content string `json:"content"`
	Name    string `json:"name,omitempty"`
}

// Roles lists the roles of the text subset.
func Roles() []string { return []string{"developer", "system", "assistant", "user", "tool"} }

// IsRole reports whether role is one of Roles.
func IsRole(role string) bool {
	switch role {
	case "developer", "system", "assistant", "user", "tool":
		return true
	}
	return false
}

// New returns an artifact with only the three self-describing keys set.
func New() *Artifact {
	return &Artifact{Schema: Schema, Framework: Framework, Surface: Surface}
}
