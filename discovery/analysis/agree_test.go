package analysis

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// Analyze agrees with freeze and inspect about every committed capture.
func TestAgreesOnCaptures(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"../captures/*/*", "../drift/captures/*/*"} {
		seen := 0
		all, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range all {
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				continue
			}
			seen++
			t.Run(path, func(t *testing.T) { agree(t, t.TempDir(), path) })
		}
		if seen == 0 {
			t.Errorf("no captures in %s", pattern)
		}
	}
}

// Analyze also agrees with them about random sequences of events.
func TestAgreesOnEvents(t *testing.T) {
	root := t.TempDir()
	events := []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1767225600000,"input":{"parentRunId":"p"},"more":1}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"Hi."}`,
		`{"type":"TEXT_MESSAGE_END","messageId":"a"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"b","delta":"Hi."}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."},{"id":"a","role":"assistant","content":"Hi."}]}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":null},{"role":"tool"},{"id":"\ud800","role":"assistant","content":"Hi.","1":2}]}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":{}}`,
		`{"type":"` + strings.Repeat("T", 200) + `"}`,
		`{"type":"CUSTOM"`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1767225601000}`,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"other"}`,
		`{"type":"RUN_ERROR","message":"broken"}`,
	}
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			r.Fatal(err)
		}
		path := filepath.Join(dir, "generated")
		list := append([]string{events[0]}, rapid.SliceOfN(rapid.SampledFrom(events), 0, 12).Draw(r, "events")...)
		if rapid.Bool().Draw(r, "before") {
			list = append(list[:1:1], list...)
			list[0] = events[2]
		}
		text := rapid.SampledFrom([]string{
			strings.Join(list, "\n") + "\n", "[" + strings.Join(list, ",") + "]", "[" + strings.Join(list, ",") + "] and more",
		}).Draw(r, "text")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.Fatal(err)
		}
		agree(r, dir, path)
	})
}

