package artifact

import (
	"errors"
	"regexp"
	"sync"
	"time"
)

// timestamp matches RFC 3339 §5.6 with upper-case T and Z and at most six fraction
// digits. time.Parse checks hours, minutes and seconds. It rejects leap seconds and
// hour 24.
var timestamp = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
})

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
	if !timestamp().MatchString(s) {
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
	t = t.UTC().Truncate(time.Microsecond)
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05.000000Z")
}
