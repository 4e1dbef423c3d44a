package scan_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// witness records the calls of a consumer's methods.
type witness struct {
	seen   *[]string
	name   string
	skips  int   // the number of a run that it skips
	fails  error // the error that End of its observers returns
	refuse error // the error that Finish returns
}

func (w *witness) say(format string, args ...any) {
	*w.seen = append(*w.seen, w.name+": "+fmt.Sprintf(format, args...))
}

func (w *witness) Begin(run *envelope.Run) scan.Observer {
	w.say("begin %d %s", run.Number, run.RunID)
	if run.Number == w.skips {
		return nil
	}
	return &watching{w, run.Number}
}

func (w *witness) Finish(r scan.Result) error {
	w.say("finish %d runs, %d events, %d findings", r.Runs, r.Events, len(r.Findings))
	return w.refuse
}

type watching struct {
	of  *witness
	run int
}

func (o *watching) Event(e *envelope.Event) {
	o.of.say("event %d of run %d: %s", e.Index, o.run, e.Type)
}

func (o *watching) End(run *envelope.Run) error {
	o.of.say("end %d", run.Number)
	return o.of.fails
}

// frames is a witness that is also a FrameConsumer.
type frames struct{ witness }

func (w *frames) Frame(run *envelope.Run, f *capture.Frame, e *envelope.Event) {
	number, kind := 0, "no event"
	if run != nil {
		number = run.Number
	}
	if e != nil {
		kind = e.Type
	}
	w.say("frame %d of run %d: %s", f.Index, number, kind)
}

