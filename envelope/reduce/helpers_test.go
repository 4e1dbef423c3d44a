package reduce

import (
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// apply applies events to a reducer, and returns its warnings.
func apply(t testing.TB, r *Reducer, events ...string) (warnings []finding.Finding) {
	t.Helper()
	for i, text := range events {
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		e.Index = i
		warnings = append(warnings, r.Event(e)...)
	}
	return warnings
}
