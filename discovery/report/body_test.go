package report

import (
	"bytes"
	"compress/gzip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
)

// captureResponse captures the response of an endpoint and returns the path of the capture.
func captureResponse(t testing.TB, s capture.Settings, response string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "answer")
	if s.Source.Kind == "" {
		s.Source.Kind, s.Source.Method, s.Source.URL = capture.KindHTTP, "POST", "http://localhost/agent"
	}
	if s.Framing == "" {
		s.Framing = capture.SSE
	}
	s.Tool = capture.Tool{Name: "p20export", Version: "0"}
	w, err := capture.Create(dir, s)
	if err == nil {
		_, err = w.Write([]byte(response))
	}
	if err == nil {
		_, err = w.Close(capture.EndEOF)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// The page of a failed request shows the response body, inert and truncated to the limit.
// Pages of other captures do not show the body.
func TestBody(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("zipped"))
	z.Close()
	small := bounds
	small.body = 100
	for _, c := range []struct {
		status   int
		kind     string
		framing  capture.Framing
		headers  map[string]string
		response string
		want     []string
	}{
		{422, "application/json", capture.JSON, nil, `{"detail":[{"msg":"<b>"}]}`, []string{
			"<p>Status 422, application/json, 26 bytes</p>",
			`<div class="ln i3 "><span class="k">&#34;msg&#34;</span>: <span class="s">&#34;&lt;b&gt;&#34;</span></div>`}},
		{500, "text/html", capture.SSE, nil, "<script>alert(1)</script>\x1b[2J\xff\n", []string{
			"<p>Status 500, text/html, 31 bytes</p>",
			`<div class="content">&lt;script&gt;alert(1)&lt;/script&gt;<b class="x">␛</b>[2J<b class="x">⟨xFF⟩</b>` + "\n</div>"}},
		{500, "text/event-stream", capture.SSE, nil, "data: " + finished + "\n\n", []string{"RUN_FINISHED"}},
		{200, "text/html", capture.SSE, nil, "<p>Hello.</p>", []string{"<p>Status 200, text/html, 13 bytes</p>", "&lt;p&gt;Hello.&lt;/p&gt;"}},
		{503, "text/plain", capture.SSE, map[string]string{"content-encoding": "gzip"}, zipped.String(), []string{`<div class="content">zipped</div>`}},
		{503, "", capture.NDJSON, nil, strings.Repeat("x", 101), []string{"<p>Status 503, 101 bytes</p>", `<div class="content">` + strings.Repeat("x", 100) + "</div>", "The rest is not shown here."}},
		{503, "", capture.NDJSON, nil, `{"x":"` + strings.Repeat("x", 92) + `"}`, []string{`<span class="k">&#34;x&#34;</span>`}},
		{503, "", capture.NDJSON, nil, `{"x":"` + strings.Repeat("x", 93) + `"}`, []string{`<div class="content">{&#34;x&#34;:&#34;xxx`, "The rest is not shown here."}},
		{204, "", capture.SSE, nil, "", []string{"<p>Status 204, 0 bytes</p>"}},
		{200, "text/event-stream", capture.SSE, nil, "data: " + finished + "\n\n", nil},
		{200, "text/event-stream", capture.SSE, nil, "data: not JSON\n\n", nil},
		{500, "text/event-stream", capture.SSE, nil, "data: " + started + "\n\n", nil},
	} {
		s := capture.Settings{Framing: c.framing}
		s.Source = capture.Source{Kind: capture.KindHTTP, Method: "POST", URL: "http://localhost/agent", Status: &c.status, ContentType: c.kind, Headers: c.headers}
		_, page := made(t, Settings{}, small, captureResponse(t, s, c.response))
		checkPolicy(t, page)
		if shown := strings.Contains(string(page), "<h3>The response</h3>"); shown != (c.want != nil) {
			t.Errorf("%d %.40q: shown %t", c.status, c.response, shown)
			continue
		}
		if c.want == nil {
			continue
		}
		body := element(t, page, "<h3>The response</h3>", "</section>")
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%d %.40q: no %s in %s", c.status, c.response, want, body)
			}
		}
	}
}

// A file that is not an event stream is shown as text.
func TestBodyOfFile(t *testing.T) {
	path := saved(t, "none.sse")
	testkit.Write(t, path, "event: ping\n: nothing\n")
	_, page := made(t, Settings{}, bounds, path)
	const want = "\n<p>22 bytes</p>\n<div class=\"tree\"><div class=\"content\">event: ping\n: nothing\n</div></div>\n"
	if diff := cmp.Diff(want, element(t, page, "<h3>The response</h3>", "</section>")); diff != "" {
		t.Error(diff)
	}
}
