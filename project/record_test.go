package project_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

var tool = record.Tool{Name: "p20export", Version: "0.1.0"}

// oneRecord is a record with every key in it.
func oneRecord(t *testing.T) (result, *record.Record) {
	t.Helper()
	s := text("last", "")
	s.Operator = project.OperatorTimes{StartedAt: "2026-11-21T06:28:50Z", FinishedAt: "2026-11-21T06:28:51Z"}
	if err := s.Normalize(); err != nil {
		t.Fatal(err)
	}
	r := projectAll(t, input{Settings: s, raw: testkit.SSE(started, snapshot(), `{"type":"RAW","event":1}`, snapshot(`{"id":"m","role":"user","content":"<&>","<k>":"secret"}`), finished)})[0]
	if r.out == nil {
		t.Fatal(formatFindings(r.findings))
	}
	rec := record.New(r.out, r.run, s, tool)
	rec.Complete(record.Source{Digest: digest.Of(nil), Bytes: 1038, Framing: "sse", ManifestDigest: digest.Of([]byte("m")), Run: 1}, "x.artifact.json", "x.envelope.ndjson")
	return r, rec
}

func TestRecordSpelling(t *testing.T) {
	r, rec := oneRecord(t)
	got, err := rec.Encode()
	if err != nil {
		t.Fatal(err)
	}
	at := func(index int) int64 {
		events := []string{started, snapshot(), `{"type":"RAW","event":1}`, snapshot(`{"id":"m","role":"user","content":"<&>","<k>":"secret"}`)}
		return int64(len(testkit.SSE(events[:index]...)) + len("data: "))
	}
	want := fmt.Sprintf(`{
  "_type": "https://in-toto.io/Statement/v1",
  "subject": [
    {
      "name": "x.artifact.json",
      "digest": {
        "sha256": "%s"
      }
    },
    {
      "name": "x.envelope.ndjson",
      "digest": {
        "sha256": "%s"
      }
    }
  ],
  "predicateType": "https://github.com/p20export/p20export/record/v1",
  "predicate": {
    "projection": {
      "name": "emitted-snapshot-text",
      "version": 3,
      "snapshot": "last",
      "origin": "emitted"
    },
    "profile": "v1",
    "tool": {
      "name": "p20export",
      "version": "0.1.0"
    },
    "capture": {
      "digest": "%s",
      "bytes": 1038,
      "framing": "sse",
      "manifest_digest": "%s",
      "run": 1
    },
    "events": [
      {
        "part": "run_started",
        "index": 0,
        "offset": 6,
        "bytes": %d
      },
      {
        "part": "messages_snapshot",
        "index": 3,
        "offset": %d,
        "bytes": %d
      },
      {
        "part": "terminal",
        "index": 4,
        "offset": %d,
        "bytes": %d
      }
    ],
    "times": {
      "source": "operator",
      "started_at": "2026-11-21T06:28:50Z",
      "finished_at": "2026-11-21T06:28:51Z"
    },
    "omissions": [
      {
        "event_index": 1,
        "pointer": "",
        "reason": "snapshot_not_chosen"
      },
      {
        "event_index": 3,
        "pointer": "/messages/0/<k>",
        "reason": "key_outside_subset"
      }
    ],
    "families": {
      "RUN_STARTED": 1,
      "MESSAGES_SNAPSHOT": 2,
      "RAW": 1,
      "RUN_FINISHED": 1
    },
    "sizes": {
      "capture_bytes": 1038,
      "envelope_bytes": %d,
      "artifact_bytes": %d
    }
  }
}
`, digest.Of(r.out.Bytes).Hex(), digest.Of(r.out.Envelope).Hex(), digest.Of(nil), digest.Of([]byte("m")), len(started),
		at(3), len(snapshot(`{"id":"m","role":"user","content":"<&>","<k>":"secret"}`)), at(4), len(finished), len(r.out.Envelope), len(r.out.Bytes))
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(string(got), "secret") {
		t.Error("an omission contains the omitted value")
	}
}

