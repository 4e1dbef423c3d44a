package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// startServe starts p20export serve with the agent chat and returns its URL.
func startServe(t *testing.T, log, upstream string, args ...string) (*server, string) {
	t.Helper()
	return startServer(t, append([]string{"serve", "--store", log, "--upstream", "chat=" + upstream}, args...)...)
}

// frames reads the frames of a response of serve.
type frames struct {
	*bufio.Reader
	response *http.Response
}

// sendRun sends the request of a run and returns the response.
func sendRun(url, run string) (*http.Response, error) {
	return http.Post(url+"/agents/chat", "application/json", strings.NewReader(`{"threadId":"t","runId":"`+run+`"}`))
}

// startRun is like sendRun, but returns the frames of the response.
func startRun(t *testing.T, url, run string) frames {
	t.Helper()
	response, err := sendRun(url, run)
	if err != nil {
		t.Fatal(err)
	}
	return newFrames(t, response)
}

// readThread reads the events of the thread after a position.
func readThread(t *testing.T, url, after string) frames {
	t.Helper()
	response, err := http.Get(url + "/threads/t/events?after=" + after)
	if err != nil {
		t.Fatal(err)
	}
	return newFrames(t, response)
}

func newFrames(t *testing.T, response *http.Response) frames {
	t.Cleanup(func() { response.Body.Close() })
	return frames{bufio.NewReader(response.Body), response}
}

// next returns the next frame as "ID DATA", or "" at the end.
func (f frames) next(t *testing.T) string {
	t.Helper()
	var id, data string
	for {
		line, err := f.ReadString('\n')
		switch line = strings.TrimSuffix(line, "\n"); {
		case err != nil:
			return ""
		case line == "" && data != "":
			return id + " " + data
		case strings.HasPrefix(line, "id: "):
			id = line[len("id: "):]
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		}
	}
}

// want reads frames and compares them.
func (f frames) want(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := f.next(t); got != w {
			t.Fatalf("got the frame %q, want %q", got, w)
		}
	}
}

// wantLater reads frames after the position 2 and compares them. It joins again as long as the
// server ends the response, which it does when its log fails.
func (f frames) wantLater(t *testing.T, url string, want ...string) {
	t.Helper()
	after := "2"
	for len(want) > 0 {
		got := f.next(t)
		if got == "" {
			f = readThread(t, url, after)
			continue
		}
		if got != want[0] {
			t.Fatalf("got the frame %q, want %q", got, want[0])
		}
		after, _, _ = strings.Cut(got, " ")
		want = want[1:]
	}
	f.response.Body.Close()
}

// monitoring gets a path of the address of --metrics.
func monitoring(t *testing.T, s *server, path string) (status int, text string) {
	t.Helper()
	found := regexp.MustCompile(`"metrics":"([^"]+)"`).FindStringSubmatch(s.all.String())
	response, err := http.Get("http://" + found[1] + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// metricsOf returns the metrics of a server.
func metricsOf(t *testing.T, s *server) string {
	t.Helper()
	_, text := monitoring(t, s, "/metrics")
	return text
}

// wantReady compares the status of /readyz.
func wantReady(t *testing.T, s *server, want int) {
	t.Helper()
	if status, text := monitoring(t, s, "/readyz"); status != want {
		t.Errorf("/readyz has the status %d, want %d: %s", status, want, text)
	}
}

// closings returns the closing entries and the ends of the thread.
func closings(t *testing.T, file string) (list []string) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for e, err := range log.Read(t.Context(), store.Key{Thread: "t"}, 0) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Kind == store.Closing:
			_, code, _ := strings.Cut(string(e.Data), `"code":"`)
			code, _, _ = strings.Cut(code, `"`)
			list = append(list, code)
		case e.Kind == store.End:
			list = append(list, string(e.Data))
		}
	}
	return list
}

// wantClosings compares the closing entries and the ends of the thread.
func wantClosings(t *testing.T, file string, want ...string) {
	t.Helper()
	if got := closings(t, file); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the thread has %q, want %q", got, want)
	}
}

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
	for _, test := range []struct {
		name, drain string
		signals     []syscall.Signal
		want        int
	}{
		{"after drain", "0s", []syscall.Signal{syscall.SIGTERM}, 143},
		{"second signal", "1h", []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, 130},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, file := newAgent(t), filepath.Join(t.TempDir(), "events.db")
			s, url := startServe(t, "sqlite:"+file, a.URL, "--drain", test.drain)
			client := startRun(t, url, "r")
			client.want(t, "2 "+testkit.Started)
			s.kill(t, test.signals[0])
			s.await(t, `"msg":"draining"`)
			for _, sig := range test.signals[1:] {
				time.Sleep(2 * signals.Together) // the second signal, and not a part of the first
				s.kill(t, sig)
			}
			if last := client.next(t); !strings.HasPrefix(last, `3 {"type":"RUN_ERROR"`) || !strings.Contains(last, `"code":"p20export.shutdown"`) {
				t.Errorf("the client got %q", last)
			}
			if status, log := s.wait(t); status != test.want || !strings.Contains(log, `"cut_off":1`) {
				t.Errorf("exit status %d, want %d\n%s", status, test.want, log)
			}
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
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}
	wantClosings(t, file, "p20export.owner_lost", "error", "eof")
	status, said := ran("log", "import", "--store", "sqlite:"+file, captures)
	if status != 0 || strings.Contains(said, "entries appended") {
		t.Errorf("importing the captures: exit status %d: %s", status, said)
	}
}

