package capture

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

func exampleManifest() *Manifest {
	at := func(s string) time.Time {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			panic(err)
		}
		return t
	}
	return &Manifest{
		Schema: ManifestSchema,
		Source: Source{
			Kind: KindHTTP, Method: "POST", URL: "http://127.0.0.1:8011/", Proxy: "http://127.0.0.1:3128", Status: new(200),
			ContentType: "text/event-stream; charset=utf-8", Headers: map[string]string{"server": "uvicorn", "cache-control": "no-store"},
		},
		Framing:     SSE,
		StartedAt:   at("2026-11-21T06:28:50.865123Z"),
		FirstByteAt: at("2026-11-21T06:28:51.5Z"),
		EndedAt:     at("2026-11-21T06:28:52.219621Z"),
		End:         EndEOF,
		Files: Files{
			SSE:      &File{Bytes: 1038, Digest: digest.Of([]byte("response"))},
			Request:  &File{Bytes: 142, Digest: digest.Of([]byte("request"))},
			Arrivals: &File{Bytes: 153, Digest: digest.Of([]byte("arrivals"))},
		},
		Labels: map[string]string{"version": "0.11.0", "integration": "ag_ui_adk"},
		Tool:   Tool{"p20export", "0.1.0"},
	}
}

// golden is the encoding of exampleManifest, except for the digests.
const golden = `{
  "schema": "p20export.capture.v1",
  "source": {
    "kind": "http",
    "method": "POST",
    "url": "http://127.0.0.1:8011/",
    "proxy": "http://127.0.0.1:3128",
    "status": 200,
    "content_type": "text/event-stream; charset=utf-8",
    "headers": {
      "cache-control": "no-store",
      "server": "uvicorn"
    }
  },
  "framing": "sse",
  "started_at": "2026-11-21T06:28:50.865123Z",
  "first_byte_at": "2026-11-21T06:28:51.500000Z",
  "ended_at": "2026-11-21T06:28:52.219621Z",
  "end": "eof",
  "files": {
    "response.sse": {
      "bytes": 1038,
      "digest": "RESPONSE"
    },
    "request.json": {
      "bytes": 142,
      "digest": "REQUEST"
    },
    "arrivals.tsv": {
      "bytes": 153,
      "digest": "ARRIVALS"
    }
  },
  "labels": {
    "integration": "ag_ui_adk",
    "version": "0.11.0"
  },
  "tool": {
    "name": "p20export",
    "version": "0.1.0"
  }
}
`

