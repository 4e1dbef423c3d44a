package schema_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/verify"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

// byParser lists the rules that schematest's JSON parser checks, so that no schema is
// applied.
const byParser = "one_value"

// TestInexpressible has, for every rule that a schema cannot express, a file that breaks
// only this rule. The schema accepts the file, and the program reports the rule's finding.
func TestInexpressible(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		name    string
		files   map[string][]byte
		check   func(string, []byte) error
		verdict func(t *testing.T, rule string, data []byte) []finding.Finding
	}{
		{schema.Artifact, brokenArtifacts(t), schematest.Check, artifactFindings(artifact.V1)},
		{schema.ArtifactAssay, brokenAssay(t), schematest.Check, artifactFindings(artifact.Assay)},
		{schema.Envelope, brokenEnvelopes(t), schematest.CheckLines, func(t *testing.T, _ string, data []byte) []finding.Finding {
			return envelopeFindings(t, bytes.NewReader(data))
		}},
		{schema.Record, brokenRecords(t), schematest.Check, recordFindings},
		{schema.Capture, brokenManifests(t), schematest.Check, captureFindings},
		{schema.Baseline, brokenBaselines(t), schematest.Check, asFindings(loadBaseline)},
		{schema.Scenarios, brokenLists(t), schematest.Check, asFindings(loadList)},
		{schema.Expected, brokenSuites(t), schematest.Check, asFindings(loadSuite)},
		{schema.Harness, brokenHarnesses(t), schematest.Check, asFindings(loadHarness)},
	} {
		rules := schema.Inexpressible(s.name)
		if len(rules) != len(s.files) {
			t.Errorf("%s: %d rules, %d files", s.name, len(rules), len(s.files))
		}
		for _, rule := range rules {
			data, ok := s.files[rule.Name]
			if !ok || rule.Text == "" || rule.Spec == "" {
				t.Errorf("%s: %s has no file or no text", s.name, rule.Name)
				continue
			}
			if err := s.check(s.name, data); (err == nil) == (rule.Name == byParser) {
				t.Errorf("%s: %s: schema: %v\n%.300s", s.name, rule.Name, err, data)
			}
			findings := s.verdict(t, rule.Name, data)
			if finding.Failed(findings) != (rule.Code != "") || rule.Code != "" && !finding.Has(findings, rule.Code) {
				t.Errorf("%s: %s: %v, want %s", s.name, rule.Name, findings, rule.Code)
			}
		}
	}
}

