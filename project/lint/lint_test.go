package lint_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/lint"
)

var update = flag.Bool("update", false, "write testdata/captures.txt")

// TestCommittedCaptures compares the findings about every committed capture with
// testdata/captures.txt. A line has the event, the rule or code, and the place.
func TestCommittedCaptures(t *testing.T) {
	const golden = "testdata/captures.txt"
	root := "../../discovery"
	found, err := capture.Find(context.Background(), []string{filepath.Join(root, "captures"), filepath.Join(root, "drift/captures")})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 280 {
		t.Fatalf("only %d captures were found", len(found))
	}
	var b strings.Builder
	for _, c := range found {
		name, err := filepath.Rel(root, c.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []event.Protocol{event.Auto, event.V0} {
			row := lint.Capture(context.Background(), inputs.File(c.Path), lint.Options{Protocol: p}, nil)
			if p == event.V0 { // the rules of docs/lint.md are the same for all versions
				row.Findings = slices.DeleteFunc(row.Findings, func(f finding.Finding) bool { return strings.HasPrefix(f.Rule, "W") || strings.HasPrefix(f.Rule, "N") })
			}
			if p == event.V0 && row.Verdict == project.Accepted && len(row.Findings) == 0 {
				continue
			}
			fmt.Fprintf(&b, "%s %s %s\n", filepath.ToSlash(name), p, row.Verdict)
			for _, f := range row.Findings {
				b.WriteString("\t" + string(f.Severity) + " " + string(f.Code))
				if f.Rule != "" {
					b.WriteString(" " + f.Rule)
				}
				if f.EventIndex != nil {
					fmt.Fprintf(&b, " at event %d %s", *f.EventIndex, f.Pointer)
				}
				if _, more, ok := strings.Cut(f.Message, "; "); ok && f.Code == finding.EventAltered {
					b.WriteString(" (" + more + ")")
				}
				b.WriteString("\n")
			}
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(testkit.Read(t, golden)), b.String()); diff != "" {
		t.Errorf("run the test with -update and review the changes: %s", diff)
	}
}

// linted returns the row of a stream of lines, without W20, which most of them break.
func linted(t *testing.T, p event.Protocol, lines ...string) lint.Row {
	t.Helper()
	off := &lint.Policy{Rules: map[string]finding.Severity{"W20": lint.Off}}
	path := filepath.Join(t.TempDir(), "stream.ndjson")
	testkit.Write(t, path, []byte(strings.Join(lines, "\n")+"\n"))
	return lint.Capture(context.Background(), inputs.File(path), lint.Options{Protocol: p, Policy: off}, nil)
}

const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
)

// summary formats findings as event, code, rule and pointer.
func summary(list []finding.Finding) (texts []string) {
	for _, f := range list {
		event := "-"
		if f.EventIndex != nil {
			event = fmt.Sprint(*f.EventIndex)
		}
		texts = append(texts, strings.TrimSpace(strings.Join([]string{event, string(f.Code), f.Rule, string(f.Pointer)}, " ")))
	}
	return texts
}

func TestFindings(t *testing.T) {
	for _, test := range []struct {
		name    string
		lines   []string
		verdict project.Verdict
		want    []string
	}{
		{"a run", []string{started, finished}, project.Accepted, nil},
		{"a breach at the same place as a fault of form is reported once",
			[]string{started, `{"type":"CUSTOM","name":"n","value":1,"subagentRunId":null}`, `{"type":"SUBAGENT_STARTED","subagentRunId":"a"}`, `{"type":"SUBAGENT_FINISHED","subagentRunId":"a"}`, finished},
			project.Refused, []string{"1 subagent_id_null G5 /subagentRunId", "2 subagent_malformed G19 /name"}},
		{"a fault of form and a breach", []string{started, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":1}`, finished},
			project.Refused, []string{"1 not_open G10 /messageId", "1 event_refused  /delta"}},
		{"a duplicate key cannot be read", []string{started, `{"type":"RAW","event":1,"event":2}`, finished},
			project.Refused, []string{"1 json_duplicate_key  /event"}},
		{"converted", []string{started, `{"type":"THINKING_START","title":"x"}`, `{"type":"THINKING_END"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null}`},
			project.Accepted, []string{"1 event_altered", "3 event_altered  /result"}},
		{"the owners of converted events", []string{started, `{"type":"THINKING_START","subagentRunId":"a"}`, `{"type":"THINKING_END","subagentRunId":"b"}`, `{"type":"THINKING_START","subagentRunId":1}`, `{"type":"RUN_ERROR","message":"why"}`},
			project.Refused, []string{"1 event_altered", "2 owner_differs G18 /subagentRunId", "3 event_refused  /subagentRunId"}},
		{"what the client drops breaks no rule", []string{started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r","subagentRunId":null}`},
			project.Accepted, []string{"1 event_altered  /subagentRunId"}},
		{"RUN_ERROR needs no run", []string{`{"type":"RUN_ERROR","message":"why"}`}, project.Accepted, []string{"- no_run"}},
		{"no run", []string{`{"type":"CUSTOM","name":"n","value":1}`}, project.Refused, []string{"0 event_outside_run G1", "0 no_run"}},
		{"events that the client drops are no run", []string{`{"type":"X"}`}, project.Refused, []string{"- no_run", "0 event_altered"}},
	} {
		row := linted(t, event.V1, test.lines...)
		if diff := cmp.Diff(test.want, summary(row.Findings)); diff != "" || row.Verdict != test.verdict {
			t.Errorf("%s is %s: %s", test.name, row.Verdict, diff)
		}
	}
}

// Findings past the first 8 MiB have an offset, and no line.
func TestLines(t *testing.T) {
	long := fmt.Sprintf(`{"type":"CUSTOM","name":"n","value":%q}`, strings.Repeat("x", artifact.MaxFileBytes))
	row := linted(t, event.V1, started, `{"type":"STEP_FINISHED","stepName":"s"}`, long, `{"type":"STEP_FINISHED","stepName":"s"}`)
	if len(row.Findings) != 3 || row.Breaches != 2 {
		t.Fatalf("%d breaches: %v", row.Breaches, row.Findings)
	}
	if f := row.Findings[0]; f.Line != 2 || f.Column != 36 || f.Excerpt.Text == "" {
		t.Errorf("the first finding is at line %d, column %d", f.Line, f.Column)
	}
	if f := row.Findings[1]; f.Line != 0 || *f.Offset < artifact.MaxFileBytes || f.ResponseLine != 4 {
		t.Errorf("the second finding is at line %d, byte %d, line %d of the response", f.Line, *f.Offset, f.ResponseLine)
	}
}

// More than finding.MaxListed findings are counted.
func TestManyBreaches(t *testing.T) {
	lines := []string{started}
	for range 3 * finding.MaxListed {
		lines = append(lines, `{"type":"STEP_FINISHED","stepName":"s"}`)
	}
	row := linted(t, event.V1, append(lines, finished)...)
	if row.Breaches != 3*finding.MaxListed || len(row.Findings) != finding.MaxListed+1 || row.Verdict != project.Refused {
		t.Errorf("%s, %d breaches, %d findings", row.Verdict, row.Breaches, len(row.Findings))
	}
	if last := row.Findings[finding.MaxListed]; last.Message != "200 more findings are not listed" {
		t.Errorf("the last is %v", last)
	}
}