// A decoded record encodes to the same bytes. Only this canonical form is accepted.
func TestRecordDecode(t *testing.T) {
	_, rec := oneRecord(t)
	data, _ := rec.Encode()
	back, err := record.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := back.Encode(); string(again) != string(data) {
		t.Error(cmp.Diff(string(data), string(again)))
	}
	if same, err := back.EqualExceptTool(rec); !same || err != nil {
		t.Error("the decoded record is not the same", err)
	}
	replace := func(old, new string) string {
		if !strings.Contains(string(data), old) {
			t.Fatalf("the record has no %q", old)
		}
		return strings.Replace(string(data), old, new, 1)
	}
	for name, bad := range map[string]string{
		"nothing":           "",
		"null":              "null\n",
		"cut":               string(data[:len(data)/2]),
		"no last newline":   strings.TrimSuffix(string(data), "\n"),
		"two last newlines": string(data) + "\n",
		"bytes after":       string(data) + "{}",
		"compact":           strings.ReplaceAll(strings.ReplaceAll(string(data), "\n", ""), " ", ""),
		"tabs":              strings.ReplaceAll(string(data), "  ", "\t"),
		"CRLF":              strings.ReplaceAll(string(data), "\n", "\r\n"),
		"byte order mark":   "\ufeff" + string(data),
		"escaped letter":    replace(`"RAW"`, `"\u0052AW"`),
		"escaped <":         replace(`<k>`, `\u003ck>`),
		"unknown key":       replace(`"profile": "v1",`, `"profile": "v1",`+"\n    "+`"x": 1,`),
		"key twice":         replace(`"profile": "v1",`, `"profile": "v1",`+"\n    "+`"profile": "v1",`),
		"key in capitals":   replace(`"profile"`, `"Profile"`),
		"other key order":   replace(`"index": 0,`+"\n        "+`"offset": 6,`, `"offset": 6,`+"\n        "+`"index": 0,`),
		"missing key":       replace(`"profile": "v1",`+"\n    ", ``),
		"null for a string": replace(`"profile": "v1"`, `"profile": null`),
		"null event index":  replace(`"event_index": 1`, `"event_index": null`),
		"number as text":    replace(`"run": 1`, `"run": "1"`),
		"number spelled":    replace(`"bytes": 1038`, `"bytes": 1038.0`),
		"number with e":     replace(`"bytes": 1038`, `"bytes": 1038e0`),
		"omissions null":    replace(`"omissions": [`, `"omissions": null, "x": [`),
		"family of zero":    replace(`"RAW": 1`, `"RAW": 0`),
		"family twice":      replace(`"RAW": 1`, `"RAW": 1,`+"\n      "+`"RAW": 1`),
		"other _type":       replace(`Statement/v1`, `Statement/v0.1`),
		"other predicate":   replace(`record/v1`, `record/v2`),
		"one subject":       replace(`"subject": [`, `"subject": [], "x": [`),
		"half a pair":       replace(`"RAW"`, `"\ud800"`),
		"invalid UTF-8":     replace(`"RAW"`, "\"\xff\""),
		"empty finished_at": replace(`"finished_at": "2026-11-21T06:28:51Z"`, `"finished_at": ""`),
		"count of zero":     replace(`"reason": "snapshot_not_chosen"`, `"reason": "snapshot_not_chosen",`+"\n        "+`"count": 0`),
		"empty manifest":    replace(`"manifest_digest": "`+string(digest.Of([]byte("m"))), `"manifest_digest": "`),
	} {
		if _, err := record.Decode([]byte(bad)); err == nil {
			t.Errorf("%s: decoded", name)
		}
	}
	// There are exactly two subjects.
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 3} {
		changed := *rec
		changed.Subject = make([]record.Subject, n)
		data, err := changed.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := record.Decode(data); err == nil {
			t.Errorf("a record of %d subjects was decoded", n)
		}
	}
	if _, err := record.Decode(make([]byte, record.MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a record past the limit: %v", err)
	}
}

