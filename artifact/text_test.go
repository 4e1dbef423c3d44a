package artifact_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
)

// pythonSpace is the white space that Python's str.strip removes, which Assay's mapping
// does not count.
const pythonSpace = "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680" +
	"\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" +
	"\u2028\u2029\u202f\u205f\u3000"

func TestSpace(t *testing.T) {
	spaces := 0
	for r := rune(0); r <= 0x10ffff; r++ {
		want := strings.ContainsRune(pythonSpace, r) && r != 0xfffd
		if want {
			spaces++
		}
		if artifact.IsSpace(r) != want {
			t.Errorf("%U is space: %v", r, !want)
		}
	}
	if spaces != 29 {
		t.Fatalf("the list contains %d characters", spaces)
	}
	for _, r := range "\u200b\ufeff\u180e\u2060\x00\x1b" {
		if artifact.IsSpace(r) || artifact.IsBlank(string(r)) {
			t.Errorf("%U is space", r)
		}
	}
	for _, r := range pythonSpace {
		c := string(r)
		if !artifact.IsBlank(c) || artifact.Trim(c+"a"+c+"b"+c) != "a"+c+"b" {
			t.Errorf("%U is not trimmed", r)
		}
	}
	if !artifact.IsBlank("") || !artifact.IsBlank(pythonSpace) || artifact.Trim(pythonSpace) != "" {
		t.Error("nothing is not blank")
	}
}

func TestControl(t *testing.T) {
	for _, s := range []string{"\x00", "a\nb", "\x1f", "\x7f", "\u0080", "\u0085", "\u009f"} {
		if !artifact.HasControl(s) {
			t.Errorf("%q has no control character", s)
		}
	}
	for _, s := range []string{"", "plain é 東京 🙂", "\u00a0\u00ad\u200b\u2028\u202e\ufeff"} {
		if artifact.HasControl(s) {
			t.Errorf("%q has a control character", s)
		}
	}
}

func TestTimes(t *testing.T) {
	for s, want := range map[string]string{
		"2026-01-31T12:00:00Z":             "2026-01-31T12:00:00Z",
		"2026-01-31T00:00:00Z":             "2026-01-31T00:00:00Z",
		"2026-01-31T23:59:59Z":             "2026-01-31T23:59:59Z",
		"2026-01-31T12:00:00+00:00":        "2026-01-31T12:00:00Z",
		"2026-01-31T12:00:00-00:00":        "2026-01-31T12:00:00Z",
		"2026-01-31T12:00:00+02:00":        "2026-01-31T10:00:00Z",
		"2026-01-31T12:00:00-05:30":        "2026-01-31T17:30:00Z",
		"2026-01-31T12:00:00+23:59":        "2026-01-30T12:01:00Z",
		"2026-01-31T12:00:00-23:59":        "2026-02-01T11:59:00Z",
		"2026-01-31T12:00:00.5Z":           "2026-01-31T12:00:00.500000Z",
		"2026-01-31T12:00:00.12Z":          "2026-01-31T12:00:00.120000Z",
		"2026-01-31T12:00:00.123Z":         "2026-01-31T12:00:00.123000Z",
		"2026-01-31T12:00:00.0001Z":        "2026-01-31T12:00:00.000100Z",
		"2026-01-31T12:00:00.00001Z":       "2026-01-31T12:00:00.000010Z",
		"2026-01-31T12:00:00.000001Z":      "2026-01-31T12:00:00.000001Z",
		"2026-01-31T12:00:00.000000Z":      "2026-01-31T12:00:00Z",
		"2026-01-31T12:00:00.999999+01:00": "2026-01-31T11:00:00.999999Z",
		"2024-02-29T00:00:00Z":             "2024-02-29T00:00:00Z",
		"2000-02-29T00:00:00Z":             "2000-02-29T00:00:00Z",
		"0001-01-01T00:00:00Z":             "0001-01-01T00:00:00Z",
		"0001-01-01T00:00:00-01:00":        "0001-01-01T01:00:00Z",
		"9999-12-31T23:59:59.999999Z":      "9999-12-31T23:59:59.999999Z",
		"9999-12-31T23:59:59+01:00":        "9999-12-31T22:59:59Z",
	} {
		got, err := artifact.ParseTime(s)
		if err != nil || artifact.FormatTime(got) != want {
			t.Errorf("%s is %s, %v; want %s", s, artifact.FormatTime(got), err, want)
		}
		for _, p := range artifact.Profiles() {
			mustFind(t, with(t, base, "2026-01-01T00:00:00Z", s), p)
		}
	}
}

