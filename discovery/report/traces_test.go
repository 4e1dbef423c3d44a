package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/internal/look"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/tracediff"
)

// tracesFile returns the path of a page about two captures.
func tracesFile(t *testing.T, a, b string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "page.html")
	p, err := NewTraces(tool, out, []string{a, b})
	if err != nil {
		t.Fatal(err)
	}
	row, err := tracediff.Compare(t.Context(), tracediff.Trace{Path: a}, tracediff.Trace{Path: b}, tracediff.Settings{Comparison: trace.Comparison{Same: true}}, func(d tracediff.Difference) error {
		p.Add(d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.End(row)
	if err := p.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out
}

// tracesPage returns the page about two captures.
func tracesPage(t *testing.T, a, b string) string {
	t.Helper()
	return string(testkit.Read(t, tracesFile(t, a, b)))
}

// The page has each difference, and the equal events between them.
func TestTraces(t *testing.T) {
	t.Parallel()
	page := tracesPage(t, "../drift/captures/adk-0.4.0/backend-tool", captures+"/adk/backend-tool")
	for _, want := range []string{
		`<title>backend-tool: differs</title>`, `<summary>5 equal events</summary>`, `<code>/delta</code>`,
		`<tr class="added"><td></td><td><p class="what"><span class="tag">added</span> <strong>STATE_SNAPSHOT</strong> event 14, line 29</p>`,
		`<span class="none">not there</span>`, `style-src 'sha256-` + hash(look.Style()+sectionCSS+tracesCSS) + `'`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	if same := tracesPage(t, captures+"/adk/one-turn", captures+"/adk/one-turn"); !strings.Contains(same, "one-turn: equal") || strings.Contains(same, "<table") {
		t.Error("the page of equal traces has a table")
	}
}

// Nothing in a capture becomes markup, and a page has a limit.
func TestTracesHostile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.ndjson"), filepath.Join(dir, "<b>.ndjson")
	hostile := `{"type":"<script>","x":"</style><script>alert(1)</script>\u202e","<img src=x onerror=alert(1)>":"\ud800"}` + "\n"
	testkit.Write(t, a, `{"type":"CUSTOM","name":"x","value":"<script>"}`+"\n")
	testkit.Write(t, b, []byte(`{"type":"CUSTOM","name":"x","value":"<SCRIPT>"}`+"\n"+strings.Repeat(hostile, 100_000)))
	page := tracesPage(t, a, b)
	if strings.Contains(page, "<script") || strings.Contains(page, "<SCRIPT") || strings.Contains(page, "<img") || strings.Contains(page, "\u202e") || strings.Count(page, "</style>") != 1 {
		t.Error("the page has markup of the capture")
	}
	if len(page) > 2*maxTraceBytes || !strings.Contains(page, "more differences are not shown here") {
		t.Errorf("the page has %d bytes", len(page))
	}
}

// A page replaces only a page, and is never written into a capture.
func TestTracesFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := captures + "/adk/one-turn"
	out := filepath.Join(dir, "page.html")
	write := func() error {
		p, err := NewTraces(tool, out, []string{one, one})
		if err != nil {
			return err
		}
		return p.Write(t.Context())
	}
	for range 2 {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Write(t, out, "mine")
	if err := write(); err == nil || string(testkit.Read(t, out)) != "mine" {
		t.Errorf("the file was replaced: %v", err)
	}
	out = filepath.Join(dir, "capture", "page.html")
	testkit.CopyDir(t, filepath.Dir(out), one)
	if err := write(); err == nil {
		t.Error("a page was written into a capture")
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Error(err)
	}
}
