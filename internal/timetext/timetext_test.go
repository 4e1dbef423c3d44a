package timetext_test

import (
	"testing"
	"time"

	"github.com/p20export/p20export/internal/timetext"
)

func TestOptional(t *testing.T) {
	t.Parallel()
	if text := timetext.Optional(time.Time{}); text != nil {
		t.Errorf("an unknown time is %q", *text)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_999, time.FixedZone("", 3600))
	for want, at := range map[string]time.Time{
		"2026-01-02T02:04:05Z":        at.Truncate(time.Second),
		"2026-01-02T02:04:05.000006Z": at,
	} {
		if text := timetext.Optional(at); text == nil || *text != want {
			t.Errorf("%v is %v, want %q", at, text, want)
		}
	}
}
