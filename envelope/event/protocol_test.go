package event_test

import (
	"testing"

	"github.com/p20export/p20export/envelope/event"
)

// TestDeclared reads declared versions number by number.
func TestDeclared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version string
		want    event.Protocol
		how     event.Declaration
	}{
		{"", event.V1Minor1, event.Undeclared},
		{"0.9", event.V0, event.Known},
		{"1.0", event.V1, event.Known},
		{"01.00", event.V1, event.Known},
		{"1.1", event.V1Minor1, event.Known},
		{"1.2", event.V1Minor1, event.Newer},
		{"1.10", event.V1Minor1, event.Newer},
		{"2.0", event.V1Minor1, event.Newer},
		{"99999999999999999999.0", event.V1Minor1, event.Newer},
		{"1", event.V1Minor1, event.Uninterpretable},
		{"1.0.0", event.V1Minor1, event.Uninterpretable},
		{"v1.0", event.V1Minor1, event.Uninterpretable},
		{"1.", event.V1Minor1, event.Uninterpretable},
		{"-1.0", event.V1Minor1, event.Uninterpretable},
		{" 1.0", event.V1Minor1, event.Uninterpretable},
	} {
		if got, how := event.Declared(tt.version); got != tt.want || how != tt.how {
			t.Errorf("Declared(%q) = %s, %d", tt.version, got, how)
		}
	}
}
