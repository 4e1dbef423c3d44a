package scenario

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/client"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

const failedRun = `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}

data: {"type":"RUN_ERROR","message":"no"}

`

// serve returns a server that answers every request with handle and keeps the paths and
// bodies of the requests.
func serve(t *testing.T, handle http.HandlerFunc) (url string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	var mu sync.Mutex // an abandoned request may still be read while the next one arrives
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		*asked = append(*asked, r.URL.RequestURI()+" "+string(body))
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func planned(t *testing.T, url string, names ...string) *Plan {
	t.Helper()
	p := &Plan{Dir: filepath.Join(t.TempDir(), "out"), Request: client.Settings{URL: url, Tool: capture.Tool{Name: "p20export", Version: "test"}}}
	for _, name := range names {
		p.Scenarios = append(p.Scenarios, Scenario{Name: name, About: "About " + name + ".", Path: "/" + name, Request: []byte(`{ "runId": "r" }`)})
	}
	return p
}

// brief formats the values of a row that matter in most tests.
func brief(rows []Row) (all []string) {
	for _, row := range rows {
		s := row.Scenario + " " + string(row.Verdict)
		if row.End != nil {
			s += " " + string(*row.End)
		}
		for _, f := range row.Findings {
			s += " " + string(f.Code) + " " + string(f.Severity)
		}
		all = append(all, s)
	}
	return all
}

func TestRun(t *testing.T) {
	url, asked := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, failedRun) })
	p := planned(t, url+"/base?key=value", "a", "b", "c")
	p.Scenarios[1].Path = ""
	p.Request.Labels = map[string]string{"own": "x"}
	p.Suite = &Suite{Cases: []Case{{Name: "c", Note: "It cannot."}}}
	var progress []string
	p.Progress = func(scenario string, now client.Progress) {
		if now.Bytes == 0 || now.Events != nil && *now.Events == 2 {
			progress = append(progress, scenario)
		}
	}
	if blocked, err := p.Conflicts(); err != nil || blocked != nil {
		t.Fatalf("%v, %v", blocked, err)
	}
	rows := slices.Collect(p.Run(t.Context()))
	refused := Outcome{Verdict: project.Refused, Reasons: []string{"snapshot_missing"}}
	want := []Row{
		{
			Scenario: "a", About: "About a.", Needed: true, Verdict: Captured, Capture: new(filepath.Join(p.Dir, "a")),
			HTTPStatus: new(200), End: new(capture.EndEOF), Events: new(2), Bytes: new(int64(len(failedRun))),
			Terminal: new("RUN_ERROR"), Snapshots: []int{}, Findings: []finding.Finding{},
			Freeze: &Outcomes{
				EmittedSnapshot: refused, EmittedSnapshotText: refused,
				FoldedStream: Outcome{Verdict: project.Refused, Reasons: []string{"request_malformed /messages"}},
			},
		},
		{Scenario: "c", About: "About c.", Needed: true, Verdict: Skipped, Note: "It cannot.", Snapshots: []int{}, Findings: []finding.Finding{}},
	}
	if diff := cmp.Diff(want, []Row{rows[0], rows[2]}, cmpopts.IgnoreFields(Row{}, "Observed", "Runs")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{`/base/a?key=value {"runId":"r"}`, `/base?key=value {"runId":"r"}`}, *asked); diff != "" {
		t.Errorf("asked -want +got:\n%s", diff)
	}
	if progress = slices.Compact(progress); !slices.Equal(progress, []string{"a", "b"}) {
		t.Errorf("progress %q", progress)
	}
	c, err := capture.Open(t.Context(), *rows[1].Capture, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if diff := cmp.Diff(map[string]string{"own": "x", analysis.LabelScenario: "b"}, c.Manifest().Labels); diff != "" {
		t.Errorf("labels -want +got:\n%s", diff)
	}
	if len(p.Request.Labels) != 1 {
		t.Errorf("the plan's labels became %v", p.Request.Labels)
	}
}

