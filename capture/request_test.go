package capture

import (
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
)

func TestCheckRequest(t *testing.T) {
	for _, body := range []string{"{}", " {\"a\":[1,{}]}\n", `{"a":1,"a":2}`, `{"\ud800":"\ud800"}`} {
		if err := CheckRequest([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	for body, message := range map[string]string{
		"":                 "not JSON: the text is empty",
		"[]":               "an array, not an object",
		`"{}"`:             "a string, not an object",
		"1":                "a number, not an object",
		"null":             "null, not an object",
		"{":                "not JSON",
		`{"a":}`:           "not JSON",
		"{} {}":            "not JSON",
		"\xef\xbb\xbf{}":   "not JSON",
		"{\"a\":\"\xff\"}": "not JSON",
	} {
		f := mustFind(t, CheckRequest([]byte(body)), finding.RequestMalformed)
		if !strings.Contains(f.Message, message) || !strings.Contains(f.Hint, "AG-UI run input") {
			t.Errorf("%q: %q, next %q", body, f.Message, f.Hint)
		}
	}
}
