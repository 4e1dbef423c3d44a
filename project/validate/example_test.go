package validate_test

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/project/validate"
)

// File reports all faults of a file in document order.
func ExampleReader() {
	file := strings.NewReader(`{"schema": "x", "messages": [], "state": {}}`)
	row := validate.Reader(file, "some.artifact.json", artifact.V1, validate.Artifact)
	fmt.Println(row.Verdict)
	for _, f := range row.Findings {
		fmt.Println(f.Rule, f.Code, f.Pointer)
	}
	// Output:
	// malformed
	// A2 key_missing /framework
	// A2 key_missing /run_id_ref
	// A2 key_missing /started_at
	// A2 key_missing /surface
	// A2 key_missing /terminal_event
	// A2 key_missing /thread_id_ref
	// A8 wrong_value /schema
	// M2 messages_empty /messages
	// A4 extra_event_family /state
}