func TestManifestEncode(t *testing.T) {
	m := exampleManifest()
	want := strings.NewReplacer(
		"RESPONSE", string(m.Files.SSE.Digest), "REQUEST", string(m.Files.Request.Digest), "ARRIVALS", string(m.Files.Arrivals.Digest),
	).Replace(golden)
	for range 10 { // map order must not matter
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(b)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	got, err := DecodeManifest([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
}

// The manifest of an imported file has no optional keys.
func TestManifestOptionalKeys(t *testing.T) {
	m := exampleManifest()
	m.Source, m.FirstByteAt, m.Labels = Source{Kind: KindFile}, time.Time{}, nil
	m.Files.Request, m.Files.Arrivals = nil, nil
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"method", "url", "status", "content_type", "headers", "first_byte_at", "labels", "request.json", "arrivals.tsv", "null"} {
		if strings.Contains(string(b), key) {
			t.Errorf("%s is written:\n%s", key, b)
		}
	}
	got, err := DecodeManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
}

func TestManifestOtherFramings(t *testing.T) {
	for _, f := range []Framing{NDJSON, JSON} {
		m := exampleManifest()
		m.Framing = f
		if _, err := m.Encode(); err == nil {
			t.Errorf("framing %s with response.sse is encoded", f)
		}
		*m.Files.response(f), m.Files.SSE = m.Files.SSE, nil
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeManifest(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("round trip (-want +got):\n%s", diff)
		}
	}
}

// checkMalformed checks that err is a finding about in.
func checkMalformed(t *testing.T, in []byte, err error) finding.Finding {
	t.Helper()
	var f finding.Finding
	if !errors.As(err, &f) || f.Code != finding.ManifestMalformed {
		t.Fatalf("error %v, want a finding %s", err, finding.ManifestMalformed)
	}
	if f.Offset != nil && (*f.Offset < 0 || *f.Offset > int64(len(in))) {
		t.Fatalf("offset %d of %d bytes", *f.Offset, len(in))
	}
	for _, r := range f.Message {
		if r < ' ' {
			t.Fatalf("the message %q has a control character", f.Message)
		}
	}
	return f
}

func TestManifestMalformed(t *testing.T) {
	b, err := exampleManifest().Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := string(b)
	// Each case replaces the first old by new. The offset must be that of the text
	// at; "" allows any offset.
	cases := map[string]struct{ old, new, pointer, at string }{
		"no schema":               {"\"schema\": \"p20export.capture.v1\",\n  ", "", "/schema", ""},
		"other schema":            {"capture.v1", "capture.v2", "/schema", `"p20export.capture.v2"`},
		"unknown key":             {`"framing":`, `"extra": 1, "framing":`, "/extra", ""},
		"unknown key in source":   {`"kind":`, `"kinds": 1, "kind":`, "/source/kinds", ""},
		"unknown file":            {`"request.json"`, `"request.txt"`, "/files/request.txt", ""},
		"key twice":               {`"framing": "sse"`, `"framing": "sse", "framing": "sse"`, "/framing", ""},
		"label twice":             {`"version": "0.11.0"`, `"integration": "x"`, "/labels/integration", ""},
		"key case":                {`"framing"`, `"Framing"`, "/Framing", ""},
		"null":                    {`"first_byte_at": "2026-11-21T06:28:51.500000Z"`, `"first_byte_at": null`, "/first_byte_at", "null"},
		"null label":              {`"0.11.0"`, `null`, "/labels/version", "null"},
		"other kind":              {`"kind": "http"`, `"kind": "ftp"`, "/source/kind", `"ftp"`},
		"status":                  {`200`, `1000`, "/source/status", "1000"},
		"status text":             {`200`, `"200"`, "/source/status", ""},
		"url with query":          {`8011/`, `8011/?key=1`, "/source/url", `"http://127.0.0.1:8011/?key=1"`},
		"url with user":           {`http://`, `http://u:p@`, "/source/url", `"http://u:p@`},
		"url with fragment":       {`8011/`, `8011/#f`, "/source/url", `"http://127.0.0.1:8011/#f"`},
		"url with empty query":    {`8011/`, `8011/?`, "/source/url", `"http://127.0.0.1:8011/?"`},
		"url unreadable":          {`http://127`, `http://%zz`, "/source/url", `"http://%zz`},
		"framing":                 {`"sse"`, `"SSE"`, "/framing", `"SSE"`},
		"framing of another file": {`"sse"`, `"json"`, "/files", "{\n    \"response"},
		"two responses":           {`"request.json"`, `"response.json"`, "/files", "{\n    \"response"},
		"no response":             {"\"response.sse\": {", "\"arrivals.tsv\": {", "", ""},
		"end":                     {`"eof"`, `"done"`, "/end", `"done"`},
		"time without fraction":   {`06:28:50.865123Z`, `06:28:50Z`, "/started_at", ""},
		"time of 3 digits":        {`50.865123Z`, `50.865Z`, "/started_at", ""},
		"time with comma":         {`50.865123Z`, `50,865123Z`, "/started_at", ""},
		"time with offset":        {`50.865123Z`, `50.865123+00:00`, "/started_at", ""},
		"no such day":             {`2026-11-21T06:28:50`, `2026-02-30T06:28:50`, "/started_at", ""},
		"time as number":          {`"2026-11-21T06:28:50.865123Z"`, `1`, "/started_at", ""},
		"zero time":               {`2026-11-21T06:28:50.865123Z`, `0001-01-01T00:00:00.000000Z`, "/started_at", `"0001`},
		"first before start":      {`2026-11-21T06:28:51.5`, `2026-11-21T06:28:50.5`, "/first_byte_at", `"2026-11-21T06:28:50.5`},
		"end before first":        {`2026-11-21T06:28:52`, `2026-11-21T06:28:51`, "/ended_at", `"2026-11-21T06:28:51.2`},
		"negative size":           {`1038`, `-1`, "/files/response.sse/bytes", "-1"},
		"size with fraction":      {`1038`, `1038.5`, "/files/response.sse/bytes", ""},
		"size as text":            {`1038`, `"1038"`, "/files/response.sse/bytes", ""},
		"digest algorithm":        {`"sha256:`, `"sha512:`, "/files/response.sse/digest", `"sha512:`},
		"digest upper case":       {string(digest.Of([]byte("request"))), strings.ToUpper(string(digest.Of([]byte("request")))), "/files/request.json/digest", `"SHA256:`},
		"digest short":            {string(digest.Of([]byte("arrivals"))), "sha256:00", "/files/arrivals.tsv/digest", `"sha256:00"`},
		"no tool version":         {`"version": "0.1.0"`, `"version": ""`, "/tool", "{\n    \"name\""},
		"nothing":                 {good, "", "", ""},
		"no object":               {good, "[]", "", ""},
		"cut":                     {"\n}\n", "", "", ""},
		"bytes behind":            {"\n}\n", "\n}\nx", "", ""},
		"second value":            {"\n}\n", "\n}\n{}", "", ""},
		"bad UTF-8":               {`uvicorn`, "\xff", "", ""},
		"control in the text":     {`"uvicorn"`, "\x1b[31m", "", ""},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("%q is not in the manifest", c.old)
			}
			in := []byte(strings.Replace(good, c.old, c.new, 1))
			m, err := DecodeManifest(in)
			if m != nil {
				t.Fatalf("accepted as %+v", m)
			}
			f := checkMalformed(t, in, err)
			if c.pointer != "" && string(f.Pointer) != c.pointer {
				t.Errorf("pointer %q, want %q (%s)", f.Pointer, c.pointer, f.Message)
			}
			if c.at != "" && (f.Offset == nil || !strings.HasPrefix(string(in[*f.Offset:]), c.at)) {
				t.Errorf("offset %v is not that of %q (%s)", f.Offset, c.at, f.Message)
			}
		})
	}
}

// White space, key order and escapes do not matter.
func TestManifestLenience(t *testing.T) {
	b, err := exampleManifest().Encode()
	if err != nil {
		t.Fatal(err)
	}
	in := strings.Join(strings.Fields(string(b)), " ")
	in = strings.Replace(in, `"framing": "sse", `, "", 1)
	in = strings.Replace(in, `"tool":`, `"framing": "\u0073se", "tool":`, 1)
	m, err := DecodeManifest([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	want := exampleManifest()
	want.Source.ContentType = m.Source.ContentType // Fields changes only white space
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