// A snapshot that lacks streamed text is a warning of the row, and not a difference from
// the expectation.
func TestRunIncomplete(t *testing.T) {
	answer := "data: " + strings.ReplaceAll(strings.Join([]string{
		testkit.Started, testkit.Message, `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."}]}`, testkit.Finished,
	}, "\n"), "\n", "\n\ndata: ") + "\n\n"
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, answer) })
	p := planned(t, url, "a")
	rows := slices.Collect(p.Run(t.Context()))
	if diff := cmp.Diff([]string{"a captured eof snapshot_lacks_streamed_text warning"}, brief(rows)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	seen := rows[0].Observed
	for _, name := range []project.Name{project.EmittedSnapshot, project.EmittedSnapshotText} {
		if o := seen.Freeze.Outcome(name); o.Verdict != project.Frozen || !slices.Contains(o.Omissions, "snapshot_lacks_streamed_text TEXT_MESSAGE_START") {
			t.Errorf("%s: %+v", name, o)
		}
	}
	expected := *seen
	expected.Freeze.EmittedSnapshot.Omissions = nil
	p = planned(t, url, "a")
	p.Suite = &Suite{Cases: []Case{{Name: "a", Expect: &expected}}}
	rows = slices.Collect(p.Run(t.Context()))
	if diff := cmp.Diff([]string{"a unexpected eof snapshot_lacks_streamed_text warning scenario_unexpected error"}, brief(rows)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The next scenario is run after a failed one, but not if the server is unreachable.
func TestRunGoesOn(t *testing.T) {
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch w.Header().Set("Content-Type", "text/event-stream"); r.URL.Path {
		case "/none":
			panic(http.ErrAbortHandler)
		case "/cut":
			io.WriteString(w, failedRun)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "/fault":
			w.WriteHeader(http.StatusInternalServerError)
		case "/last":
			server.Listener.Close()
		}
		io.WriteString(w, failedRun)
	}))
	defer server.Close()
	p := planned(t, server.URL, "none", "cut", "fault", "last", "gone", "never")
	want := []string{
		"none error http_failed error",
		"cut error error http_failed error",
		"fault captured eof http_status error",
		"last captured eof",
		"gone error http_failed error",
	}
	if diff := cmp.Diff(want, brief(slices.Collect(p.Run(t.Context())))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if left, err := os.ReadDir(p.Dir); err != nil || len(left) != 3 {
		t.Errorf("%d captures are left, %v", len(left), err)
	}
}

