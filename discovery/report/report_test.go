package report

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const captures = "../captures"

var tool = record.Tool{Name: "p20export", Version: "0.0.0-test"}

// element returns the text between the first occurrence of an opening tag and end.
func element(t *testing.T, page []byte, open, end string) string {
	t.Helper()
	_, after, ok := strings.Cut(string(page), open)
	inside, _, closed := strings.Cut(after, end)
	if !ok || !closed {
		t.Fatalf("no %s", open)
	}
	return inside
}

// TestGolden compares one page, without style and script, with a file, so that changes are
// reviewed.
func TestGolden(t *testing.T) {
	_, page := made(t, Settings{}, bounds, captures+"/adk/backend-tool")
	got := []byte("<main" + element(t, page, "<main", "</main>") + "</main>\n")
	const path = "testdata/backend-tool.html"
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// The page of every committed capture has the same results as freeze and contains the
// captured events. Its policy allows only its own style and script.
func TestCommittedCaptures(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(captures + "/*/*")
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d captures, %v", len(paths), err)
	}
	ctx := context.Background()
	verdicts := make(map[project.Verdict]int)
	for _, path := range paths {
		rows, page := madeOnce(t, path)
		if len(rows) != 1 {
			t.Fatalf("%s: %d rows", path, len(rows))
		}
		verdicts[rows[0].Verdict]++
		checkPolicy(t, page)
		checkEvents(t, path, page)
		if rows[0].Run == nil {
			continue
		}
		frozen, err := freeze.Freeze(ctx, path, freeze.Settings{Settings: project.Settings{Projection: *rows[0].Projection}, Dir: t.TempDir(), Tool: tool})
		if err != nil {
			t.Fatal(err)
		}
		of := frozen[0]
		for i, f := range of.Findings {
			if of.Verdict == project.Refused && len(rows[0].Findings) == len(of.Findings) && rows[0].Findings[i].Hint == "" && advising([]finding.Finding{f}) > 0 {
				of.Findings[i].Hint = "" // freeze does not know what the other projection would do
			}
		}
		if of.Verdict != rows[0].Verdict || cmp.Diff(of.Findings, rows[0].Findings) != "" || cmp.Diff(of.ArtifactDigest, rows[0].ArtifactDigest) != "" {
			t.Errorf("%s: freeze says %v, the report %v", path, of, rows[0])
		}
		if of.Verdict != project.Frozen {
			continue
		}
		for _, file := range []string{*of.Artifact, *of.Envelope, *of.Record} {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(page, []byte("<code>"+string(digest.Of(data))+"</code>")) {
				t.Errorf("%s: the page does not have the digest of %s", path, filepath.Base(file))
			}
		}
	}
	if verdicts[project.Frozen] < 40 || verdicts[project.Refused] < 3 {
		t.Errorf("%v", verdicts)
	}
}

// Each run has the same verdict as in compare.
func TestWordsAreThoseOfCompare(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(captures + "/*/*")
	drift, driftErr := filepath.Glob("../drift/captures/*/*")
	if err = errors.Join(err, driftErr); err != nil || len(paths) < 50 || len(drift) < 10 {
		t.Fatalf("%d and %d captures, %v", len(paths), len(drift), err)
	}
	words := make(map[analysis.Verdict]int)
	several := saved(t, "several.sse", started, snapshot, finished, started, snapshot, richer, finished, started, snapshot, useless, finished, started, useless, finished)
	for _, path := range append(append(paths, drift...), several) {
		rows, page := madeOnce(t, path)
		want := analysis.Analyze(t.Context(), path, artifact.V1, nil)
		if len(rows) != len(want) {
			t.Fatalf("%s: %d rows for %d runs", path, len(rows), len(want))
		}
		for i, run := range want {
			words[run.Verdict]++
			if *rows[i].RunVerdict != run.Verdict || !strings.Contains(string(page), fmt.Sprintf(`<article id="r%d" data-verdict="%s"`, i+1, run.Verdict)) {
				t.Errorf("%s: the page says %s of run %d, compare %s", path, *rows[i].RunVerdict, i+1, run.Verdict)
			}
		}
	}
	for _, word := range analysis.Verdicts() {
		if words[word] == 0 {
			t.Errorf("no run is %s: %v", word, words)
		}
	}
}