// Optional keys without a value are absent, not empty.
func TestRecordLeast(t *testing.T) {
	r := projectRun(t, strict, "", started, snapshot(user), finished)
	rec := record.New(r.out, r.run, strict, tool)
	rec.Complete(record.Source{Digest: digest.Of(nil), Framing: "ndjson", Run: 2}, "a", "b")
	data, err := rec.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"omissions": [],`) || !strings.Contains(string(data), `"source": "arrival"`) {
		t.Errorf("%s", data)
	}
	for _, key := range []string{"manifest_digest", "started_at", "finished_at", "event_index", "count"} {
		if strings.Contains(string(data), `"`+key+`"`) {
			t.Errorf("there is a key %s", key)
		}
	}
	if _, err := record.Decode(data); err != nil {
		t.Error(err)
	}
	built := projectRun(t, folded, request(user), started, failed)
	s := folded
	if err := s.Normalize(); err != nil {
		t.Fatal(err)
	}
	rec = record.New(built.out, built.run, s, tool)
	if rec.Predicate.Projection != (record.Projection{Name: "folded-stream", Version: 4, Snapshot: "only", Origin: "built"}) || len(rec.Predicate.Events) != 2 {
		t.Errorf("%+v %v", rec.Predicate.Projection, rec.Predicate.Events)
	}
}

// Two records are equal if they differ only in the tool version. Any other changed
// value makes them unequal.
func TestRecordSame(t *testing.T) {
	_, rec := oneRecord(t)
	data, _ := rec.Encode()
	again := func() *record.Record {
		r, err := record.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	other := again()
	other.Predicate.Tool = record.Tool{Name: "p20export", Version: "9.9.9"}
	if same, err := rec.EqualExceptTool(other); !same || err != nil {
		t.Error("the tool version makes them differ", err)
	}
	if other.Predicate.Tool.Version != "9.9.9" || rec.Predicate.Tool != tool {
		t.Error("comparing changes a record")
	}
	changes := 0
	var walk func(v reflect.Value, path string)
	check := func(path string, o *record.Record) {
		changes++
		if same, err := rec.EqualExceptTool(o); same || err != nil {
			t.Errorf("%s does not make them differ: %v", path, err)
		}
	}
	var root *record.Record
	walk = func(v reflect.Value, path string) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type() == reflect.TypeFor[record.Tool]() && v.Type().Field(i).Name == "Version" {
					continue
				}
				if v.Type().Field(i).IsExported() && v.Type().Field(i).Tag.Get("json") != "-" {
					walk(v.Field(i), path+"."+v.Type().Field(i).Name)
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem(), path)
			}
		case reflect.String:
			old := v.String()
			v.SetString(old + "x")
			check(path, root)
			v.SetString(old)
		case reflect.Int, reflect.Int64:
			old := v.Int()
			v.SetInt(old + 1)
			check(path, root)
			v.SetInt(old)
		}
	}
	root = again()
	walk(reflect.ValueOf(root).Elem(), "record")
	if changes < 40 {
		t.Errorf("only %d values were changed", changes)
	}
	root.Predicate.Families.Add("RAW")
	check("families", root)
	root = again()
	root.Predicate.Omissions = root.Predicate.Omissions[:1]
	check("omissions", root)
}

func TestSettings(t *testing.T) {
	var s project.Settings
	if err := s.Normalize(); err != nil || s != (project.Settings{Projection: "emitted-snapshot", Version: 3, Snapshot: "only", Profile: "v1"}) {
		t.Errorf("%+v %v", s, err)
	}
	for _, ok := range []project.Settings{{Projection: "emitted-snapshot-text", Snapshot: "last"}, {Projection: "folded-stream", Snapshot: "only", Profile: "assay"}, {Projection: "emitted-snapshot-text", Snapshot: "12"}, {Version: 1}, {Projection: "emitted-snapshot-text", Version: 1}, {Projection: "folded-stream", Version: 1}, {Projection: "folded-stream", Version: 4}} {
		if err := ok.Normalize(); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []project.Settings{
		{Snapshot: "last"}, {Projection: "folded-stream", Snapshot: "1"}, {Projection: "emitted-snapshot", Snapshot: "first"},
		{Projection: "emitted"}, {Version: 4}, {Version: -1}, {Projection: "folded-stream", Version: 5}, {Profile: "v2"}, {Projection: "emitted-snapshot-text", Snapshot: "0"},
		{Operator: project.OperatorTimes{FinishedAt: "2026-11-21T06:28:50Z"}},
	} {
		if err := bad.Normalize(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	for _, sel := range []string{"only", "first", "last", "1", "2000000"} {
		if got, err := project.ParseSelection(sel); err != nil || string(got) != sel {
			t.Errorf("%q: %q %v", sel, got, err)
		}
	}
	for _, sel := range []string{"", "0", "-1", "+1", "01", "1.0", "1e1", "First", " 1", "99999999999999999999", "all"} {
		if got, err := project.ParseSelection(sel); err == nil {
			t.Errorf("%q: %q", sel, got)
		}
	}
	newest := map[project.Name]int{"emitted-snapshot": 3, "emitted-snapshot-text": 3, "folded-stream": 4}
	for _, n := range project.Names() {
		if got, err := project.ParseName(string(n)); err != nil || got != n || n.Version() != newest[n] || project.HasVersion(n, newest[n]+1) || project.HasVersion(n, 0) {
			t.Errorf("%s: %v", n, err)
		}
		for v := range newest[n] {
			if !project.HasVersion(n, v+1) {
				t.Errorf("%s version %d is not known", n, v+1)
			}
		}
	}
	if _, err := project.ParseName("x"); err == nil || project.HasVersion("x", 1) {
		t.Error("an unknown projection is known")
	}
	if project.Names()[0] != project.EmittedSnapshot {
		t.Error("the default is not the first")
	}
}
