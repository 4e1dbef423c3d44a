package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/render/document"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

const (
	comparedRun     = `{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1767225600000}` + "\n" + comparedSnap + `{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1767225601000}` + "\n"
	comparedSnap    = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."}]}` + "\n"
	comparedHostile = `{"type":"RUN_STARTED","threadId":"t\u001b","runId":"r]]>","\u202e{0}[a](b)":1}` + "\n" +
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"\ud800","role":"\udc00\u0000","content":"]]>","[x](y)":{}}]}` + "\n" + `{"type":"\u001b[2J"}` + "\n"
)

// comparisons lists command lines of compare by name.
func comparisons(t *testing.T) map[string][]string {
	t.Helper()
	captures, err := filepath.Glob("../../discovery/captures/*/*/capture.json")
	if err != nil || len(captures) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for i := range captures {
		captures[i] = filepath.Dir(captures[i])
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two := file("one.ndjson", comparedRun), file("two.ndjson", comparedRun+comparedRun)
	baseline := filepath.Join(dir, "baseline.json")
	do(t, exitDone, "compare", one, two, "--write-baseline", baseline)
	changed := file("now/one.ndjson", strings.Replace(comparedRun, comparedSnap, comparedSnap+comparedSnap, 1))
	hostile := file("a b\x1b[31m<&\u202e.ndjson", comparedHostile)
	return map[string][]string{
		"captures":   captures,
		"files":      {one, two, hostile, file("empty.ndjson", ""), filepath.Join(dir, "nowhere")},
		"twice":      {one, one},
		"unchanged":  {one, two, "--baseline", baseline},
		"changed":    {changed, hostile, "--baseline", baseline},
		"unreadable": {filepath.Join(dir, "nowhere"), "--baseline", baseline},
	}
}

// compareRow is a row of compare.
type compareRow struct {
	Capture  string
	Digest   *digest.Digest
	Run      *int
	Verdict  string
	Findings []finding.Finding
	Changes  []finding.Finding
}

func rowsOf(t *testing.T, args []string) (rows []compareRow) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	run(append([]string{"compare", "--format", "json"}, args...), &stdout, &stderr)
	for line := range bytes.Lines(stdout.Bytes()) {
		var row compareRow
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatalf("no rows: %s", stderr.Bytes())
	}
	return rows
}

// No line that compare prints about the committed captures has more than 120 columns.
func TestCompareColumns(t *testing.T) {
	all := []string{"../../discovery/captures", "../../discovery/drift/captures"}
	inputs := [][]string{all}
	for _, place := range all {
		dirs, err := filepath.Glob(filepath.Join(place, "*"))
		if err != nil || len(dirs) == 0 {
			t.Fatalf("%s: no captures: %v", place, err)
		}
		for _, dir := range dirs {
			inputs = append(inputs, []string{dir})
		}
	}
	for _, input := range inputs {
		for _, flags := range [][]string{nil, {"--details"}, {"--quiet"}} {
			var stdout, stderr bytes.Buffer
			if status := run(slices.Concat([]string{"compare"}, input, flags), &stdout, &stderr); status == exitFailed || stderr.Len() > 0 {
				t.Fatalf("%v %v: exit status %d, %s", input, flags, status, stderr.Bytes())
			}
			checkColumns(t, stdout.String(), 1)
		}
	}
}

func TestCompareSARIF(t *testing.T) {
	schema := schemaOfSARIF(t)
	for name, args := range comparisons(t) {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			run(append([]string{"compare", "--format", "sarif"}, args...), &stdout, &stderr)
			var v any
			if err := json.Unmarshal(stdout.Bytes(), &v); err != nil {
				t.Fatal(err, stderr.String())
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%#v", err)
			}
			var log document.SARIFLog
			if err := json.Unmarshal(stdout.Bytes(), &log); err != nil {
				t.Fatal(err)
			}
			checkCompareSARIF(t, log.Runs[0], rowsOf(t, args))
		})
	}
}

// checkCompareSARIF compares a log with the rows of the same runs.
func checkCompareSARIF(t *testing.T, log document.SARIFRun, rows []compareRow) {
	t.Helper()
	var want, got []string
	failed := false
	for _, row := range rows {
		i := slices.IndexFunc(log.Artifacts, func(a document.SARIFArtifact) bool {
			path := strings.TrimPrefix(pathOf(t, a.Location.URI), "file://")
			if row.Verdict == "missing" { // only in the baseline
				return strings.HasSuffix(path, ".json")
			}
			return (path == row.Capture || filepath.Dir(path) == row.Capture) && (row.Digest == nil || a.Hashes != nil && a.Hashes.SHA256 == row.Digest.Hex())
		})
		if i < 0 {
			t.Errorf("no artifact for %q", row.Capture)
		}
		if row.Verdict == "error" {
			failed = true
			continue
		}
		shown := row.Findings
		if row.Changes != nil {
			shown = append(row.Changes, finding.AsWarnings(row.Findings)...)
		}
		for _, f := range shown {
			want = append(want, string(f.Code)+" "+document.SARIFLevel(f.Severity))
		}
	}
	for _, r := range log.Results {
		got = append(got, string(r.RuleID)+" "+r.Level)
		if region := r.Locations[0].Physical.Region; region != nil && region.StartLine == 0 {
			t.Errorf("a place without a line: %+v", r)
		}
		if log.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.Message.Text == "" || len(r.Locations) != 1 || *r.Locations[0].Physical.Artifact.Index >= len(log.Artifacts) {
			t.Errorf("%+v", r)
		}
	}
	if !slices.Equal(want, got) {
		t.Errorf("results %v, want %v", got, want)
	}
	if log.Invocations[0].Successful == failed || failed != (len(log.Invocations[0].Notifications) > 0) {
		t.Errorf("failed %t: %+v", failed, log.Invocations[0])
	}
}

func TestCompareJUnit(t *testing.T) {
	for name, args := range comparisons(t) {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			run(append([]string{"compare", "--format", "junit"}, args...), &stdout, &stderr)
			checkJUnitNames(t, stdout.Bytes())
			var suites document.JUnitSuites
			if err := xml.Unmarshal(stdout.Bytes(), &suites); err != nil {
				t.Fatal(err)
			}
			rows, s := rowsOf(t, args), suites.Suite
			if s.Name != "p20export compare" || s.Tests != len(rows) || len(s.Cases) != len(rows) {
				t.Fatalf("%d rows: %+v", len(rows), s)
			}
			failures, errors := 0, 0
			for i, row := range rows {
				c := s.Cases[i]
				bad := row.Changes == nil && row.Verdict != "exact" && row.Verdict != "reduced" || finding.Failed(row.Changes)
				switch {
				case row.Verdict == "error":
					errors++
					if c.Error == nil || c.Failure != nil || c.Error.Message == "" {
						t.Errorf("%s: %+v", row.Capture, c)
					}
				case bad:
					failures++
					if c.Failure == nil || c.Error != nil || c.Failure.Type != row.Verdict || !strings.Contains(c.Failure.Text, c.Failure.Message) {
						t.Errorf("%s: %+v", row.Capture, c)
					}
					if c.Failure != nil && c.Failure.Message == "" {
						t.Errorf("%s: no message", row.Capture)
					}
				case c.Failure != nil || c.Error != nil:
					t.Errorf("%s: %+v", row.Capture, c)
				}
			}
			if s.Failures != failures || s.Errors != errors {
				t.Errorf("%d failures and %d errors, want %d and %d", s.Failures, s.Errors, failures, errors)
			}
		})
	}
}
