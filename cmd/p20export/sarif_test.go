package main

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/cmd/p20export/internal/render/document"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

// schemaOfSARIF compiles the published schema (testdata/sarif/README.md).
func schemaOfSARIF(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text := testkit.Read(t, "testdata/sarif/sarif-schema-2.1.0.json")
	if d := digest.Of(text).Hex(); d != "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e" {
		t.Fatalf("the schema was changed: %s", d)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat = true
	c.LoadURL = nil // nothing is fetched
	if err := c.AddResource(document.SARIFSchema, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(document.SARIFSchema)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSARIF(t *testing.T) {
	schema := schemaOfSARIF(t)
	for _, j := range validations(t) {
		t.Run(j.name, func(t *testing.T) {
			out := runValidation(t, j, render.SARIF)
			var v any
			if err := json.Unmarshal(out, &v); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%#v", err)
			}
			checkSARIF(t, j, out)
		})
	}
}

// The schema rejects a document that is not SARIF, so the test above can fail.
func TestSARIFSchemaRefuses(t *testing.T) {
	schema := schemaOfSARIF(t)
	for _, text := range []string{
		`{}`,
		`{"version":"2.1.0","runs":[{}]}`,
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"p","informationUri":"no uri"}}}]}`,
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"p"}},"results":[{"message":{"text":"m"},"level":"info"}]}]}`,
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"p"}},"artifacts":[{},{}]}]}`,
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"p"}},"artifacts":[{"location":{"uri":"%zz"}}]}]}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if schema.Validate(v) == nil {
			t.Errorf("%s is valid", text)
		}
	}
}

// checkSARIF compares a log with the JSON rows of the same files, and checks rules that the
// schema does not express.
func checkSARIF(t *testing.T, j validation, out []byte) {
	t.Helper()
	var log document.SARIFLog
	if err := json.Unmarshal(out, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	var results []document.SARIFResult
	var notifications []document.SARIFNotification
	failed := false
	for line := range bytes.Lines(runValidation(t, j, render.JSON)) {
		var row struct {
			File     string
			Verdict  string
			Digest   *digest.Digest
			Findings []finding.Finding
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(run.Artifacts, func(a document.SARIFArtifact) bool {
			return pathOf(t, a.Location.URI) == row.File && (row.Digest == nil) == (a.Hashes == nil) && (row.Digest == nil || a.Hashes.SHA256 == row.Digest.Hex())
		})
		if i < 0 {
			t.Fatalf("no artifact for %q in %+v", row.File, run.Artifacts)
		}
		if path := strings.TrimPrefix(row.File, "file://"); run.Artifacts[i].Length != nil && path != "-" && !strings.ContainsRune(path, '\ufffd') {
			if info, err := os.Stat(path); err != nil || info.Size() != *run.Artifacts[i].Length {
				t.Errorf("%s: length %d, %v", path, *run.Artifacts[i].Length, err)
			}
		}
		failed = failed || row.Verdict == "error"
		for _, f := range row.Findings {
			r := document.SARIFResult{RuleID: f.Code, Level: document.SARIFLevel(f.Severity), Properties: &document.SARIFProperties{Rule: f.Rule, Spec: f.Spec, Hint: f.Hint, EventIndex: f.EventIndex}}
			if f.Rule != "" {
				r.Properties.See = "https://github.com/p20export/p20export/blob/main/docs/contract.md#" + f.Rule
			}
			l := document.SARIFLocation{Physical: document.SARIFPhysical{Artifact: document.SARIFPlace{URI: run.Artifacts[i].Location.URI, Index: &i}}}
			if f.Offset != nil {
				l.Physical.Region = &document.SARIFRegion{StartLine: f.Line, StartColumn: f.Column, ByteOffset: f.Offset}
			}
			if f.Pointer != "" {
				l.Logical = []document.SARIFLogical{{Pointer: f.Pointer}}
			}
			r.Locations = []document.SARIFLocation{l}
			if row.Verdict == "error" {
				notifications = append(notifications, document.SARIFNotification{Descriptor: document.SARIFDescriptor{ID: f.Code}, Level: r.Level, Locations: r.Locations})
			} else {
				results = append(results, r)
			}
		}
	}
	if run.Invocations[0].Successful == failed {
		t.Errorf("executionSuccessful is %t", !failed)
	}
	about := run.Tool.Driver
	for i := range run.Results {
		r := &run.Results[i]
		if about.Rules[r.RuleIndex].ID != r.RuleID || r.Message.Text == "" {
			t.Errorf("result %d: rule %d is not %s, or no message", i, r.RuleIndex, r.RuleID)
		}
		r.RuleIndex, r.Message = 0, document.SARIFMessage{}
		if r.Properties == nil {
			r.Properties = &document.SARIFProperties{}
		}
		physical := &r.Locations[0].Physical
		if physical.Context != nil {
			if physical.Context.StartLine != physical.Region.StartLine || len(physical.Context.Snippet.Text) > 2000 {
				t.Errorf("result %d: context %+v", i, physical.Context)
			}
			if s := physical.Region.Snippet; s != nil && !strings.HasSuffix(physical.Context.Snippet.Text, s.Text) {
				t.Errorf("result %d: %q is not the end of %q", i, s.Text, physical.Context.Snippet.Text)
			}
			physical.Context, physical.Region.Snippet = nil, nil
		}
	}
	for i := range run.Invocations[0].Notifications {
		n := &run.Invocations[0].Notifications[i]
		if about.Notifications[n.Descriptor.Index].ID != n.Descriptor.ID || n.Message.Text == "" {
			t.Errorf("notification %d: %+v", i, n)
		}
		n.Descriptor.Index, n.Message, n.Properties = 0, document.SARIFMessage{}, nil
	}
	if diff := cmp.Diff(results, append([]document.SARIFResult(nil), run.Results...)); diff != "" {
		t.Errorf("results (-rows +log)\n%s", diff)
	}
	if diff := cmp.Diff(notifications, run.Invocations[0].Notifications); diff != "" {
		t.Errorf("notifications (-rows +log)\n%s", diff)
	}
}

// uriCharacters has the characters of URIs (RFC 3986 §2).
var uriCharacters = regexp.MustCompile(`^([A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-F]{2})*$`)

// pathOf returns the path of a URI reference, with invalid UTF-8 replaced as in a row.
func pathOf(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil || !uriCharacters.MatchString(uri) {
		t.Fatalf("%q is no URI reference: %v", uri, err)
	}
	path := strings.ToValidUTF8(u.Path, "\ufffd")
	if rest, ok := strings.CutPrefix(path, "./"); ok && strings.Contains(rest, ":") {
		return rest // a colon in the first segment needs the dot
	}
	return path
}
