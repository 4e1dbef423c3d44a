package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/golden"
)

// TestTraceDrift compares the committed captures of three releases of one integration, and of one
// integration in two languages, event by event. discovery/drift/README.md says what the files show.
func TestTraceDrift(t *testing.T) {
	for _, pair := range []struct{ file, a, b string }{
		{"adk-0.4.0-0.6.0", "discovery/drift/captures/adk-0.4.0", "discovery/drift/captures/adk-0.6.0"},
		{"adk-0.6.0-0.11.0", "discovery/drift/captures/adk-0.6.0", "discovery/captures/adk"},
		{"langgraph-langgraph-ts", "discovery/captures/langgraph", "discovery/captures/langgraph-ts"},
	} {
		t.Run(pair.file, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := []string{"diff", "../../" + pair.a, "../../" + pair.b}
			if status := run(args, &stdout, &stderr); status != exitNegative || stderr.Len() > 0 {
				t.Errorf("%q: exit status %d\n%s", args, status, stderr.String())
			}
			unchanged(t, filepath.Join("../../discovery/drift/traces", pair.file+".txt"), stdout.Bytes())
		})
	}
}

// TestTraceSettings reads the trace.json of each harness that has one. It has a reason for all
// that it says is random, and changes no other default.
func TestTraceSettings(t *testing.T) {
	for _, of := range loadHarnesses(t) {
		dir := filepath.Dir(of.expected)
		path := filepath.Join(dir, golden.ConfigName)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := golden.Open(t.Context(), dir); err != nil {
			t.Error(err)
		}
		var have golden.Config
		if err := json.Unmarshal(testkit.Read(t, path), &have); err != nil {
			t.Error(err)
		}
		for _, m := range have.Matchers {
			if m.Reason == "" {
				t.Errorf("%s: %s %s has no reason", path, m.Event, m.Pointer)
			}
		}
		if diff := cmp.Diff(golden.Config{Matchers: have.Matchers}, have); diff != "" {
			t.Errorf("%s has more than matchers:\n%s", path, diff)
		}
	}
}
