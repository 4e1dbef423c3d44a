package transport_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/lint/transport"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// response returns a response of five events that arrived within a second, one by one.
func response() transport.Response {
	return transport.Response{
		Manifest: &capture.Manifest{
			Source:    capture.Source{Kind: capture.KindHTTP, Status: new(200), ContentType: "text/event-stream"},
			Framing:   capture.SSE,
			StartedAt: start, FirstByteAt: start.Add(time.Second), EndedAt: start.Add(5 * time.Second),
			End: capture.EndEOF, Files: capture.Files{SSE: &capture.File{Bytes: 1234567}},
		},
		Framing:  capture.SSE,
		Arrivals: &capture.Arrivals{Reads: 5, First: start.Add(time.Second), Last: start.Add(5 * time.Second), Silence: time.Second},
		Head:     []byte("data: {}\n\n"),
		Events:   5, Span: 4 * time.Second,
	}
}

// summary formats findings as severity, rule and message.
func summary(list []finding.Finding) (texts []string) {
	for _, f := range list {
		texts = append(texts, string(f.Severity)+" "+f.Rule+" "+f.Message)
	}
	return texts
}

func TestCheck(t *testing.T) {
	late := func(r *transport.Response) { r.Arrivals.First = start.Add(4900 * time.Millisecond) }
	for _, test := range []struct {
		name string
		edit func(r *transport.Response)
		want []string
	}{
		{"nothing is wrong", func(*transport.Response) {}, nil},
		{"a plain file", func(r *transport.Response) { r.Manifest, r.Arrivals = nil, nil }, nil},
		{"an imported file", func(r *transport.Response) {
			r.Manifest.Source = capture.Source{Kind: capture.KindFile}
			r.Arrivals = nil
		}, nil},
		{"no content type", func(r *transport.Response) { r.Manifest.Source.ContentType = "" },
			[]string{"warning N1 the response has no content type; that of an event stream is text/event-stream"}},
		{"the content type of an error", func(r *transport.Response) {
			r.Manifest.Source.ContentType = "text/html"
			r.Manifest.Source.Status = new(500)
		}, nil},
		{"a content type that is not valid", func(r *transport.Response) { r.Manifest.Source.ContentType = "text/x;;=" },
			[]string{`warning N1 the response has the content type "text/x"; that of an event stream is text/event-stream`}},
		{"capital letters", func(r *transport.Response) { r.Manifest.Source.ContentType = `Text/Event-Stream; Charset="UTF-8"` }, nil},
		{"another charset", func(r *transport.Response) { r.Manifest.Source.ContentType = "text/event-stream; charset=latin1" },
			[]string{`warning N2 the content type has the charset "latin1"; an event stream is UTF-8`}},
		{"lines", func(r *transport.Response) {
			r.Head = []byte("\ufeff:c\r\ndata\revent: x\nid:1\nretry: 1\n data: x\nDATA: y\n\nz\ncut")
		}, []string{`warning N3 readers ignore the line " data: x", which is neither a field nor a comment; 2 more lines are ignored`}},
		{"lines of NDJSON", func(r *transport.Response) { r.Head, r.Framing = []byte("{}\n"), capture.NDJSON }, nil},
		{"buffered", late,
			[]string{"warning N5 the 5 events arrived within 100ms, after 4.9s without any; by their timestamps, they were made in 4s"}},
		{"all at the end", func(r *transport.Response) { late(r); r.Span = 0 },
			[]string{"info N5 the 5 events arrived within 100ms, after 4.9s without any"}},
		{"compressed", func(r *transport.Response) {
			late(r)
			r.Manifest.Source.Headers = map[string]string{"content-encoding": "gzip"}
		}, []string{`warning N7 the response has the content coding "gzip", and its 5 events arrived within 100ms, after 4.9s without any`}},
		{"compressed, and flushed", func(r *transport.Response) {
			r.Manifest.Source.Headers = map[string]string{"content-encoding": "gzip"}
		}, nil},
		{"three events", func(r *transport.Response) { late(r); r.Events = 3 }, nil},
		{"a short run", func(r *transport.Response) {
			r.Arrivals.First, r.Arrivals.Last = start.Add(1900*time.Millisecond), start.Add(1999*time.Millisecond)
		}, nil},
		{"a silence of a minute", func(r *transport.Response) { r.Arrivals.Silence, r.Arrivals.SilenceEnd = time.Minute, 20000 },
			[]string{"warning N6 nothing arrived for 1m0s, after byte 20,000"}},
		{"a shorter silence", func(r *transport.Response) { r.Arrivals.Silence = time.Minute - time.Millisecond }, nil},
		{"a silence at the end", func(r *transport.Response) { r.Manifest.EndedAt = r.Arrivals.Last.Add(2 * time.Minute) },
			[]string{"warning N6 nothing arrived for 2m0s, after byte 1,234,567"}},
		{"cancelled in a silence", func(r *transport.Response) {
			r.Manifest.EndedAt, r.Manifest.End = r.Arrivals.Last.Add(2*time.Minute), capture.EndCancelled
		}, nil},
	} {
		r := response()
		test.edit(&r)
		list := transport.Check(r)
		if diff := cmp.Diff(test.want, summary(list)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if test.name == "compressed" && !finding.Has(list, finding.CompressionDelays) {
			t.Errorf("%s: %v", test.name, list)
		}
	}
}

func TestCORS(t *testing.T) {
	const origin = "https://app.example"
	ok := []string{origin}
	for _, test := range []struct {
		name string
		cors transport.CORS
		want string // a part of the finding, or empty
	}{
		{"allowed", transport.CORS{Origin: origin, Allowed: ok, Preflight: &transport.Preflight{Status: 204, Allowed: ok, Headers: []string{"Accept", "X, content-TYPE"}}}, ""},
		{"all are allowed", transport.CORS{Origin: origin, Allowed: []string{"*"}, Preflight: &transport.Preflight{Status: 200, Allowed: []string{"*"}, Headers: []string{"*"}}}, ""},
		{"another origin", transport.CORS{Origin: origin, Allowed: []string{origin + "/"}}, `Access-Control-Allow-Origin: "https://app.example/"`},
		{"none", transport.CORS{Origin: origin}, "the response has no Access-Control-Allow-Origin"},
		{"two", transport.CORS{Origin: origin, Allowed: []string{"*", origin}}, "several headers"},
		{"no answer to OPTIONS", transport.CORS{Origin: origin, Allowed: ok, Preflight: &transport.Preflight{Failed: "why"}}, "(OPTIONS) failed: why"},
		{"the status of OPTIONS", transport.CORS{Origin: origin, Allowed: ok, Preflight: &transport.Preflight{Status: 405, Allowed: ok}}, "(OPTIONS) has the status 405"},
		{"no origin for OPTIONS", transport.CORS{Origin: origin, Allowed: ok, Preflight: &transport.Preflight{Status: 200}}, "(OPTIONS) has no Access-Control-Allow-Origin"},
		{"no header for OPTIONS", transport.CORS{Origin: origin, Allowed: ok, Preflight: &transport.Preflight{Status: 200, Allowed: ok}}, "does not allow the header Content-Type"},
	} {
		r := response()
		r.CORS = &test.cors
		list := transport.Check(r)
		if test.want == "" && len(list) > 0 || test.want != "" && (len(list) != 1 || list[0].Rule != "N10" || !strings.Contains(list[0].Message, test.want)) {
			t.Errorf("%s: %v", test.name, list)
		}
	}
}

func TestClassify(t *testing.T) {
	cut := response()
	cut.Manifest.End = capture.EndError
	limit := response()
	limit.Manifest.End = capture.EndLimit
	none := response()
	none.Events = 0
	lines := response()
	lines.Framing = capture.NDJSON
	for _, test := range []struct {
		r    transport.Response
		code finding.Code
		rule string
	}{
		{response(), finding.EventIncomplete, "N4"},
		{lines, finding.EventIncomplete, ""},
		{cut, finding.CaptureCutShort, "N8"},
		{limit, finding.CaptureCutShort, ""},
		{response(), finding.HTTPStatus, "N9"},
		{none, finding.HTTPStatus, ""},
		{response(), finding.NoRun, ""},
	} {
		if f := transport.Classify(finding.New(test.code, "why"), test.r); f.Rule != test.rule {
			t.Errorf("%s is of rule %q, not %q", test.code, f.Rule, test.rule)
		}
	}
}
