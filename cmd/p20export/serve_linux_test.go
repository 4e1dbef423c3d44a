package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
)

// The first signal refuses new runs and waits for the active ones, also if their clients have
// left. Readers can follow them until the end.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, file, captures := newAgent(t), filepath.Join(dir, "events.db"), filepath.Join(dir, "captures")
	s, url := startServe(t, "sqlite:"+file, a.URL, "--drain", "1h", "--captures", captures)
	client := startRun(t, url, "r")
	client.want(t, "2 "+testkit.Started)
	client.response.Body.Close() // the run goes on
	reader := readThread(t, url, "0")
	reader.want(t, "2 "+testkit.Started)
	s.kill(t, syscall.SIGTERM)
	s.await(t, `"msg":"draining"`)
	if refused := startRun(t, url, "r2"); refused.response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d while draining", refused.response.StatusCode)
	}
	close(a.release)
	reader.want(t, "3 "+testkit.Snapshot, "4 "+testkit.Finished, "")
	if status, log := s.wait(t); status != 0 || !strings.Contains(log, `"msg":"stopped"`) {
		t.Errorf("exit status %d\n%s", status, log)
	}
	wantClosings(t, file, "eof")
	if got := ends(t, captures); len(got) != 1 || got[0] != capture.EndEOF {
		t.Errorf("%v", got)
	}
}

// Runs that are still active after --drain, or at a second signal, are closed in the log, and
// that is the exit status of the signal.
func TestServeCutsOff(t *testing.T) {
	t.Parallel()
	for _, test := range cutOffs() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, file := newAgent(t), filepath.Join(t.TempDir(), "events.db")
			s, url := startServe(t, "sqlite:"+file, a.URL, "--drain", test.drain)
			client := startRun(t, url, "r")
			client.want(t, "2 "+testkit.Started)
			cut := make(chan struct{})
			go func() {
				defer close(cut)
				if last := client.next(t); !strings.HasPrefix(last, `3 {"type":"RUN_ERROR"`) || !strings.Contains(last, `"code":"p20export.shutdown"`) {
					t.Errorf("the client got %q", last)
				}
			}()
			test.send(t, s, cut)
			wantClosings(t, file, "p20export.shutdown", "cancelled")
		})
	}
}

// What a reader has seen of a run is there after a kill. The next server closes the run, and
// recovers its capture. Meanwhile no other server can use the file.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, file, captures := newAgent(t), filepath.Join(dir, "events.db"), filepath.Join(dir, "captures")
	s, url := startServe(t, "sqlite:"+file, a.URL, "--captures", captures)
	startRun(t, url, "r").want(t, "2 "+testkit.Started)
	for !grew(filepath.Join(captures, "*", "response.sse"), int64(len(firstEvent))) { // events do not wait for the capture
		time.Sleep(time.Millisecond)
	}
	if status, said := ran("serve", "--store", "sqlite:"+file, "--upstream", "chat="+a.URL, "--listen", "127.0.0.1:0"); status != 3 || !strings.Contains(said, "next: stop the other server") {
		t.Errorf("a second server: exit status %d: %s", status, said)
	}
	s.kill(t, syscall.SIGKILL)
	s.wait(t)

	s, url = startServe(t, "sqlite:"+file, a.URL, "--captures", captures)
	reader := readThread(t, url, "0")
	reader.want(t, "2 "+testkit.Started)
	if closed := reader.next(t); !strings.HasPrefix(closed, `3 {"type":"RUN_ERROR"`) || !strings.Contains(closed, `"code":"p20export.owner_lost"`) {
		t.Errorf("the run was closed with %q", closed)
	}
	close(a.release)
	startRun(t, url, "r2").want(t, "6 "+testkit.Started) // after the end of the first run and the request
	reader.want(t, "6 "+testkit.Started, "7 "+testkit.Snapshot, "8 "+testkit.Finished)
	reader.response.Body.Close()
	s.stop(t)
	wantClosings(t, file, "p20export.owner_lost", "error", "eof")
	status, said := ran("log", "import", "--store", "sqlite:"+file, captures)
	if status != 0 || strings.Contains(said, "entries appended") {
		t.Errorf("importing the captures: exit status %d: %s", status, said)
	}
}

