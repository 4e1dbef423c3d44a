package analysis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

// Very long names are shortened everywhere.
func TestLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<20)
	events := strings.Join([]string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1767225600000,"` + long + `":1}`,
		`{"type":"` + long + `"}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"` + long + `","role":"` + long + `","content":"c","` + long + `":1}]}`,
		`{"type":"` + long + `","` + long + `":1}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1767225601000}`,
	}, "\n") + "\n"
	path := filepath.Join(t.TempDir(), "long.ndjson")
	if err := os.WriteFile(path, []byte(events), 0o644); err != nil {
		t.Fatal(err)
	}
	runs := Analyze(t.Context(), path, artifact.V1, nil)
	if len(runs) != 1 || len(runs[0].Snapshots) != 1 {
		t.Fatalf("%+v", runs)
	}
	s := runs[0].Snapshots[0]
	for _, name := range []string{s.Before, s.After, s.Roles[0]} {
		if len(name) > maxNameBytes+len("…") || !strings.HasSuffix(name, "é…") || !utf8.ValidString(name) {
			t.Errorf("%d bytes: %.200q", len(name), name)
		}
	}
	data, err := json.Marshal(runs)
	if err != nil || len(data) > 64<<10 {
		t.Errorf("%d bytes of JSON, %v", len(data), err)
	}
}

// The runs of one capture are kept up to a limit.
func TestListLimit(t *testing.T) {
	x := &Analyzer{contract: artifact.V1}
	e := x.emptyRun(Refused)
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	run := &envelope.Run{Started: &envelope.Event{Type: envelope.RunStarted}}
	x.listBytes = maxListBytes - len(data)
	if err := x.keep(run, e); err != nil || len(x.list) != 1 {
		t.Errorf("at the limit: %v, %d runs", err, len(x.list))
	}
	x.listBytes = maxListBytes - len(data) + 1
	f, ok := x.keep(run, e).(finding.Finding)
	if !ok || f.Code != finding.RunsTooMany || f.Severity != finding.Error || len(x.list) != 1 {
		t.Errorf("past the limit: %+v, %d runs", f, len(x.list))
	}
}

// EventTypes limits the number of events and the number of distinct types.
func TestTypesBounded(t *testing.T) {
	var types EventTypes
	types.set(maxTypedEvents-1, "A")
	types.set(maxTypedEvents, "A")
	last, past := maxTypedEvents-1, maxTypedEvents
	if types.At(&last) != "A" || types.At(&past) != "" || len(types.nameIndexes) != maxTypedEvents {
		t.Errorf("%q, %q, %d", types.At(&last), types.At(&past), len(types.nameIndexes))
	}
	types = EventTypes{}
	for i := range maxTypes + 1 {
		types.set(i, string(rune('一'+i)))
	}
	last, past = maxTypes-2, maxTypes-1
	if types.At(&last) == "" || types.At(&past) != "" || len(types.names) != maxTypes {
		t.Errorf("%q, %q, %d names", types.At(&last), types.At(&past), len(types.names))
	}
}
