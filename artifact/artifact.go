// Package artifact is the v1 contract: the frozen, bounded form of one run's
// message history (P20 §8), its limits, its one canonical spelling and its
// strict reading.
//
// It must not know where a value came from: no capture, no event and no
// projection.
package artifact

// What the three self-describing keys hold (P20 §8.3, "Wrapper
// self-description"). They say what the file is, not what upstream exports.
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

// Artifact is one frozen artifact. Optional strings are empty when absent,
// which is unambiguous because no string of the contract may be blank.
type Artifact struct {
	Schema    string `json:"schema"`
	Framework string `json:"framework"`
	Surface   string `json:"surface"`
	// ThreadIDRef, RunIDRef and ParentRunIDRef are opaque references: they
	// name, and resolve to nothing (P20 §8.3, "Envelope identity").
	ThreadIDRef    string `json:"thread_id_ref"`
	RunIDRef       string `json:"run_id_ref"`
	ParentRunIDRef string `json:"parent_run_id_ref,omitempty"`
	// StartedAt and FinishedAt label the artifact and prove nothing about
	// order or completeness (P20 §8.3, "Envelope timestamps").
	StartedAt  string `json:"started_at"`
	FinishedAt string `json:"finished_at,omitempty"`
	// Messages is the ordered text subset of the snapshot, never empty.
	Messages []Message `json:"messages"`
	// TerminalEvent is RunFinished or RunError.
	TerminalEvent string `json:"terminal_event"`
	// ErrorCode and ErrorMessage stand only beside RunError, where the
	// message is required.
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

// New returns an artifact that describes itself and holds nothing else.
func New() *Artifact {
	return &Artifact{Schema: Schema, Framework: Framework, Surface: Surface}
}