func opened(t *testing.T, path string) *capture.Capture {
	t.Helper()
	c, err := capture.Open(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Consumers process the runs in order, with a new observer for each run. A
// FrameConsumer also processes frames outside of runs and frames that are not events.
func TestRunOrder(t *testing.T) {
	path := testkit.WriteCapture(t, "two", `{"type":"CUSTOM"}`, "damaged", testkit.Started, "damaged", testkit.Finished, `{"type":"RAW"}`, strings.Replace(testkit.Started, `"r"`, `"s"`, 1), testkit.Finished)
	var seen []string
	every := &frames{witness{seen: &seen, name: "a"}}
	second := &witness{seen: &seen, name: "b", skips: 1}
	result, err := scan.Run(t.Context(), opened(t, path), nil, every, second)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(`
a: frame 0 of run 0: CUSTOM
a: frame 1 of run 0: no event
a: frame 2 of run 1: RUN_STARTED
a: begin 1 r
b: begin 1 r
a: event 2 of run 1: RUN_STARTED
a: frame 3 of run 1: no event
a: frame 4 of run 1: RUN_FINISHED
a: event 4 of run 1: RUN_FINISHED
a: frame 5 of run 1: RAW
a: event 5 of run 1: RAW
a: end 1
a: frame 6 of run 2: RUN_STARTED
a: begin 2 s
b: begin 2 s
a: event 6 of run 2: RUN_STARTED
b: event 6 of run 2: RUN_STARTED
a: frame 7 of run 2: RUN_FINISHED
a: event 7 of run 2: RUN_FINISHED
b: event 7 of run 2: RUN_FINISHED
a: end 2
b: end 2
a: finish 2 runs, 8 events, 1 findings
b: finish 2 runs, 8 events, 1 findings`), "\n")
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if result.Runs != 2 || result.Events != 8 || result.Digest == "" || result.Path != path || result.Manifest != nil {
		t.Errorf("%+v", result)
	}
}

// Finish is not called if reading fails.
func TestFinishOnlyWhenRead(t *testing.T) {
	altered := filepath.Join(t.TempDir(), "one-turn")
	testkit.CopyDir(t, altered, "../../discovery/captures/adk/one-turn")
	if err := os.WriteFile(filepath.Join(altered, "arrivals.tsv"), []byte("0\t0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	path := testkit.WriteCapture(t, "one", testkit.Started, testkit.Finished)
	why := errors.New("the observer's")
	cancelled, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		path string
		w    witness
		want error
	}{
		{"altered", t.Context(), altered, witness{}, nil},
		{"an observer fails", t.Context(), path, witness{fails: why}, why},
		{"interrupted", cancelled, path, witness{}, context.Canceled},
	} {
		capture := opened(t, c.path)
		cancel()
		var seen []string
		c.w.seen, c.w.name = &seen, "w"
		result, err := scan.Run(c.ctx, capture, nil, &c.w)
		if f, isVerdict := finding.FromError(err); err == nil || c.want != nil && !errors.Is(err, c.want) || c.want == nil && (!isVerdict || f.Code != finding.DigestMismatch) {
			t.Errorf("%s: %v", c.name, err)
		}
		if result.Digest != "" || strings.Contains(strings.Join(seen, "\n"), "finish") {
			t.Errorf("%s: %+v\n%s", c.name, result, strings.Join(seen, "\n"))
		}
	}
	var seen []string
	if result, err := scan.Run(t.Context(), opened(t, path), nil, &witness{seen: &seen, refuse: why}); !errors.Is(err, why) || result.Runs != 1 {
		t.Errorf("Finish fails: %v, %+v", err, result)
	}
}

// Projecting with several settings in one reading has the same results as projecting
// with each of them separately.
func TestProjectionsShare(t *testing.T) {
	t.Parallel()
	var all []project.Settings
	for _, s := range []project.Settings{
		{}, {Projection: project.EmittedSnapshotText}, {Projection: project.EmittedSnapshotText, Snapshot: project.First},
		{Projection: project.EmittedSnapshotText, Snapshot: project.Last}, {Projection: project.EmittedSnapshotText, Snapshot: "2"},
		{Projection: project.FoldedStream}, {Profile: artifact.Assay}, {Projection: project.FoldedStream, Profile: artifact.Assay},
	} {
		if err := s.Normalize(); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	paths, err := filepath.Glob("../../discovery/captures/*/*")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d captures, %v", len(paths), err)
	}
	frozen := 0
	for _, path := range paths {
		together := projected(t, path, all)
		for i, s := range all {
			alone := projected(t, path, []project.Settings{s})
			if len(alone)*len(all) != len(together) {
				t.Fatalf("%s: %d and %d", path, len(alone), len(together))
			}
			for run := range alone {
				shared := together[run*len(all)+i]
				if shared.Output != nil {
					frozen++
				}
				if diff := cmp.Diff(alone[run], shared, cmpopts.IgnoreUnexported(scan.Projection{})); diff != "" {
					t.Errorf("%s under %+v (-alone +shared)\n%s", path, s, diff)
				}
			}
		}
	}
	if frozen < 300 {
		t.Errorf("only %d were frozen", frozen)
	}
}

// projected projects every run with the settings.
func projected(t *testing.T, path string, settings []project.Settings) (all []scan.Projection) {
	t.Helper()
	c := opened(t, path)
	request, err := c.Request()
	if err != nil {
		t.Fatal(err)
	}
	p := &scan.Projector{
		Request:  request,
		Settings: func(*envelope.Run) []project.Settings { return settings },
		Handle: func(_ *envelope.Run, made iter.Seq[*scan.Projection]) error {
			for p := range made {
				all = append(all, *p)
			}
			return nil
		},
	}
	if _, err := scan.Run(t.Context(), c, nil, p); err != nil {
		t.Fatal(err)
	}
	return all
}

// If there is no run, an HTTP error is reported as the only reason. If there is a run,
// the HTTP error is only a warning.
func TestRunHTTPError(t *testing.T) {
	const run = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	for _, c := range []struct {
		status  int
		framing capture.Framing
		body    string
		want    []string
	}{
		{404, capture.JSON, `{"detail":"Not Found"}`, []string{"http_status error"}},
		{404, capture.JSON, ``, []string{"http_status error"}},
		{404, capture.JSON, `[]`, []string{"http_status error"}},
		{500, capture.SSE, "<html>", []string{"http_status error"}},
		{0, capture.SSE, "<html>", []string{"http_status error"}},
		{500, capture.JSON, "[" + run + "]", []string{"http_status warning"}},
		{500, capture.JSON, "[" + run + "] more", []string{"http_status warning", "array_malformed error"}},
		{200, capture.JSON, `{"detail":"Not Found"}`, []string{"no_run error", "array_malformed error"}},
		{200, capture.SSE, "<html>", []string{"no_run error"}},
	} {
		dir := filepath.Join(t.TempDir(), "c")
		w, err := capture.Create(dir, capture.Settings{
			Source: capture.Source{Kind: capture.KindHTTP, Status: &c.status}, Framing: c.framing, Tool: capture.Tool{Name: "test", Version: "1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(c.body)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(capture.EndEOF); err != nil {
			t.Fatal(err)
		}
		r, err := scan.Run(t.Context(), opened(t, dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Findings {
			got = append(got, string(f.Code)+" "+string(f.Severity))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d %s (-want +got):\n%s", c.status, c.body, diff)
		}
	}
}