// An error in the capture as a whole refuses all its runs.
func TestAgreesOnDamagedCapture(t *testing.T) {
	const snapshot = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."}]}`
	events := []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1767225600000}`, snapshot, snapshot,
		`{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1767225601000}`,
	}
	path := filepath.Join(t.TempDir(), "damaged.json")
	for _, test := range []struct {
		after   string
		verdict Verdict
		fields  bool
	}{{"]", Chosen, true}, {"] and more", Refused, false}} {
		if err := os.WriteFile(path, []byte("["+strings.Join(events, ",")+test.after), 0o644); err != nil {
			t.Fatal(err)
		}
		agree(t, t.TempDir(), path)
		runs := Analyze(t.Context(), path, artifact.V1, nil)
		if len(runs) != 1 || runs[0].Verdict != test.verdict || len(runs[0].Projections) != 4 || runs[0].Projections[3].Snapshot != project.Last {
			t.Fatalf("%q: %+v", test.after, runs)
		}
		surfaced, reduced := false, false
		for _, f := range runs[0].Fields {
			surfaced, reduced = surfaced || f.Surfaced, reduced || f.ArtifactKey != ""
		}
		if surfaced != test.fields || reduced != test.fields {
			t.Errorf("%q: fields surfaced %t, reduced %t", test.after, surfaced, reduced)
		}
	}
}

// An altered response is reported, and nothing else about its runs.
func TestAgreesOnAlteredCapture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one-turn")
	testkit.CopyDir(t, path, "../captures/adk/one-turn")
	response := filepath.Join(path, "response.sse")
	data, err := os.ReadFile(response)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(response, append(data, ": altered\n\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	runs := Analyze(t.Context(), path, artifact.V1, nil)
	rows, err := freeze.Freeze(t.Context(), path, freeze.Settings{Settings: project.Settings{Projection: project.EmittedSnapshot}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 1 || len(rows) != 1 || runs[0].Verdict != Refused || rows[0].Verdict != project.Refused || runs[0].Run != nil || len(runs[0].Events) != 0 {
		t.Fatalf("%+v and %+v", runs, rows)
	}
	if diff := cmp.Diff(rows[0].Findings, runs[0].Findings); diff != "" {
		t.Errorf("(-freeze +compare)\n%s", diff)
	}
}

// agree compares the analysis of a capture with the rows of freeze and inspect.
func agree(t rapid.TB, dir, path string) {
	t.Helper()
	runs := Analyze(context.Background(), path, artifact.V1, nil)
	inspected := scan.Inspect(context.Background(), inputs.File(path), nil)
	if len(runs) == 0 || len(runs) != len(inspected) {
		t.Fatalf("%d runs, inspect has %d", len(runs), len(inspected))
	}
	of := typesOf(t, path)
	for i, run := range runs {
		if diff := cmp.Diff(inspectedAs(t, inspected[i]), examinedAs(t, run)); diff != "" {
			t.Errorf("run %d (-inspect +compare)\n%s", i+1, diff)
		}
		for j, p := range run.Projections {
			if p.Snapshot == "" && p.Name != project.Names()[j] {
				t.Errorf("projection %d is %s", j, p.Name)
			}
			if diff := cmp.Diff(frozenAs(t, filepath.Join(dir, string(p.Name)+string(p.Snapshot)), path, p, i, of), projectedAs(p)); diff != "" {
				t.Errorf("run %d, %s %s (-freeze +compare)\n%s", i+1, p.Name, p.Snapshot, diff)
			}
		}
	}
}

// typesOf returns the types of a capture's events.
func typesOf(t rapid.TB, path string) *EventTypes {
	t.Helper()
	c, err := capture.Open(context.Background(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	v := new(typing)
	if _, err := envelope.Scan(c, v); err != nil {
		t.Fatal(err)
	}
	return &v.types
}

type typing struct{ types EventTypes }

// Event implements envelope.Visitor.
func (v *typing) Event(_ *envelope.Run, e *envelope.Event) { v.types.set(e.Index, e.Type) }

// End implements envelope.Visitor.
func (*typing) End(*envelope.Run) error { return nil }

// inspected has the facts that inspect and compare both report about a run.
type inspected struct {
	Families  string
	Indexes   []int
	Messages  []int
	Roles     []map[string]int
	Terminal  string
	Source    project.TimeSource
	HasRun    bool
	HasParent bool
}

func inspectedAs(t rapid.TB, row scan.Inspection) inspected {
	as := inspected{Families: "{}", HasRun: row.Run != nil, HasParent: row.ParentRunID != nil && !artifact.IsBlank(*row.ParentRunID)}
	if row.Families != nil {
		as.Families = toJSON(t, row.Families)
	}
	for _, s := range row.Snapshots {
		roles := map[string]int{}
		for name, n := range s.Roles.All {
			roles[name] = n
		}
		as.Indexes, as.Messages, as.Roles = append(as.Indexes, s.Index), append(as.Messages, s.Messages), append(as.Roles, roles)
	}
	if row.Terminal != nil {
		as.Terminal = *row.Terminal
	}
	if row.TimeSource != nil {
		as.Source = *row.TimeSource
	}
	return as
}

func examinedAs(t rapid.TB, e Run) inspected {
	as := inspected{Families: toJSON(t, e.Families), HasRun: e.Run != nil, HasParent: e.Parent.RunStarted, Terminal: e.Terminal, Source: e.Times.Source}
	for _, s := range e.Snapshots {
		roles := map[string]int{}
		for _, role := range s.Roles {
			if role != "" {
				roles[role]++
			}
		}
		as.Indexes, as.Messages, as.Roles = append(as.Indexes, s.Index), append(as.Messages, s.Messages), append(as.Roles, roles)
	}
	return as
}

func toJSON(t rapid.TB, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// outcome has the facts that freeze and compare both report about a projection.
// Reasons counts reasons and omissions by code and place.
type outcome struct {
	Verdict project.Verdict
	Roles   []string
	Reasons map[string]int
}

func projectedAs(p Projection) outcome {
	return outcome{p.Verdict, p.Roles, counts(append(p.Reasons[:len(p.Reasons):len(p.Reasons)], p.Omissions...))}
}

func counts(list []Reason) map[string]int {
	n := map[string]int{}
	for _, r := range list {
		n[r.WithoutCount().String()] += r.Count
	}
	return n
}

// frozenAs freezes a capture and returns the outcome for one of its runs.
func frozenAs(t rapid.TB, dir, path string, p Projection, run int, types *EventTypes) outcome {
	t.Helper()
	rows, err := freeze.Freeze(context.Background(), path, freeze.Settings{
		Settings: project.Settings{Projection: p.Name, Snapshot: p.Snapshot},
		Dir:      dir, Tool: record.Tool{Name: "p20export", Version: "tested"},
	})
	if err != nil {
		t.Fatal(err)
	}
	row := rows[run]
	if row.Verdict != project.Frozen {
		return outcome{row.Verdict, nil, counts(reasons(row.Findings, types))}
	}
	data, err := os.ReadFile(*row.Artifact)
	if err != nil {
		t.Fatal(err)
	}
	a, findings := artifact.Decode(data, artifact.V1)
	if finding.Failed(findings) {
		t.Fatal(findings)
	}
	if data, err = os.ReadFile(*row.Record); err != nil {
		t.Fatal(err)
	}
	record, err := record.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	o := outcome{Verdict: row.Verdict, Reasons: counts(omissionReasons(record.Predicate.Omissions, types))}
	for _, m := range a.Messages {
		o.Roles = append(o.Roles, m.Role)
	}
	return o
}