// A capture can have events that were not in the log when the server was killed. The run is
// closed without them, and the capture cannot be imported.
func TestServeCaptureAhead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, file, captures := newAgent(t), filepath.Join(dir, "events.db"), filepath.Join(dir, "captures")
	s, url := startServe(t, "sqlite:"+file, a.URL, "--captures", captures)
	startRun(t, url, "r").want(t, "2 "+testkit.Started)
	away := filepath.Join(dir, "away.db")
	if err := os.Rename(file, away); err != nil { // nothing is appended from now on
		t.Fatal(err)
	}
	close(a.release)
	for !grew(filepath.Join(captures, "*", "response.sse"), int64(len(wholeRun))) {
		time.Sleep(time.Millisecond)
	}
	s.kill(t, syscall.SIGKILL)
	s.wait(t)
	if err := os.Rename(away, file); err != nil {
		t.Fatal(err)
	}
	s, _ = startServe(t, "sqlite:"+file, a.URL, "--captures", captures)
	s.kill(t, syscall.SIGTERM)
	s.wait(t)
	if status, said := ran("log", "import", "--store", "sqlite:"+file, captures); status != 1 || !strings.Contains(said, "log_entry_differs") {
		t.Errorf("importing the capture: exit status %d: %s", status, said)
	}
	wantClosings(t, file, "p20export.owner_lost", "error")
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
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}
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
			s.kill(t, syscall.SIGTERM)
			if status, log := s.wait(t); status != 0 {
				t.Errorf("exit status %d\n%s", status, log)
			}
		})
	}
}

// Over TLS, clients use HTTP/2. Events arrive one by one there too, and a client that leaves
// does not end its run.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, file := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "events.db")
	writeCertificate(t, cert, key)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(testkit.Read(t, cert))
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	a := newAgent(t)
	s, url := startServe(t, "sqlite:"+file, a.URL, "--tls-cert", cert, "--tls-key", key)
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
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}
	wantClosings(t, file, "eof")
}

// limitFiles sets the size that the files of a process may have, as a full disk would.
func limitFiles(t *testing.T, s *server, size uint64) {
	t.Helper()
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
}

// While the log cannot be written, nothing is shown that is not in the log. When there is
// space again, the run goes on.
func TestServeFullDisk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	a := newAgent(t)
	s, url := startServe(t, "sqlite:"+file, a.URL, "--metrics", "127.0.0.1:0")
	client := startRun(t, url, "r")
	client.want(t, "2 "+testkit.Started)
	limitFiles(t, s, 1)
	close(a.release)
	s.await(t, `"msg":"events cannot be appended to the log`)
	wantReady(t, s, http.StatusServiceUnavailable)
	reader := readThread(t, url, "0")
	reader.want(t, "2 "+testkit.Started) // and nothing else yet
	limitFiles(t, s, unix.RLIM_INFINITY)
	for _, f := range []frames{client, reader} {
		f.wantLater(t, url, "3 "+testkit.Snapshot, "4 "+testkit.Finished)
	}
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}
	wantClosings(t, file, "eof")
}

// A file that was removed or replaced is not written to, and the server is not ready.
func TestServeRemovedLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, away := filepath.Join(dir, "events.db"), filepath.Join(dir, "away.db")
	a := newAgent(t)
	s, url := startServe(t, "sqlite:"+file, a.URL, "--metrics", "127.0.0.1:0")
	client := startRun(t, url, "r")
	client.want(t, "2 "+testkit.Started)
	wantReady(t, s, http.StatusOK)
	if err := os.Rename(file, away); err != nil {
		t.Fatal(err)
	}
	close(a.release)
	s.await(t, `is not the file that was opened`)
	wantReady(t, s, http.StatusServiceUnavailable)
	if err := os.Rename(away, file); err != nil {
		t.Fatal(err)
	}
	client.wantLater(t, url, "3 "+testkit.Snapshot, "4 "+testkit.Finished)
	wantReady(t, s, http.StatusOK)
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}
}

// A log that cannot be written is noticed when the server starts. One that exists can be
// served to readers.
func TestServeReadOnly(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "events.db")
	serve := program(t, "serve", "--store", "sqlite:"+file, "--upstream", "chat=http://127.0.0.1:1", "--listen", "127.0.0.1:0")
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -f 0; exec "$@"`, "sh"}, append([]string{serve.Path}, serve.Args[1:]...)...)...)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(said), "p20export: cannot use the log") {
		t.Errorf("%v: %s", err, said)
	}
}
