package compact

import (
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
)

// ModeClient reports what it moves behind the end of a run, and patches that do not apply.
func TestClientReports(t *testing.T) {
	started, failed := `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_ERROR","message":""}`
	call := `{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"n"}`
	state := `{"type":"STATE_SNAPSHOT","snapshot":{}}`
	wrong := `{"type":"STATE_DELTA","delta":[{"op":"remove","path":"/a"}]}`
	for name, c := range map[string]struct {
		events []string
		want   []finding.Code // at events 1, 2 and so on
	}{
		"ended":       {[]string{started, textStart("m"), textEnd("m"), failed}, nil},
		"before":      {[]string{started, textStart("m"), started, textEnd("m"), failed}, nil},
		"open":        {[]string{started, textStart("m"), call, failed}, []finding.Code{finding.WrittenAfterRun, finding.WrittenAfterRun}},
		"ended later": {[]string{started, textDelta("m", "x"), failed, started, textEnd("m")}, []finding.Code{finding.WrittenAfterRun}},
		"patch":       {[]string{state, wrong, `{"type":"STATE_DELTA","delta":[]}`, `{"type":"STATE_DELTA"}`}, []finding.Code{finding.PatchFailed, "", finding.PatchFailed}},
		"unknown":     {[]string{state, `{"type":"STATE_DELTA","delta":[{"op":"x"}]}`}, []finding.Code{finding.EventAltered}},
		"no snapshot": {[]string{started, wrong, failed}, nil},
	} {
		for _, mode := range []Mode{ModeClient, ModeStream} {
			got := map[int]finding.Code{}
			compactor := New(Options{Mode: mode, Report: func(f finding.Finding) {
				if f.Severity != finding.Warning || strings.Contains(f.Message, "\n") {
					t.Errorf("%s: %v", name, f)
				}
				got[*f.EventIndex] = f.Code
			}}, func([]byte) error { return nil })
			for i, text := range c.events {
				e := event(t, text)
				e.Index = i
				if err := compactor.Event(e); err != nil {
					t.Fatal(err)
				}
			}
			if err := compactor.End(); err != nil {
				t.Fatal(err)
			}
			for i := range c.events {
				want := finding.Code("")
				if i > 0 && i <= len(c.want) && mode == ModeClient {
					want = c.want[i-1]
				}
				if got[i] != want {
					t.Errorf("%s, mode %s: event %d has the warning %q, want %q", name, mode, i, got[i], want)
				}
			}
		}
	}
}

// TestClientUnknownOperations has a patch whose unknown operation is left out where the patch
// is applied, and kept where it is not.
func TestClientUnknownOperations(t *testing.T) {
	delta := `{"type":"STATE_DELTA","delta":[{"op":"increment","path":"/n"},{"op":"replace","path":"/n","value":5}]}`
	for _, test := range []struct{ events, want []string }{
		{[]string{`{"type":"STATE_SNAPSHOT","snapshot":{"n":1}}`, delta}, []string{`{"type":"STATE_SNAPSHOT","snapshot":{"n":5}}`}},
		{[]string{delta}, []string{delta}},
	} {
		if got := run(t, ModeClient, test.events...); !slices.Equal(got, test.want) {
			t.Errorf("%q becomes %q, want %q", test.events, got, test.want)
		}
	}
}