// An agent that cannot be reached starts no run. The same request can be sent again.
func TestServeWithoutAgent(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	a := newAgent(t)
	close(a.release)
	var up atomic.Bool
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			panic(http.ErrAbortHandler)
		}
		a.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(upstream.Close)
	s, url := startServe(t, "sqlite:"+file, upstream.URL)
	for range 2 {
		if refused := startRun(t, url, "r"); refused.response.StatusCode != http.StatusBadGateway {
			t.Errorf("status %d without an agent", refused.response.StatusCode)
		}
	}
	up.Store(true)
	startRun(t, url, "r").want(t, "6 "+testkit.Started, "7 "+testkit.Snapshot, "8 "+testkit.Finished, "")
	s.stop(t)
}

// A run waits for the active one of its thread, or is refused, as --thread-policy says.
func TestServeThreadPolicy(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{policyRefuse, policyQueue} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			a, file := newAgent(t), filepath.Join(t.TempDir(), "events.db")
			s, url := startServe(t, "sqlite:"+file, a.URL, "--thread-policy", policy, "--metrics", "127.0.0.1:0")
			startRun(t, url, "r").want(t, "2 "+testkit.Started)
			if policy == policyRefuse {
				if f := startRun(t, url, "r2"); f.response.StatusCode != http.StatusConflict {
					t.Errorf("status %d", f.response.StatusCode)
				}
				close(a.release)
			} else {
				second := make(chan *http.Response)
				go func() {
					response, err := sendRun(url, "r2")
					if err != nil {
						t.Error(err)
					}
					second <- response
				}()
				for !strings.Contains(metricsOf(t, s), "p20export_serve_runs_queued 1\n") {
					time.Sleep(time.Millisecond)
				}
				close(a.release)
				newFrames(t, <-second).want(t, "7 "+testkit.Started, "8 "+testkit.Snapshot, "9 "+testkit.Finished, "")
			}
			s.stop(t)
		})
	}
}

// Neither the log nor the metrics have content of requests and responses, or header values.
func TestServeLogsNoContent(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Secret", secret)
		if strings.Contains(string(body), "refuse") {
			http.Error(w, secret, http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, firstEvent+testkit.SSE(`{"type":"CUSTOM","name":"`+secret+`","value":1}`)+"data: "+secret+"\n\n")
	}))
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	s, url := startServe(t, "sqlite:"+filepath.Join(dir, "events.db"), upstream.URL, "--captures", filepath.Join(dir, "captures"), "--metrics", "127.0.0.1:0")
	for _, body := range []string{
		`{"threadId":"t","runId":"r1","state":"` + secret + `"}`,
		`{"threadId":"t","runId":"r2","state":"refuse ` + secret + `"}`,
		`{"threadId":"t","runId":"r1","state":"another ` + secret + `"}`,
		secret, `{"threadId":"` + secret,
	} {
		request, err := http.NewRequest("POST", url+"/agents/chat", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		for _, name := range []string{"Authorization", "Cookie", "P20export-Tenant"} {
			request.Header.Set(name, secret)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	metrics := metricsOf(t, s)
	s.kill(t, syscall.SIGTERM)
	status, log := s.wait(t)
	if status != 0 || strings.Contains(log, secret) || !strings.Contains(log, `"outcome":"upstream_ended"`) {
		t.Errorf("exit status %d\n%s", status, log)
	}
	if strings.Contains(metrics, secret) || !strings.Contains(metrics, `p20export_serve_refused_total{code="run_differs"} 1`) {
		t.Error(metrics)
	}
}

// Over TLS, clients use HTTP/2. Events arrive one by one there too, and a client that leaves
// does not end its run.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	flags, newClient := certificate(t)
	client := newClient(true)
	a := newAgent(t)
	s, url := startServe(t, "sqlite:"+file, a.URL, flags...)
	url = strings.Replace(url, "http:", "https:", 1)
	response, err := client.Post(url+"/agents/chat", "application/json", strings.NewReader(`{"threadId":"t","runId":"r"}`))
	if err != nil {
		t.Fatal(err)
	}
	if response.ProtoMajor != 2 {
		t.Errorf("the response has the protocol %s", response.Proto)
	}
	newFrames(t, response).want(t, "2 "+testkit.Started)
	response.Body.Close()
	if response, err = client.Get(url + "/threads/t/events?after=2"); err != nil {
		t.Fatal(err)
	}
	close(a.release)
	newFrames(t, response).want(t, "3 "+testkit.Snapshot, "4 "+testkit.Finished)
	response.Body.Close()
	s.stop(t)
	wantClosings(t, file, "eof")
}
