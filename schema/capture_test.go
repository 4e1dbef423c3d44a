package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

// manifest returns a manifest with every key.
func manifest() object {
	file := func() object {
		return object{"bytes": json.Number("7"), "digest": "sha256:" + strings.Repeat("0a", 32)}
	}
	return object{
		"schema": "p20export.capture.v1",
		"source": object{
			"kind": "http", "method": "POST", "url": "http://127.0.0.1:8011/", "proxy": "http://127.0.0.1:3128", "status": json.Number("200"),
			"content_type": "text/event-stream", "headers": object{"server": "uvicorn"},
		},
		"framing": "sse", "started_at": "2026-11-21T06:28:50.865123Z", "first_byte_at": "2026-11-21T06:28:51.500000Z",
		"ended_at": "2026-11-21T06:28:52.219621Z", "end": "eof",
		"files":  object{"response.sse": file(), "request.json": file(), "arrivals.tsv": file()},
		"labels": object{"version": "0.11.0"},
		"tool":   object{"name": "p20export", "version": "0.1.0"},
	}
}

// down follows keys to an object and returns the object and the last key.
func down(o object, path string) (object, string) {
	keys := strings.Split(path, " ")
	for _, key := range keys[:len(keys)-1] {
		o = o[key].(object)
	}
	return o, keys[len(keys)-1]
}

func TestCapture(t *testing.T) {
	check := func(what string, o object, want bool) {
		t.Helper()
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		refusal := schematest.Check(schema.Capture, data)
		if refusal != nil && !isRefusal(refusal) {
			t.Fatal(refusal)
		}
		_, err = capture.DecodeManifest(data)
		if (refusal == nil) != want || (err == nil) != want {
			t.Errorf("%s: schema %v, decoder %v, want accepted %t", what, refusal, err, want)
		}
	}
	check("the whole", manifest(), true)
	for path, optional := range map[string]bool{
		"schema": false, "source": false, "source kind": false, "source method": true, "source url": true, "source proxy": true, "source status": true,
		"source content_type": true, "source headers": true, "framing": false, "started_at": false, "first_byte_at": true, "ended_at": false,
		"end": false, "files": false, "files response.sse": false, "files request.json": true, "files arrivals.tsv": true,
		"files response.sse bytes": true, "files response.sse digest": false, "labels": true, "tool": false, "tool name": false, "tool version": false,
	} {
		o := manifest()
		in, key := down(o, path)
		delete(in, key)
		check("without "+path, o, optional)
		in[key] = nil
		check("null "+path, o, false)
		in[key] = []any{}
		check("list "+path, o, false)
	}
	for _, path := range []string{"x", "source x", "files x", "files response.sse x", "tool x", "Schema"} {
		o := manifest()
		in, key := down(o, path)
		in[key] = "x"
		check("key "+path, o, false)
	}
	for _, c := range []struct {
		path  string
		value any
		want  bool
	}{
		{"schema", "p20export.capture.v2", false},
		{"source kind", "proxy", true}, {"source kind", "file", true}, {"source kind", "ftp", false},
		{"source status", json.Number("0"), true}, {"source status", json.Number("999"), true}, {"source status", json.Number("1000"), false}, {"source status", json.Number("-1"), false},
		{"source status", "200", false},
		{"source headers x", "", true}, {"source headers x", json.Number("1"), false}, {"labels x", "", true}, {"labels x", object{}, false},
		{"source url", "", true}, {"source url", "http://h/#", true}, {"source url", "http://h/a@b", true}, {"source url", "/x", true},
		{"source url", "http://u@h/", false}, {"source url", "http://u:p@h/", false}, {"source url", "//u@h", false}, {"source url", "http://h/?", false},
		{"source url", "http://h/?q", false}, {"source url", "http://h/#f", false},
		{"source proxy", "", true}, {"source proxy", "socks5://h:1080", true}, {"source proxy", "http://u:p@h/", false}, {"source proxy", "http://h/?q", false},
		{"end", "cancelled", true}, {"end", "error", true}, {"end", "limit", true}, {"end", "EOF", false}, {"end", "", false},
		{"framing", "ndjson", false}, {"framing", "json", false}, {"framing", "SSE", false},
		{"started_at", "2026-11-21T06:28:50Z", false}, {"started_at", "2026-11-21T06:28:50.8651234Z", false}, {"started_at", "2026-11-21T06:28:50.865123+00:00", false},
		{"started_at", "0000-11-21T06:28:50.865123Z", false}, {"started_at", "0001-11-21T06:28:50.865123Z", true},
		{"first_byte_at", "0001-01-01T00:00:00.000000Z", true},
		{"files response.sse bytes", json.Number("0"), true}, {"files response.sse bytes", json.Number("-1"), false}, {"files response.sse bytes", json.Number("1.5"), false},
		{"files response.sse digest", strings.Repeat("0a", 32), false}, {"files response.sse digest", "sha256:" + strings.Repeat("0A", 32), false}, {"files response.sse digest", "", false},
		{"files response.json", manifest()["files"].(object)["response.sse"], false},
		{"tool name", "", false}, {"tool version", "", false}, {"tool name", "x", true},
	} {
		o := manifest()
		in, key := down(o, c.path)
		in[key] = c.value
		check(fmt.Sprintf("%s: %v", c.path, c.value), o, c.want)
	}
	for framing, name := range map[string]string{"sse": "response.sse", "ndjson": "response.ndjson", "json": "response.json"} {
		o := manifest()
		o["framing"] = framing
		o["files"] = object{name: o["files"].(object)["response.sse"]}
		check("framing "+framing, o, true)
	}
}