// with returns data with the only occurrence of old replaced.
func with(t *testing.T, data []byte, old, by string) []byte {
	t.Helper()
	if bytes.Count(data, []byte(old)) != 1 {
		t.Fatalf("%q does not occur exactly once in\n%s", old, data)
	}
	return bytes.Replace(data, []byte(old), []byte(by), 1)
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// spaces appends white space to data, up to more bytes than the limit.
func spaces(data []byte, limit int) []byte {
	return append(bytes.Clone(data), bytes.Repeat([]byte(" "), limit+1-len(data))...)
}

func brokenArtifacts(t *testing.T) map[string][]byte {
	good := encoded(t, finished())
	return map[string][]byte{
		"duplicate_key":   with(t, good, `"run_id_ref"`, `"run_id_\u0072ef":"r","run_id_ref"`),
		"utf8":            with(t, good, `"hi"`, "\"h\xff\""),
		"surrogate_pairs": with(t, good, `"hi"`, `"\ud83d"`),
		"one_value":       append(bytes.Clone(good), '7'),
		"file_bytes":      spaces(good, artifact.MaxFileBytes),
		"unique_ids":      with(t, good, `"m2"`, `"m1\n"`),
		"times_in_order":  with(t, good, "2026-01-31T12:00:01.5Z", "2026-01-31T12:00:01+00:01"),
		"leap_day":        with(t, good, "2026-01-31T12:00:00Z", "2023-02-29T12:00:00Z"),
		"utc_year":        with(t, good, "2026-01-31T12:00:00Z", "0001-01-01T00:00:00+00:01"),
		"stack_traces":    with(t, encoded(t, failed()), `"boom"`, `"stack backtrace:"`),
		"canonical":       good,
	}
}

func brokenAssay(t *testing.T) map[string][]byte {
	files := brokenArtifacts(t)
	limit := artifact.Assay.Limits().Name
	files["trimmed_length"] = with(t, encoded(t, finished()), `"n"`, `" `+strings.Repeat("x", limit+1)+`"`)
	var list []any
	for i := range artifact.Assay.Limits().Messages {
		list = append(list, object{"id": strconv.Itoa(i), "role": "user", "content": strings.Repeat("🙂", artifact.Assay.Limits().Content)})
	}
	files["event_line"] = encoded(t, set(finished(), "messages", list))
	return files
}

func artifactFindings(p artifact.Profile) func(*testing.T, string, []byte) []finding.Finding {
	return func(t *testing.T, rule string, data []byte) []finding.Finding {
		a, findings := artifact.Decode(data, p)
		if rule == "canonical" && (a == nil || artifact.IsCanonical(data, a)) {
			t.Error("the file is canonical")
		}
		return findings
	}
}

func brokenEnvelopes(t *testing.T) map[string][]byte {
	good := linesOf(t, bounded())
	return map[string][]byte{
		"duplicate_key":   with(t, good, `"result"`, `"x":1,"x":2,"result"`),
		"utf8":            with(t, good, `"hi"`, "\"h\xff\""),
		"one_value":       with(t, good, "}\n{\"messages", "}7\n{\"messages"),
		"depth":           with(t, good, `"result":null`, `"result":`+strings.Repeat("[", 512)+strings.Repeat("]", 512)),
		"event_bytes":     with(t, good, `"result":null`, `"result":`+strings.Repeat(" ", capture.MaxEventBytes)+`null`),
		"surrogate_pairs": bytes.ReplaceAll(good, []byte(`"runId":"r"`), []byte(`"runId":"\udc00"`)),
		"one_thread":      with(t, good, `"result":null,"runId":"r","threadId":"t"`, `"threadId":"u"`),
		"canonical":       with(t, good, `{"messages"`, ` {"messages"`),
	}
}

func brokenRecords(t *testing.T) map[string][]byte {
	good := testkit.Read(t, lane+"frozen/finished.record.json")
	version := string(regexp.MustCompile(`"version": "[^"]+"`).Find(good))
	times := func(labels string) []byte {
		return with(t, good, `"source": "arrival"`, `"source": "operator",`+labels)
	}
	chosen := with(t, good, `"emitted-snapshot"`, `"emitted-snapshot-text"`)
	return map[string][]byte{
		"duplicate_key":      with(t, good, `"predicateType"`, `"_type": "https://in-toto.io/Statement/v1", "predicateType"`),
		"utf8":               with(t, good, version, "\"version\": \"\xff\""),
		"one_value":          append(bytes.Clone(good), '7'),
		"one_spelling":       append(bytes.Clone(good), '\n'),
		"integers":           with(t, good, `"run": 1`, `"run": 1.0`),
		"file_bytes":         spaces(good, 64<<20),
		"tool_version_bytes": with(t, good, version, `"version": "`+strings.Repeat("é", 65)+`"`),
		"snapshot_number":    with(t, chosen, `"only"`, `"9223372036854775808"`),
		"times_in_order":     times("\n      \"started_at\": \"2026-01-31T12:00:01Z\",\n      \"finished_at\": \"2026-01-31T12:00:00Z\""),
		"leap_day":           times("\n      \"started_at\": \"2023-02-29T12:00:00Z\""),
		"about_the_files":    with(t, good, `"artifact_bytes": 661`, `"artifact_bytes": 662`),
	}
}

func recordFindings(t *testing.T, _ string, data []byte) []finding.Finding {
	path := filepath.Join(t.TempDir(), "finished.record.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return verify.File(context.Background(), lane+"frozen/finished.artifact.json", path, lane+"raw/finished", nil, nil).Findings
}

func brokenManifests(t *testing.T) map[string][]byte {
	good := testkit.Read(t, lane+"raw/finished/capture.json")
	return map[string][]byte{
		"duplicate_key":   with(t, good, `"framing"`, `"end": "eof", "framing"`),
		"utf8":            with(t, good, `"uvicorn"`, "\"\xff\""),
		"one_value":       append(bytes.Clone(good), '7'),
		"integers":        with(t, good, `"status": 200`, `"status": 2e2`),
		"file_bytes":      spaces(good, 1<<20),
		"url":             with(t, good, "http://127.0.0.1:8011/one-turn", "http://[::1/"),
		"times_in_order":  with(t, good, `"ended_at": "2026`, `"ended_at": "2025`),
		"leap_day":        with(t, good, `"ended_at": "2026-11-21`, `"ended_at": "2027-02-29`),
		"zero_time":       with(t, good, "2026-11-21T09:39:00.282499Z", "0001-01-01T00:00:00.000000Z"),
		"about_the_files": with(t, good, `"bytes": 1434`, `"bytes": 1435`),
	}
}

// captureFindings returns the findings of a capture with the manifest data.
func captureFindings(t *testing.T, _ string, data []byte) []finding.Finding {
	dir := t.TempDir()
	testkit.CopyDir(t, dir, lane+"raw/finished")
	if err := os.WriteFile(filepath.Join(dir, "capture.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return scan.Inspect(context.Background(), inputs.File(dir), nil)[0].Findings
}
