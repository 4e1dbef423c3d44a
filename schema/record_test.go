package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

// frozenRecord returns a committed record for editing.
func frozenRecord(t *testing.T, name string) object {
	t.Helper()
	value, err := schematest.Parse(testkit.Read(t, lane+"frozen/"+name+".record.json"))
	if err != nil {
		t.Fatal(err)
	}
	return value.(object)
}

// TestRecord tests small edits of the records of an emitted and of a built snapshot.
func TestRecord(t *testing.T) {
	t.Parallel()
	check := func(what string, o object, want bool) {
		t.Helper()
		err := schematest.Check(schema.Record, encoded(t, o))
		if err != nil && !isRefusal(err) {
			t.Fatal(err)
		}
		if (err == nil) != want {
			t.Errorf("%s: %v, want accepted %t", what, err, want)
		}
	}
	for _, name := range []string{"finished", "failed"} {
		check(name, frozenRecord(t, name), true)
	}
	for path, optional := range map[string]bool{
		"_type": false, "subject": false, "predicateType": false, "predicate": false,
		"predicate projection": false, "predicate projection name": false, "predicate projection version": false,
		"predicate projection snapshot": false, "predicate projection origin": false,
		"predicate profile": false, "predicate tool": false, "predicate tool name": false, "predicate tool version": false,
		"predicate capture": false, "predicate capture digest": false, "predicate capture bytes": false, "predicate capture framing": false,
		"predicate capture manifest_digest": true, "predicate capture run": false,
		"predicate events": false, "predicate times": false, "predicate times source": false, "predicate omissions": false,
		"predicate families": false, "predicate families RUN_STARTED": false, "predicate families STATE_SNAPSHOT": true,
		"predicate sizes": false, "predicate sizes capture_bytes": false, "predicate sizes envelope_bytes": false, "predicate sizes artifact_bytes": false,
	} {
		o := frozenRecord(t, "finished")
		in, key := down(o, path)
		delete(in, key)
		check("without "+path, o, optional)
		in[key] = nil
		check("null "+path, o, false)
		in[key] = true
		check("true "+path, o, false)
	}
	for _, path := range []string{"x", "predicate x", "predicate projection x", "predicate tool x", "predicate capture x", "predicate times x", "predicate sizes x"} {
		o := frozenRecord(t, "finished")
		in, key := down(o, path)
		in[key] = "x"
		check("key "+path, o, false)
	}
	n := func(s string) json.Number { return json.Number(s) }
	digest := "sha256:" + strings.Repeat("0a", 32)
	omissions := func(all ...any) []any { return append([]any{}, all...) }
	part := func(name string) any {
		return object{"part": name, "index": n("0"), "offset": n("6"), "bytes": n("1")}
	}
	for _, c := range []struct {
		of, path string
		value    any
		want     bool
	}{
		{"finished", "_type", "https://in-toto.io/Statement/v0.1", false},
		{"finished", "predicateType", "https://github.com/p20export/p20export/record/v2", false},
		{"finished", "subject", omissions(), false},
		{"finished", "predicate projection name", "emitted-snapshot-text", true},
		{"finished", "predicate projection name", "folded-stream", false},
		{"finished", "predicate projection name", "nonsense", false},
		{"failed", "predicate projection name", "emitted-snapshot", false},
		{"finished", "predicate projection version", n("1"), true},
		{"finished", "predicate projection version", n("2"), true},
		{"finished", "predicate projection version", n("3"), true},
		{"finished", "predicate projection version", n("4"), false},
		{"failed", "predicate projection version", n("1"), true},
		{"failed", "predicate projection version", n("2"), true},
		{"failed", "predicate projection version", n("0"), false},
		{"failed", "predicate projection version", n("3"), true},
		{"failed", "predicate projection version", n("4"), true},
		{"failed", "predicate projection version", n("5"), false},
		{"finished", "predicate projection snapshot", "last", false},
		{"failed", "predicate projection snapshot", "2", false},
		{"finished", "predicate projection origin", "built", false},
		{"failed", "predicate projection origin", "emitted", false},
		{"finished", "predicate profile", "assay", true},
		{"finished", "predicate profile", "v2", false},
		{"finished", "predicate tool name", "other", false},
		{"finished", "predicate tool version", strings.Repeat("x", 128), true},
		{"finished", "predicate tool version", strings.Repeat("x", 129), false},
		{"finished", "predicate tool version", "", false},
		{"finished", "predicate capture digest", digest, true},
		{"finished", "predicate capture digest", digest[7:], false},
		{"finished", "predicate capture manifest_digest", strings.ToUpper(digest), false},
		{"finished", "predicate capture framing", "ndjson", true},
		{"finished", "predicate capture framing", "yaml", false},
		{"finished", "predicate capture run", n("0"), false},
		{"finished", "predicate capture bytes", n("0"), false},
		{"finished", "predicate events", []any{part("run_started"), part("messages_snapshot"), part("terminal")}, true},
		{"finished", "predicate events", []any{part("run_started"), part("terminal")}, false},
		{"finished", "predicate events", []any{part("messages_snapshot"), part("run_started"), part("terminal")}, false},
		{"finished", "predicate events", []any{part("run_started"), part("messages_snapshot"), part("terminal"), part("terminal")}, false},
		{"finished", "predicate events", []any{part("run_started"), part("messages_snapshot"), object{"part": "terminal"}}, false},
		{"failed", "predicate events", []any{part("run_started"), part("terminal")}, true},
		{"failed", "predicate events", []any{part("run_started"), part("messages_snapshot"), part("terminal")}, false},
		{"failed", "predicate events", []any{part("run_started")}, false},
		{"finished", "predicate times", object{"source": "event"}, true},
		{"finished", "predicate times", object{"source": "clock"}, false},
		{"finished", "predicate times", object{"source": "arrival", "started_at": "2026-01-31T12:00:00Z"}, false},
		{"finished", "predicate times", object{"source": "arrival", "finished_at": "2026-01-31T12:00:00Z"}, false},
		{"finished", "predicate times", object{"source": "operator"}, false},
		{"finished", "predicate times", object{"source": "operator", "finished_at": "2026-01-31T12:00:00Z"}, false},
		{"finished", "predicate times", object{"source": "operator", "started_at": "2026-01-31T12:00:00Z"}, true},
		{"finished", "predicate times", object{"source": "operator", "started_at": "2026-01-31T12:00:00.123456Z", "finished_at": "2026-01-31T12:00:01Z"}, true},
		{"finished", "predicate times", object{"source": "operator", "started_at": "2026-01-31T12:00:00+00:00"}, false},
		{"finished", "predicate times", object{"source": "operator", "started_at": "2026-01-31T12:00:00.5Z"}, false},
		{"finished", "predicate omissions", omissions(), true},
		{"finished", "predicate omissions", omissions(object{"event_index": n("0"), "pointer": "", "reason": "snapshot_not_chosen"}), true},
		{"finished", "predicate omissions", omissions(object{"event_index": n("0"), "pointer": "/a~1b/~0/", "reason": "value_null"}), true},
		{"finished", "predicate omissions", omissions(object{"event_index": n("0"), "pointer": "a", "reason": "value_null"}), false},
		{"finished", "predicate omissions", omissions(object{"event_index": n("0"), "pointer": "/~2", "reason": "value_null"}), false},
		{"finished", "predicate omissions", omissions(object{"event_index": n("-1"), "pointer": "", "reason": "value_null"}), false},
		{"finished", "predicate omissions", omissions(object{"event_index": n("0"), "pointer": "", "reason": "started_at_missing"}), false},
		{"finished", "predicate omissions", omissions(object{"event_index": n("0"), "pointer": "/x", "reason": "value_null", "value": "x"}), false},
		{"finished", "predicate omissions", omissions(object{"file": "request.json", "pointer": "", "reason": "request_absent"}), true},
		{"finished", "predicate omissions", omissions(object{"file": "response.sse", "pointer": "", "reason": "request_absent"}), false},
		{"finished", "predicate omissions", omissions(object{"file": "request.json", "event_index": n("0"), "pointer": "", "reason": "value_null"}), false},
		{"finished", "predicate omissions", omissions(object{"pointer": "", "reason": "value_null"}), false},
		{"finished", "predicate omissions", omissions(object{"pointer": "", "reason": "omissions_past_limit", "count": n("7")}), true},
		{"finished", "predicate omissions", omissions(object{"pointer": "", "reason": "families_uncounted", "count": n("1")}), true},
		{"finished", "predicate omissions", omissions(object{"pointer": "", "reason": "omissions_past_limit", "count": n("0")}), false},
		{"finished", "predicate omissions", omissions(object{"pointer": "", "reason": "value_null", "count": n("1")}), false},
		{"finished", "predicate omissions", omissions(object{"pointer": "/x", "reason": "omissions_past_limit", "count": n("1")}), false},
		{"finished", "predicate omissions", omissions(object{"event_index": n("0"), "pointer": "", "reason": "omissions_past_limit"}), false},
		{"finished", "predicate families RUN_STARTED", n("2"), false},
		{"finished", "predicate families X", n("1"), true},
		{"finished", "predicate families X", n("0"), false},
		{"finished", "predicate families X", n("1.5"), false},
		{"finished", "predicate sizes artifact_bytes", n("8388608"), true},
		{"finished", "predicate sizes artifact_bytes", n("8388609"), false},
		{"finished", "predicate sizes capture_bytes", n("0"), false},
	} {
		o := frozenRecord(t, c.of)
		in, key := down(o, c.path)
		in[key] = c.value
		check(fmt.Sprintf("%s %s: %v", c.of, c.path, c.value), o, c.want)
	}
	text := frozenRecord(t, "finished")
	in, _ := down(text, "predicate projection name")
	in["name"] = "emitted-snapshot-text"
	for selection, want := range map[string]bool{"only": true, "first": true, "last": true, "1": true, "42": true, "0": false, "01": false, "+1": false, "": false, "none": false} {
		in["snapshot"] = selection
		check("snapshot "+selection, text, want)
	}
	many := frozenRecord(t, "finished")
	list := make([]any, 10_001)
	for i := range list {
		list[i] = object{"event_index": n("0"), "pointer": "", "reason": "value_null"}
	}
	many["predicate"].(object)["omissions"] = list
	check("10,001 omissions", many, true)
	many["predicate"].(object)["omissions"] = append(list, list[0])
	check("10,002 omissions", many, false)
	for i, suffix := range []string{".artifact.json", ".envelope.ndjson"} {
		o := frozenRecord(t, "finished")
		subject := o["subject"].([]any)[i].(object)
		subject["name"] = "a name é" + suffix
		check(suffix, o, true)
		subject["name"] = "x.json"
		check("no "+suffix, o, false)
		o["subject"] = append(o["subject"].([]any), subject)
		check("three subjects", o, false)
	}
}
