package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/internal/testkit"
)

// agent is an upstream. It answers with one event, and with the rest when it is released.
type agent struct {
	*httptest.Server
	release chan struct{}
}

const firstEvent = "data: " + testkit.Started + "\n\n"

// wholeRun is the whole response of an agent.
var wholeRun = firstEvent + "data: " + testkit.Snapshot + "\n\ndata: " + testkit.Finished + "\n\n"

func newAgent(t *testing.T) *agent {
	a := &agent{release: make(chan struct{})}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, firstEvent)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-a.release:
			_, _ = io.WriteString(w, wholeRun[len(firstEvent):])
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// startProxy starts p20export proxy for an upstream, and returns its URL.
func startProxy(t *testing.T, upstream, store string, args ...string) (*server, string) {
	t.Helper()
	return startServer(t, append([]string{"proxy", "--upstream", upstream, "--captures", store}, args...)...)
}

// startServer starts a command that serves, and returns its URL. Without --listen, it gets a
// free port.
func startServer(t *testing.T, args ...string) (*server, string) {
	t.Helper()
	if !slices.Contains(args, "--listen") {
		args = append(args, "--listen", "127.0.0.1:0")
	}
	return startCommand(t, program(t, args...))
}

// startCommand starts a server, and returns its URL.
func startCommand(t *testing.T, cmd *exec.Cmd) (*server, string) {
	t.Helper()
	s := &server{cmd: cmd}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	s.log = bufio.NewReader(stderr)
	var line struct{ Address string }
	if err := json.Unmarshal([]byte(s.await(t, `"msg":"listening"`)), &line); err != nil {
		t.Fatal(err)
	}
	return s, "http://" + line.Address
}

// kill sends a signal.
func (s *server) kill(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// wait returns the exit status and the log.
func (s *server) wait(t *testing.T) (int, string) {
	t.Helper()
	if _, err := io.Copy(&s.all, s.log); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode(), s.all.String()
}

// stop sends SIGTERM and returns the log. The exit status has to be 0.
func (s *server) stop(t *testing.T) string {
	t.Helper()
	s.kill(t, syscall.SIGTERM)
	status, log := s.wait(t)
	if status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}
	return log
}

// post posts a request and returns the response after its first event.
func post(t *testing.T, url string) (*http.Response, *bufio.Reader) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(`{"threadId":"t","runId":"r"}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	body := bufio.NewReader(response.Body)
	if response.StatusCode == http.StatusOK {
		if first, err := body.Peek(len(firstEvent)); err != nil || string(first) != firstEvent {
			t.Fatalf("%s, %v", first, err)
		}
	}
	return response, body
}

// ends returns how the captures in a store ended.
func ends(t *testing.T, store string) (list []capture.End) {
	t.Helper()
	all, err := capture.Find(t.Context(), []string{store})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range all {
		c, err := capture.Open(t.Context(), found.Path, "")
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c.Manifest().End)
		c.Close()
	}
	return list
}

// A signal that is sent twice at once, as GNU timeout does, counts once.
func TestServersTakeSignalsTogether(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	s, url := startProxy(t, a.URL, filepath.Join(t.TempDir(), "store"), "--drain", "1h")
	_, body := post(t, url)
	for range 2 {
		s.kill(t, syscall.SIGTERM)
	}
	s.await(t, `"msg":"draining"`)
	close(a.release)
	if got, err := io.ReadAll(body); err != nil || string(got) != wholeRun {
		t.Errorf("%v\n%s", err, got)
	}
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}

	s, _ = startServer(t, "replay", "../../discovery/captures/adk/one-turn")
	for range 2 {
		s.kill(t, syscall.SIGTERM)
	}
	if status, log := s.wait(t); status != 0 {
		t.Errorf("replay: exit status %d\n%s", status, log)
	}
}

// A cutOff is a way to end a server that has an open exchange or run.
type cutOff struct {
	name, drain string
	signals     []syscall.Signal
	status      int // the exit status, which is that of the first signal
}

// cutOffs returns the ways after which what is open is cut off: after --drain, or at a second
// signal.
func cutOffs() []cutOff {
	return []cutOff{
		{"after drain", "0s", []syscall.Signal{syscall.SIGTERM}, 143},
		{"second signal", "1h", []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 143},
		{"interrupted", "1h", []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, 130},
		{"interrupted twice", "1h", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 130},
	}
}

// send sends the signals to a server that was started with --drain, and returns its log. The
// channel is closed when the client of the server is cut off, which must not be before the
// last signal.
func (c cutOff) send(t *testing.T, s *server, cut <-chan struct{}) string {
	t.Helper()
	s.kill(t, c.signals[0])
	s.await(t, `"msg":"draining"`)
	for _, sig := range c.signals[1:] {
		select {
		case <-cut:
			t.Errorf("cut off before %v", sig)
		case <-time.After(2 * signals.Together): // the second signal, and not a part of the first
			s.kill(t, sig)
		}
	}
	<-cut
	status, log := s.wait(t)
	if status != c.status || !strings.Contains(log, `"cut_off":1`) {
		t.Errorf("exit status %d, want %d\n%s", status, c.status, log)
	}
	return log
}

// certificate writes a certificate and its key to files. It returns the flags that name them,
// and what makes a client that trusts the certificate, for HTTP/1.1 or HTTP/2.
func certificate(t *testing.T) (flags []string, client func(h2 bool) *http.Client) {
	t.Helper()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(testkit.Read(t, cert))
	return []string{"--tls-cert", cert, "--tls-key", key}, func(h2 bool) *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: h2}}
	}
}
