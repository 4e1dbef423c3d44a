package scenario

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

// The cause of each response without a complete run. An HTTP error does not fail a
// scenario that is not needed.
func TestCause(t *testing.T) {
	write := func(status int, media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	const events = "text/event-stream"
	tests := []struct {
		name     string
		handle   http.HandlerFunc
		want     Cause
		needed   project.Verdict
		unneeded project.Verdict
		fails    bool // only the needed one
	}{
		{"a run", write(200, events, failedRun), "", Captured, Captured, false},
		{"moved", write(307, events, ""), Redirected, Captured, Captured, true},
		{"401", write(401, "application/json", "{}"), Unauthorized, Captured, Captured, true},
		{"404", write(404, "text/html", "<p>"), NotFound, Captured, Captured, true},
		{"405", write(405, events, ""), NotFound, Captured, Captured, true},
		{"501", write(501, "text/html", "<p>"), NotFound, Captured, Captured, true},
		{"422", write(422, events, ""), Rejected, Captured, Captured, true},
		{"429", write(429, events, ""), TooMany, Captured, Captured, true},
		{"500", write(500, events, failedRun), ServerFailed, Captured, Captured, true},
		{"204", write(204, events, ""), OtherStatus, Captured, Captured, true},
		{"a coding", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "zstd")
			write(200, events, "x")(w, r)
		}, Unreadable, project.Failed, project.Failed, false},
		{"a page", write(200, "Text/HTML; charset=utf-8", "<p>"), WebPage, project.Failed, project.Failed, false},
		{"JSON", write(200, "application/json", "{}"), NotEventStream, project.Failed, project.Failed, false},
		{"no run", write(200, events, "data: {}\n\n"), NoRun, Captured, Captured, false},
		{"cut", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, failedRun)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, Truncated, project.Failed, project.Failed, false},
		{"gone", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, Truncated, project.Failed, project.Failed, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			url, _ := serve(t, test.handle)
			p := planned(t, url, "a", "b")
			p.Needed = []string{"a"}
			rows := slices.Collect(p.Run(t.Context()))
			if len(rows) != 2 || !rows[0].Needed || rows[1].Needed {
				t.Fatalf("%+v", rows)
			}
			for i, want := range []project.Verdict{test.needed, test.unneeded} {
				row := rows[i]
				if row.Verdict != want || row.Cause != test.want || finding.Failed(row.Findings) != (want == project.Failed || test.fails && i == 0) {
					t.Errorf("%s: %s, %q, %v", row.Scenario, row.Verdict, row.Cause, row.Findings)
				}
				if judged := row.GateRuns(); len(judged) != 1 || judged[0].Scenario != row.Scenario {
					t.Errorf("%s: judged by %+v", row.Scenario, judged)
				}
			}
		})
	}
}

// NoAnswer and TimeLimit distinguish a missing response from one that does not end.
func TestCauseOfLimits(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b" {
			io.WriteString(w, failedRun)
			_ = http.NewResponseController(w).Flush()
		}
		<-release
	})
	t.Cleanup(func() { close(release) })
	p := planned(t, url, "a")
	p.Request.Timeout = 100 * time.Millisecond
	if rows := slices.Collect(p.Run(t.Context())); len(rows) != 1 || rows[0].Cause != NoAnswer {
		t.Errorf("%+v", rows)
	}
	p = planned(t, url, "b")
	p.Request.Timeout = 3 * time.Second // the answer begins before
	if rows := slices.Collect(p.Run(t.Context())); len(rows) != 1 || rows[0].Cause != TimeLimit {
		t.Errorf("%+v", rows)
	}
	p = planned(t, url, "b")
	p.Request.MaxBytes = 10
	if rows := slices.Collect(p.Run(t.Context())); len(rows) != 1 || rows[0].Cause != SizeLimit {
		t.Errorf("%+v", rows)
	}
	p = planned(t, strings.Replace(url, "http:", "https:", 1), "a")
	if rows := slices.Collect(p.Run(t.Context())); len(rows) != 1 || rows[0].Cause != NoTLS {
		t.Errorf("%+v", rows)
	}
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	go func() {
		if c, err := raw.Accept(); err == nil {
			io.WriteString(c, "<!DOCTYPE html>")
			io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	p = planned(t, "https://"+raw.Addr().String(), "a")
	if rows := slices.Collect(p.Run(t.Context())); len(rows) != 1 || rows[0].Cause != NoTLS {
		t.Errorf("%+v", rows)
	}
	p = planned(t, "http://127.0.0.1:1", "a", "b")
	if rows := slices.Collect(p.Run(t.Context())); len(rows) != 1 || rows[0].Cause != Unreachable {
		t.Errorf("%+v", rows)
	}
}

// A response that cannot be written has no cause at the endpoint, and no further
// scenarios are run.
func TestCauseOfLocal(t *testing.T) {
	var p *Plan
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		testkit.Write(t, p.Dir, "in the way")
		io.WriteString(w, failedRun)
	})
	p = planned(t, url, "a", "b")
	rows := slices.Collect(p.Run(t.Context()))
	if len(rows) != 1 || !rows[0].LocalFailure() || rows[0].Cause != "" || rows[0].Verdict != project.Failed {
		t.Errorf("%+v", rows)
	}
}
