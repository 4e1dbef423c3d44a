// Package timetext writes times as the artifacts and the rows of the program have them.
package timetext

import "time"

// Format writes a time in UTC with Z, and with six fraction digits unless they are all zero.
// It truncates the time to microseconds.
func Format(t time.Time) string {
	t = t.UTC().Truncate(time.Microsecond)
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05.000000Z")
}

// Optional is like Format, but returns nil for a time that is not known.
func Optional(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := Format(t)
	return &text
}
