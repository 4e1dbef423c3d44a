package artifact

import (
	"errors"
	"strings"
	"time"

	"github.com/p20export/p20export/internal/timetext"
)

// isTimestamp reports whether s has the form of RFC 3339 §5.6 with upper-case T and Z and
// at most six fraction digits. time.Parse checks hours, minutes and seconds. It rejects
// leap seconds and hour 24.
func isTimestamp(s string) bool {
	const form = "0000-00-00T00:00:00"
	if len(s) <= len(form) || !hasForm(s[:len(form)], form) {
		return false
	}
	zone := s[len(form):]
	if fraction, ok := strings.CutPrefix(zone, "."); ok {
		zone = strings.TrimLeft(fraction, "0123456789")
		if n := len(fraction) - len(zone); n < 1 || n > 6 {
			return false
		}
	}
	if zone == "Z" {
		return true
	}
	return (hasForm(zone, "+00:00") || hasForm(zone, "-00:00")) && zone[1:3] < "24" && zone[4] < '6'
}

// hasForm reports whether s is form with any digits in place of the zeros.
func hasForm(s, form string) bool {
	if len(s) != len(form) {
		return false
	}
	for i := range len(s) {
		if s[i] != form[i] && (form[i] != '0' || !isDigit(s[i])) {
			return false
		}
	}
	return true
}

// ParseTime parses a timestamp of the contract. Its year must be between 1 and 9999,
// both as written and in UTC.
func ParseTime(s string) (time.Time, error) {
	t, fault := parseTime(s)
	if fault.rule != "" {
		return time.Time{}, errors.New(fault.why)
	}
	return t, nil
}

// timeFault is the first rule that a timestamp violates, and the reason.
type timeFault struct{ rule, why string }

func parseTime(s string) (time.Time, timeFault) {
	if !isTimestamp(s) {
		return time.Time{}, timeFault{"A15", "not RFC 3339 with Z or an offset and at most six fraction digits"}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, timeFault{"A16", "no such date or time of day"}
	}
	if year := t.UTC().Year(); year < 1 || year > 9999 || s[:4] == "0000" {
		return time.Time{}, timeFault{"A17", "its year is outside 1 to 9999"}
	}
	return t, timeFault{}
}

// FormatTime formats t as in the artifacts of this program: in UTC with Z, and with six
// fraction digits unless they are all zero. It truncates t to microseconds.
func FormatTime(t time.Time) string {
	return timetext.Format(t)
}