// loads matches a tag that could load or run something.
var loads = regexp.MustCompile(`(?i)<[^<>]*\s((style|on[a-z]+|src|srcset)=|href="[^#])[^<>]*>`)

// checkPolicy checks that the policy matches the page's style and script, and that nothing
// else in the page could load or run.
func checkPolicy(t *testing.T, page []byte) {
	t.Helper()
	policy := element(t, page, `<meta http-equiv="Content-Security-Policy" content="`, `">`)
	want := "default-src 'none'; script-src 'sha256-" + hash(element(t, page, "<script>", "</script>")) + "'; style-src 'sha256-" + hash(element(t, page, "<style>", "</style>")) +
		"'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	if diff := cmp.Diff(want, policy); diff != "" {
		t.Error(diff)
	}
	if at := loads.Find(page); at != nil {
		t.Errorf("the page has %s", at)
	}
	scripts, data := bytes.Count(bytes.ToLower(page), []byte("<script")), bytes.Count(page, []byte(`<script type="application/json" id="data-`))
	if scripts != data+1 {
		t.Errorf("%d scripts, %d of them data", scripts, data)
	}
}

// checkEvents compares a page's data with the frames of its capture.
func checkEvents(t *testing.T, path string, page []byte) {
	t.Helper()
	c, err := capture.Open(context.Background(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var frames []capture.Frame
	for {
		f, err := c.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Data = bytes.Clone(f.Data)
		frames = append(frames, *f)
	}
	if len(frames) == 0 {
		return
	}
	var data struct {
		Types  [][2]string
		Events [][]json.RawMessage
	}
	if err := json.Unmarshal([]byte(element(t, page, `<script type="application/json" id="data-1">`, "</script>")), &data); err != nil {
		t.Fatal(err)
	}
	if len(data.Events) != len(frames) {
		t.Fatalf("%s: %d events of %d", path, len(data.Events), len(frames))
	}
	for i, f := range frames {
		e := data.Events[i]
		var kind int
		var text string
		if err := errors.Join(json.Unmarshal(e[0], &kind), json.Unmarshal(e[5], &text)); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s %s %s %s %s", e[1], e[2], e[3], e[4], text)
		want := fmt.Sprintf("%d %d %d %d %s", f.Index, f.Offset, f.Bytes, f.Arrived.Sub(c.Manifest().StartedAt).Microseconds(), f.Data)
		if want != got || string(e[6]) != "0" || !strings.Contains(string(f.Data), `"`+data.Types[kind][0]+`"`) {
			t.Errorf("%s: event %d is\n%.300s, not\n%.300s", path, i, got, want)
		}
	}
}

// saved writes events with times to a plain file and returns its path.
func saved(t *testing.T, name string, events ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1769860800123}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1769860801123}`
)

// A page stays within its limits for large captures, and says what it does not show.
func TestBounded(t *testing.T) {
	t.Parallel()
	small := limits{sections: 2, events: 300, event: 200, timelines: 20_000, tree: 4_000, trees: 10_000, listed: 5, facts: 2_000}
	_, page := made(t, Settings{}, small, captures+"/adk/one-turn")
	empty := len(page)
	word := strings.Repeat(`\u202e<`+"\u202e", 1<<16)
	events := []string{started}
	for i := range 1_000 {
		events = append(events, fmt.Sprintf(`{"type":"CUSTOM","n":%d,"value":"%s"}`, i, word[:1_000]))
	}
	var messages, keys []string
	for i := range 1_000 {
		keys = append(keys, fmt.Sprintf(`"<%d>":[[[["%d"]]]]`, i, i))
		messages = append(messages, fmt.Sprintf(`{"id":"%d","role":"user","content":"%s",%s}`, i, word[:100], strings.Join(keys[max(0, i-9):], ",")))
	}
	events = append(events, `{"type":"MESSAGES_SNAPSHOT","messages":[`+strings.Join(messages, ",")+`]}`, finished)
	rows, page := made(t, Settings{}, small, saved(t, "large.sse", events...))
	if rows[0].Verdict != project.Frozen {
		t.Fatalf("%v", rows[0].Findings)
	}
	if len(page) > empty+60_000 {
		t.Errorf("%d bytes, a small page has %d", len(page), empty)
	}
	for _, want := range []string{
		"1,003 events,", "703 events are past what a page lists", "events are shown in part, or by place and size alone",
		"The rest is not shown here.", "more messages are not shown here", "more are not listed",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	checkPolicy(t, page)
}

// Facts about a capture are repeated for each of its runs, and truncated each time.
func TestFactsAreBounded(t *testing.T) {
	t.Parallel()
	var events []string
	long := strings.Repeat("<\u202e", 1<<16)
	for range 100 {
		events = append(events, `{"type":"RUN_STARTED","threadId":"`+long[:40_000]+`","runId":"`+long[:40_000]+`","timestamp":1769860800123}`,
			`{"type":"MESSAGES_SNAPSHOT","messages":[`+strings.Repeat(`{"id":"","role":"<"},`, 50)+`{}]}`, `{"type":"RUN_ERROR","message":"m"}`)
	}
	dir := filepath.Join(t.TempDir(), "labelled")
	stream := strings.NewReader("data: " + strings.Join(events, "\n\ndata: ") + "\n\n")
	if _, _, err := capture.Import(context.Background(), stream, dir, capture.Settings{Tool: capture.Tool{Name: "p20export", Version: "0"}, Labels: map[string]string{"long": strings.Repeat("l", 500_000)}}); err != nil {
		t.Fatal(err)
	}
	small := limits{sections: 100, events: 10, event: 200, timelines: 2_000, tree: 1_000, trees: 1_000, listed: 200, facts: 50_000}
	rows, page := made(t, Settings{}, small, dir)
	if len(rows) != 100 || len(page) > 2<<20 {
		t.Errorf("%d bytes for %d runs", len(page), len(rows))
	}
	checkPolicy(t, page)
}

// A capture without a run counts as a capture but not as a run, and the page names it.
func TestRunsAreCounted(t *testing.T) {
	unfinished := filepath.Join(t.TempDir(), "unfinished")
	if err := os.Mkdir(unfinished, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(unfinished, "response.sse"), []byte("data: {}\n\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	two := saved(t, "two.sse", started, finished, started, finished)
	for _, c := range []struct {
		paths []string
		want  []string
	}{
		{[]string{captures + "/adk/refused"}, []string{"1 capture, 0 runs</h1>", "<strong>HTTP 422 from the endpoint</strong></p>", "There is no run in this capture.", "<strong>This page contains what the endpoint sent:</strong> the body of the response.", "<p>Status 422, application/json, "}},
		{[]string{unfinished}, []string{"1 capture, 0 runs</h1>", "<strong>Nothing is shown, because the capture was not finished: it has no capture.json.</strong></p>", "<h3>Why nothing is shown</h3>", "This page contains no event of the captures.", "<dt>Capture</dt><dd>not usable: the capture directory has no manifest, so the capture was not finished</dd>"}},
		{[]string{two}, []string{"1 capture, 2 runs</h1>", "An artifact was made from 0 of 2 runs.</span>"}},
		{[]string{captures + "/adk/one-turn", captures + "/adk/refused"}, []string{"2 captures, 1 run</h1>", "An artifact was made from 1 of 1 run. 1 capture has no run.</span>", "It also contains responses of endpoints.", `<td class="lost">HTTP 422 from the endpoint</td>`, "refused</a> <small>no run</small></th>"}},
		{[]string{two, captures + "/adk/refused", unfinished}, []string{"3 captures, 2 runs</h1>", "An artifact was made from 0 of 2 runs. 1 capture has no run. 1 capture is not readable.</span>", "unfinished</a> <small>not readable</small></th>"}},
	} {
		_, page := made(t, Settings{}, bounds, c.paths...)
		for _, want := range c.want {
			if !strings.Contains(string(page), want) {
				t.Errorf("%v: the page does not say %q", c.paths, want)
			}
		}
	}
}

// If there are more runs than a page shows, no page is written and no run is frozen.
func TestRunsAreBounded(t *testing.T) {
	small := bounds
	small.sections = 2
	var events []string
	for range 3 {
		events = append(events, started, finished)
		for range 1_000 {
			events = append(events, `{"type":"CUSTOM"}`)
		}
	}
	path := saved(t, "three.sse", events...)
	one, other := saved(t, "one.sse", started, finished), saved(t, "other.sse", started, finished)
	for _, c := range []struct {
		paths   []string
		reports int // progress reports: those of one reading, or none
	}{{[]string{path}, len(events)/1024 + 1}, {[]string{one, other, path}, 0}} {
		reports := 0
		s := Settings{Tool: tool, Out: filepath.Join(t.TempDir(), "report.html"), Reading: func(string) scan.Progress { return func(int64) { reports++ } }}
		rows, err := write(context.Background(), c.paths, s, small)
		if err != nil || rows[0].Verdict != project.Failed || !strings.Contains(rows[0].Findings[0].Message, "more runs than a page shows") || !strings.Contains(rows[0].Findings[0].Hint, "--run") {
			t.Errorf("%v %v", rows, err)
		}
		if reports != c.reports {
			t.Errorf("%v: %d reports of a reading", c.paths, reports)
		}
		if left, _ := os.ReadDir(filepath.Dir(s.Out)); len(left) > 0 {
			t.Errorf("%v was left", left)
		}
	}
	rows, _ := made(t, Settings{Run: "#3"}, small, path)
	if len(rows) != 1 || *rows[0].Run != 3 {
		t.Errorf("%v", rows)
	}
}

// An interrupted Write leaves no files.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := Settings{Tool: tool, Out: filepath.Join(t.TempDir(), "report.html"), Reading: func(string) scan.Progress { cancel(); return nil }}
	rows, err := Write(ctx, []string{captures + "/adk/one-turn"}, s)
	if err != nil || rows[0].Verdict != project.Failed || rows[0].Findings[0].Code != "interrupted" {
		t.Errorf("%v %v", rows, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(s.Out)); len(left) > 0 {
		t.Errorf("%v was left", left)
	}
}

// The timeline contains events before the first run, frames that are not events, and bytes
// that are not UTF-8.
func TestDamagedEvents(t *testing.T) {
	_, page := made(t, Settings{}, bounds, saved(t, "damaged.sse", `{"type":"EARLY"}`, started, "not JSON \xff</script>", finished))
	data := element(t, page, `<script type="application/json" id="data-1">`, "</script>")
	want := `{"types":[["EARLY","other"],["RUN_STARTED","run"],["","bad"],["RUN_FINISHED","run"]],"events":[[0,0,6,16,-1,"{\"type\":\"EARLY\"}",0],`
	if !strings.HasPrefix(data, want) || !strings.Contains(data, `"not JSON \udcff\u003c/script\u003e"`) {
		t.Errorf("%s", data)
	}
	checkPolicy(t, page)
}

func TestPageNames(t *testing.T) {
	for _, c := range []struct{ paths, want []string }{
		{[]string{"a/one"}, []string{"one"}},
		{[]string{"a/one/", "b/two"}, []string{"one", "two"}},
		{[]string{"a/one", "b/one"}, []string{"a/one", "b/one"}},
		{[]string{"x/a/one", "y/a/one", "/one"}, []string{"x/a/one", "y/a/one", "/one"}},
		{[]string{"a/one", "b/one", "c/two"}, []string{"a/one", "b/one", "c/two"}},
		{[]string{"a/one", "./a/../a/one"}, nil},
		{[]string{"a\xff/one"}, []string{"one"}},
		{[]string{"one", "a/two\xff.sse"}, nil},
	} {
		got, err := pageNames(c.paths)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("%v: %v %s", c.paths, err, diff)
		}
	}
}

// A capture that is named by a link as well is not shown twice.
func TestCapturesAreDistinct(t *testing.T) {
	path := saved(t, "run.sse", started, snapshot, finished)
	link := filepath.Join(t.TempDir(), "link.sse")
	dir := filepath.Join(t.TempDir(), "link")
	real, err := filepath.Abs(captures + "/adk/one-turn")
	if err := errors.Join(err, os.Symlink(path, link), os.Symlink(real, dir)); err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{{path, link}, {real, path, dir}} {
		s := Settings{Tool: tool, Out: filepath.Join(t.TempDir(), "page.html")}
		if rows, err := Write(t.Context(), paths, s); err == nil || !strings.Contains(err.Error(), "are the same capture") {
			t.Errorf("%v: %v, %v", paths, rows, err)
		}
	}
	made(t, Settings{}, bounds, dir, link)
}

// A page never replaces a capture or a file of one, even by a link or if the capture looks
// like a page. Nothing is read first.
func TestOutIsNoCapture(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	both := pageBegin + pageMaker + "p20export 1.0.0\n\ndata: " + started + "\n\ndata: " + finished + "\n\n"
	for _, name := range []string{"plain.sse", "unfinished/response.sse", "closed/response.sse", "closed/capture.json", "closed/inner/page.html"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o777), os.WriteFile(at(name), []byte(both), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Link(at("plain.sse"), at("hard.sse")), os.Symlink("plain.sse", at("soft.sse")), os.Symlink("closed", at("link")),
		os.Link(at("closed/response.sse"), at("hard.html")), os.Symlink("unfinished/response.sse", at("soft.html")), os.Link(at("unfinished/response.sse"), at("other.html"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, out string }{
		{"plain.sse", "plain.sse"},
		{"plain.sse", "hard.sse"},
		{"plain.sse", "soft.sse"},
		{"soft.sse", "plain.sse"},
		{"hard.sse", "soft.sse"},
		{"closed", "closed/response.sse"},
		{"link", "closed/inner/page.html"},
		{"closed", "link/inner/new.html"},
		{"closed", "hard.html"},
		{"unfinished", "unfinished/new.html"},
		{"unfinished", "soft.html"},
		{"unfinished", "other.html"},
	} {
		read := false
		s := Settings{Tool: tool, Out: at(c.out), Force: true, Reading: func(string) scan.Progress { read = true; return nil }}
		before, _ := os.ReadFile(s.Out)
		rows, err := Write(t.Context(), []string{captures + "/adk/one-turn", at(c.path)}, s)
		after, _ := os.ReadFile(s.Out)
		if err == nil || read || !bytes.Equal(before, after) {
			t.Errorf("%s in place of %s: %v, %v; read: %t", c.out, c.path, rows, err, read)
		}
	}
	if _, err := os.Stat(at("closed/inner/new.html")); err == nil {
		t.Error("a page was written into a capture")
	}
}

// Render writes the page of a capture that Write writes, and nothing of one that cannot be read.
func TestRender(t *testing.T) {
	path := captures + "/adk/one-turn"
	_, want := madeOnce(t, path)
	var page bytes.Buffer
	if err := Render(t.Context(), &page, path, Settings{Tool: tool}); err != nil || !bytes.Equal(page.Bytes(), want) {
		t.Errorf("%v; the pages differ: %t", err, !bytes.Equal(page.Bytes(), want))
	}
	page.Reset()
	if err := Render(t.Context(), &page, filepath.Join(t.TempDir(), "none"), Settings{Tool: tool}); err == nil || page.Len() > 0 {
		t.Errorf("a capture that does not exist: %v, %d bytes", err, page.Len())
	}
	failed := errors.New("no room")
	closed, pipe := io.Pipe()
	closed.CloseWithError(failed)
	if err := Render(t.Context(), pipe, path, Settings{Tool: tool}); !errors.Is(err, failed) {
		t.Errorf("a writer that fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Render(ctx, &page, path, Settings{Tool: tool}); err == nil || page.Len() > 0 {
		t.Errorf("cancelled: %v, %d bytes", err, page.Len())
	}
}