func TestTimesRefused(t *testing.T) {
	for _, s := range []string{
		"2026-01-31", "20260131T120000Z", "2026-01-31T12:00Z", "2026-01-31T12Z", "2026-W05-6T12:00:00Z", "1738324800",
		"2026-01-31T12:00:00", "2026-01-31 12:00:00Z", "2026-01-31t12:00:00Z", "2026-01-31T12:00:00z", "2026-01-31_12:00:00Z",
		" 2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z ", "2026-01-31T12:00:00Z\\n", "2026-01-31T12:00:00 Z",
		"2026-01-31T24:00:00Z", "2026-01-31T12:60:00Z", "2026-01-31T12:00:60Z", "2026-06-30T23:59:60Z",
		"2026-01-31T12:00:00.Z", "2026-01-31T12:00:00,5Z", "2026-01-31T12:00:00.1234567Z", "2026-01-31T12:00:00.12345678Z", "2026-01-31T12:00:00.123456789Z",
		"2026-01-31T12:00:00.0000000Z", "2026-01-31T12:00:00.1234567890Z",
		"2026-01-31T12:00:00+24:00", "2026-01-31T12:00:00-24:00", "2026-01-31T12:00:00+01:60", "2026-01-31T12:00:00+0100", "2026-01-31T12:00:00+01", "2026-01-31T12:00:00+1:00", "2026-01-31T12:00:00Z+01:00", "2026-01-31T12:00:00UTC",
		"2026-00-31T12:00:00Z", "2026-13-31T12:00:00Z", "2026-01-00T12:00:00Z", "2026-01-32T12:00:00Z", "2026-04-31T12:00:00Z",
		"2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-02-30T00:00:00Z",
		"0000-01-01T00:00:00Z", "0000-12-31T23:59:59-01:00", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "9999-12-31T23:59:59.5-23:59",
		"10000-01-01T00:00:00Z", "-001-01-01T00:00:00Z", "26-01-31T12:00:00Z", "2026-1-31T12:00:00Z", "２026-01-31T12:00:00Z",
	} {
		if got, err := artifact.ParseTime(s); err == nil || !got.IsZero() {
			t.Errorf("%s is %v", s, got)
		}
		for _, key := range []string{"started_at", "finished_at"} {
			text := with(t, base, `"2026-01-01T00:00:00Z"`, `^"`+s+`"`)
			if key == "finished_at" {
				text = with(t, base, `"messages"`, `"finished_at":^"`+s+`","messages"`)
			}
			for _, p := range artifact.Profiles() {
				mustFind(t, text, p, "timestamp_malformed /"+key)
			}
		}
	}
}

// A timestamp has the form that the contract gives as a regular expression, for all texts
// that are made of pieces of timestamps.
func TestTimestampForm(t *testing.T) {
	form := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
	pieces := rapid.SampledFrom([]string{"0", "1", "2", "3", "5", "6", "9", "-", ":", "T", ".", "Z", "+", "z", "/", ";", "\n", "é", "+23:59", "-24:00", ".123456", ".1234567"})
	rapid.Check(t, func(t *rapid.T) {
		text := []rune("2026-01-31T12:30:45.123456+02:30")
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			from := rapid.IntRange(0, len(text)).Draw(t, "from")
			to := min(from+rapid.IntRange(0, 8).Draw(t, "removed"), len(text))
			text = slices.Replace(text, from, to, []rune(pieces.Draw(t, "piece"))...)
		}
		if got, want := artifact.IsTimestamp(string(text)), form.MatchString(string(text)); got != want {
			t.Fatalf("%q: %t, want %t", string(text), got, want)
		}
	})
}

func TestTimesCompareAsInstants(t *testing.T) {
	for _, tt := range []struct {
		started, finished string
		ok                bool
	}{
		{"2026-01-01T00:00:00Z", "2026-01-01T00:00:00+00:00", true},
		{"2026-01-01T00:00:00Z", "2026-01-01T00:00:00+00:01", false},
		{"2026-01-01T00:00:00Z", "2025-12-31T23:59:00-00:01", true},
		{"2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.49Z", false},
		{"2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.500000Z", true},
	} {
		text := with(t, base, `"2026-01-01T00:00:00Z"`, `"`+tt.started+`","finished_at":^"`+tt.finished+`"`)
		if tt.ok {
			mustFind(t, strings.ReplaceAll(text, "^", ""), artifact.V1)
		} else {
			mustFind(t, text, artifact.V1, "times_out_of_order /finished_at")
		}
	}
}

// ParseTime parses the result of FormatTime to the same microsecond, for any time zone.
func TestFormatTime(t *testing.T) {
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	rapid.Check(t, func(t *rapid.T) {
		want := time.Unix(rapid.Int64Range(first, last).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds"))
		want = want.In(time.FixedZone("", rapid.IntRange(-14*3600, 14*3600).Draw(t, "zone")))
		s := artifact.FormatTime(want)
		got, err := artifact.ParseTime(s)
		below := want.Sub(got)
		if err != nil || below < 0 || below >= time.Microsecond || artifact.FormatTime(got) != s {
			t.Fatalf("%v is %s, which is %v, %v", want, s, got, err)
		}
		if n := len(s); n != len("2006-01-02T15:04:05Z") && n != len("2006-01-02T15:04:05.000000Z") || strings.HasSuffix(s, ".000000Z") {
			t.Fatalf("%s has the wrong form", s)
		}
	})
}
