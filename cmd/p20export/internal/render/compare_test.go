package render

import (
	"slices"
	"testing"
)

// The count is that of all messages, even if some roles are not listed.
func TestSequenceCounts(t *testing.T) {
	for messages, want := range map[int]string{
		0:         "no messages",
		2:         "user, user",
		9:         "user, user, user, user, user, user, user, user and 1 more",
		1_000_000: "user, user, user, user, user, user, user, user and 999992 more",
	} {
		if got := formatRoles(slices.Repeat([]string{"user"}, min(messages, 2_000)), messages); got != want {
			t.Errorf("%d messages: %s", messages, got)
		}
	}
}