// A truncated response does not fail a scenario that expects one, and a complete response
// is then unexpected.
func TestRunBrokenAsExpected(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, failedRun)
		if r.URL.Path == "/cut" {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	p := planned(t, url, "cut", "whole")
	refused := Outcome{Verdict: project.Refused, Reasons: []string{"snapshot_missing"}}
	expect := &Expectation{HTTPStatus: 200, End: capture.EndError, Terminal: "RUN_ERROR", Freeze: Outcomes{
		EmittedSnapshot: refused, EmittedSnapshotText: refused,
		FoldedStream: Outcome{Verdict: project.Refused, Reasons: []string{"request_malformed /messages"}},
	}}
	p.Suite = &Suite{Cases: []Case{{Name: "cut", Expect: expect}, {Name: "whole", Expect: expect}}}
	want := []string{"cut captured error http_failed warning", "whole unexpected eof scenario_unexpected error"}
	if diff := cmp.Diff(want, brief(slices.Collect(p.Run(t.Context())))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An HTTP error does not fail a scenario with an expectation, or if expectations are
// being updated.
func TestRunHTTPErrorAsExpected(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"detail":"Not Found"}`)
	})
	refused := Outcome{Verdict: project.Refused, Reasons: []string{"http_status"}}
	expect := func(status int) *Expectation {
		return &Expectation{HTTPStatus: status, Freeze: Outcomes{EmittedSnapshot: refused, EmittedSnapshotText: refused, FoldedStream: refused}}
	}
	p := planned(t, url, "as-expected", "otherwise", "unsaid")
	p.Suite = &Suite{Cases: []Case{{Name: "as-expected", Expect: expect(404)}, {Name: "otherwise", Expect: expect(200)}}}
	want := []string{
		"as-expected captured eof http_status warning",
		"otherwise unexpected eof http_status warning scenario_unexpected error",
		"unsaid captured eof http_status error",
	}
	if diff := cmp.Diff(want, brief(slices.Collect(p.Run(t.Context())))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	learning := planned(t, url, "unsaid")
	learning.UpdateExpected = true
	if diff := cmp.Diff([]string{"unsaid captured eof http_status warning"}, brief(slices.Collect(learning.Run(t.Context())))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// When the context is done, the current capture is closed and no further scenario is run.
func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, failedRun)
		if r.URL.Path == "/b" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	})
	p := planned(t, url, "a", "b", "c")
	p.Progress = func(scenario string, now client.Progress) {
		if scenario == "b" && now.Events != nil && *now.Events > 0 {
			cancel()
		}
	}
	want := []string{"a captured eof", "b captured cancelled capture_cut_short warning"}
	if diff := cmp.Diff(want, brief(slices.Collect(p.Run(ctx)))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want = nil
	if diff := cmp.Diff(want, brief(slices.Collect(p.Run(ctx)))); diff != "" {
		t.Errorf("after the end: -want +got:\n%s", diff)
	}
}

// A capture with several runs is kept, but is unexpected.
func TestRunSeveralRuns(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, failedRun+failedRun) })
	p := planned(t, url, "a")
	rows := slices.Collect(p.Run(t.Context()))
	if diff := cmp.Diff([]string{"a unexpected eof scenario_unexpected error"}, brief(rows)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A damaged content coding is reported once.
func TestRunDamagedCoding(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		io.WriteString(w, failedRun)
	})
	p := planned(t, url, "a")
	if diff := cmp.Diff([]string{"a error eof arrivals_malformed warning content_coding_damaged error"}, brief(slices.Collect(p.Run(t.Context())))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBlocked(t *testing.T) {
	p := planned(t, "http://127.0.0.1:1", "a", "b", "c", "d")
	for _, name := range []string{"a", "c"} {
		if err := os.MkdirAll(filepath.Join(p.Dir, name, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(p.Dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Suite = &Suite{Cases: []Case{{Name: "c", Note: "It cannot."}}}
	rows, err := p.Conflicts()
	if diff := cmp.Diff([]string{"a error io_failed error"}, brief(rows)); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	p.Request.Labels = map[string]string{"x": "\xff"}
	if _, err := p.Conflicts(); err == nil {
		t.Error("a label that cannot be written is no error")
	}
}

// Each difference is reported once, with its place.
func TestUnexpected(t *testing.T) {
	expected := func() Expectation {
		return Expectation{HTTPStatus: 200, Terminal: "RUN_FINISHED", TimeSource: project.ArrivalTime, Freeze: Outcomes{
			EmittedSnapshot: Outcome{Verdict: project.Frozen, Origin: project.Emitted, Roles: []string{"user", "assistant", "user"}},
			FoldedStream:    Outcome{Verdict: project.Refused, Reasons: []string{"a", "a", "b"}},
		}}
	}
	for _, c := range []struct {
		change func(*Expectation)
		want   []string
	}{
		{func(*Expectation) {}, nil},
		{func(e *Expectation) { e.HTTPStatus = 500 }, []string{`/http_status expected "200", got "500"`}},
		{func(e *Expectation) { e.End = capture.EndError }, []string{`/end expected none, got "error"`}},
		{func(e *Expectation) { e.Terminal = "" }, []string{`/terminal expected "RUN_FINISHED", got none`}},
		{func(e *Expectation) { e.Terminal = "\x1b" }, []string{`/terminal expected "RUN_FINISHED", got "\u001b"`}},
		{func(e *Expectation) { e.TimeSource = project.EventTime }, []string{`/time_source expected "arrival", got "event"`}},
		{func(e *Expectation) { e.Parent = "p" }, []string{`/parent expected none, got "p"`}},
		{func(e *Expectation) { e.Freeze.EmittedSnapshot.Verdict = project.Refused }, []string{`/freeze/emitted-snapshot/verdict expected "frozen", got "refused"`}},
		{func(e *Expectation) { e.Freeze.EmittedSnapshot.Origin = project.Built }, []string{`/freeze/emitted-snapshot/origin expected "emitted", got "built"`}},
		{func(e *Expectation) { slices.Sort(e.Freeze.EmittedSnapshot.Roles) }, []string{`/freeze/emitted-snapshot/roles wrong order: expected user, assistant, user; got assistant, user, user`}},
		{func(e *Expectation) { e.Freeze.EmittedSnapshot.Roles = []string{"user"} }, []string{`/freeze/emitted-snapshot/roles missing: assistant, user`}},
		{func(e *Expectation) { e.Freeze.EmittedSnapshotText.Omissions = []string{"x\x1b", "y"} }, []string{`/freeze/emitted-snapshot-text/omissions unexpected: x\u001b, y`}},
		{func(e *Expectation) { e.Freeze.FoldedStream.Reasons = []string{"a", "b", "b"} }, []string{`/freeze/folded-stream/reasons missing: a; unexpected: b`}},
		{func(e *Expectation) { e.HTTPStatus, e.Terminal = 422, "" }, []string{`/http_status expected "200", got "422"`, `/terminal expected "RUN_FINISHED", got none`}},
	} {
		want, seen := expected(), expected()
		c.change(&seen)
		var got []string
		for _, f := range diffExpectation(&want, &seen) {
			if f.Code != finding.ScenarioUnexpected || f.Severity != finding.Error {
				t.Errorf("%v", f)
			}
			got = append(got, string(f.Pointer)+" "+f.Message)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// If the whole capture is refused, the observation has no times and no parent.
func TestObserveRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trailing.json")
	events := "[" + strings.Join([]string{testkit.Started, testkit.Snapshot, testkit.Finished}, ",") + "]"
	for _, c := range []struct {
		after   string
		verdict project.Verdict
		times   project.TimeSource
	}{{"", project.Frozen, project.EventTime}, {" trailing", project.Refused, ""}} {
		if err := os.WriteFile(path, []byte(events+c.after), 0o644); err != nil {
			t.Fatal(err)
		}
		seen, err := Observe(t.Context(), path)
		if err != nil || seen.Freeze.EmittedSnapshot.Verdict != c.verdict || seen.TimeSource != c.times {
			t.Errorf("%q: %+v, %v", c.after, seen.Expectation, err)
		}
	}
}
