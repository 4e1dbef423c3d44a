package assay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// This test checks the parsed moments. TestJudgeRandomTimes compares with the reference
// which times are accepted.
func TestParseTime(t *testing.T) {
	for s, want := range map[string]string{
		"2026-04-14T20:10:00Z":                  "2026-04-14T20:10:00Z",
		"2026-4-1 2:1:0utc":                     "2026-04-01T02:01:00Z",
		"2026-04-14T20:10:00+02:30":             "2026-04-14T17:40:00Z",
		"2026-04-14T20:10:00-23:59":             "2026-04-15T20:09:00Z",
		"2026-04-14T20:10:00\u221202:30":        "2026-04-14T22:40:00Z",
		"2026-04-14T20:10:00.5000Z":             "2026-04-14T20:10:00.500Z",
		"2026-04-14T20:10:00.0005Z":             "2026-04-14T20:10:00.000500Z",
		"2026-04-14T20:10:00.1234567899Z":       "2026-04-14T20:10:00.123456789Z",
		"2026-04-14T20:10:60.25+00:01":          "2026-04-14T20:09:60.250Z",
		"+10000-01-01T00:00:00+01:00":           "9999-12-31T23:00:00Z",
		"-0001-12-31T23:00:00-01:00":            "0000-01-01T00:00:00Z",
		"0-1-1T0:0:0+00:01":                     "-0001-12-31T23:59:00Z",
		"+262142-12-31T23:59:59.999999999Z":     "+262142-12-31T23:59:59.999999999Z",
		"-262143-01-01T00:00:00Z":               "-262143-01-01T00:00:00Z",
		" 2026 - 02 - 28T 23 : 59 : 59 - 00:01": "2026-03-01T00:00:59Z",
	} {
		s = strings.Replace(s, "- 00:01", "-00:01", 1)
		got, ok := parseTime(s)
		if !ok || got.String() != want {
			t.Errorf("%q is %v, %v, want %s", s, got, ok, want)
		}
		again, ok := parseTime(want)
		if !ok || again != got {
			t.Errorf("%q is %v, %v, and %q is %v", want, again, ok, s, got)
		}
	}
}

// For RFC 3339 times, the result is the same as in package time.
func TestParseTimeRFC3339(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sec := rapid.Int64Range(-62135596800, 253402300799).Draw(t, "sec")
		nano := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 999)).Draw(t, "nano") * rapid.SampledFrom([]int{1, 1000, 1000000}).Draw(t, "unit")
		want := time.Unix(sec, int64(nano)).In(time.FixedZone("", 60*rapid.IntRange(-1439, 1439).Draw(t, "offset")))
		if want.Year() < 0 || want.Year() > 9999 {
			t.Skip("not RFC 3339")
		}
		got, ok := parseTime(want.Format(time.RFC3339Nano))
		if !ok || got != (instant{sec, nano}) {
			t.Errorf("%s is %v, %v", want.Format(time.RFC3339Nano), got, ok)
		}
		again, err := time.Parse(time.RFC3339Nano, got.String())
		if year := want.UTC().Year(); err != nil && 0 <= year && year <= 9999 || err == nil && !again.Equal(want) {
			t.Errorf("%s is written %s", fmt.Sprint(want), got)
		}
	})
}
