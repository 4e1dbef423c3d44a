package analysis_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/analysis"
)

var tool = capture.Tool{Name: "test", Version: "1"}

// Minted lists the ids that the request did not choose.
func TestMinted(t *testing.T) {
	const uuid = "3f8a2f6e-0b6c-4d52-9e0e-6f1d2c3b4a59"
	started := func(thread, run string) string {
		return `{"type":"RUN_STARTED","threadId":"` + thread + `","runId":"` + run + `"}`
	}
	finished := func(thread, run string) string {
		return `{"type":"RUN_FINISHED","threadId":"` + thread + `","runId":"` + run + `"}`
	}
	const both = `{"threadId":"t","runId":"r","messages":[]}`
	tests := []struct {
		name, request string
		events        []string
		unnamed       bool
		want          []analysis.Anchor
	}{
		{"the request's", both, []string{started("t", "r"), finished("t", "r")}, false, nil},
		{"absent", `{"messages":[]}`, []string{started(uuid, "run_"+uuid), finished(uuid, "run_"+uuid)}, true, []analysis.Anchor{
			{Event: "RUN_STARTED", Key: "threadId", Shape: "UUID"}, {Event: "RUN_STARTED", Key: "runId", Shape: "UUID with a prefix"},
		}},
		{"blank", `{"threadId":"","runId":" "}`, []string{started(strings.ReplaceAll(uuid, "-", ""), "7")}, true, []analysis.Anchor{
			{Event: "RUN_STARTED", Key: "threadId", Shape: "32 hexadecimal digits"}, {Event: "RUN_STARTED", Key: "runId", Shape: "number"},
		}},
		{"empty all through", `{"threadId":"","runId":""}`, []string{started("", ""), finished("", "")}, true, nil},
		{"one of two", `{"threadId":"t"}`, []string{started("t", "https://host/run")}, true, []analysis.Anchor{
			{Event: "RUN_STARTED", Key: "runId", Shape: "path-like", Rule: "A12"},
		}},
		{"replaced", both, []string{started("t", "localhost:80")}, false, []analysis.Anchor{
			{Event: "RUN_STARTED", Key: "runId", Shape: "other", Rule: "A29"},
		}},
		{"another at the end", both, []string{started("t", "r"), finished("t", uuid)}, false, []analysis.Anchor{
			{Event: "RUN_FINISHED", Key: "runId", Shape: "UUID"},
		}},
		{"the request's at the end", both, []string{started("t", uuid), finished("t", "r")}, false, []analysis.Anchor{
			{Event: "RUN_STARTED", Key: "runId", Shape: "UUID"},
		}},
		{"too long", both, []string{started("t", strings.Repeat("x", 257))}, false, []analysis.Anchor{
			{Event: "RUN_STARTED", Key: "runId", Shape: "letters and digits", Rule: "A11"},
		}},
		{"no request", "", []string{started("t", "r"), finished("t", "s")}, false, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "captured")
			response := strings.Join(test.events, "\n") + "\n"
			settings := capture.Settings{Framing: capture.NDJSON, Tool: tool}
			if test.request != "" {
				settings.Request = []byte(test.request)
			}
			if _, _, err := capture.Import(t.Context(), strings.NewReader(response), dir, settings); err != nil {
				t.Fatal(err)
			}
			run := analysis.Analyze(t.Context(), dir, artifact.V1, nil)[0]
			if run.OmitsID != test.unnamed {
				t.Errorf("OmitsID = %t", run.OmitsID)
			}
			if diff := cmp.Diff(test.want, run.Minted); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// OmitsID is also set if the request was refused.
func TestOmitsIDWithoutRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "captured")
	if _, _, err := capture.Import(t.Context(), strings.NewReader("{}\n"), dir, capture.Settings{Framing: capture.NDJSON, Tool: tool, Request: []byte(`{"messages":[]}`)}); err != nil {
		t.Fatal(err)
	}
	if run := analysis.Analyze(t.Context(), dir, artifact.V1, nil)[0]; run.Run != nil || !run.OmitsID {
		t.Errorf("%+v", run)
	}
}

func TestShape(t *testing.T) {
	const uuid = "3F8A2F6E-0b6c-4d52-9e0e-6f1d2c3b4a59"
	for id, want := range map[string]string{
		uuid:                              "UUID",
		"lc_run--" + uuid:                 "UUID with a prefix",
		uuid + "-reasoning":               "UUID with more text",
		"a" + uuid + "-0":                 "UUID with more text",
		strings.Repeat("0a", 16):          "32 hexadecimal digits",
		"run_" + strings.Repeat("0a", 16): "32 hexadecimal digits with a prefix",
		"a/b":                             "path-like",
		`C:\a`:                            "path-like",
		"12":                              "number",
		"V1StGXR8_Z5jdHi6B-myT":           "other",
		"aitxt-h9BJZcNUVyw9qW9CYXti99ep":  "letters and digits with a prefix",
		"h9BJZcNUVyw9qW9C":                "letters and digits",
		"run-1":                           "other",
		"ö":                               "other",
	} {
		if got := analysis.Shape(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
