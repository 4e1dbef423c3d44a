package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/digest"
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
	s := &server{cmd: program(t, args...)}
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

// The first signal refuses new exchanges and waits for the open ones. If they all end, the
// exit status is 0.
func TestProxyDrains(t *testing.T) {
	t.Parallel()
	a, store := newAgent(t), filepath.Join(t.TempDir(), "store")
	s, url := startProxy(t, a.URL, store, "--drain", "1h")
	_, body := post(t, url)
	s.kill(t, syscall.SIGTERM)
	s.await(t, `"msg":"draining"`)
	if response, _ := post(t, url); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d while draining", response.StatusCode)
	}
	close(a.release)
	if got, err := io.ReadAll(body); err != nil || string(got) != wholeRun {
		t.Errorf("%v\n%s", err, got)
	}
	var stored struct { // docs/stability.md promises these keys
		Capture, Digest, End string
		Status, Bytes        int
	}
	if err := json.Unmarshal([]byte(s.await(t, `"msg":"exchange stored"`)), &stored); err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(store, stored.Capture, capture.ManifestName))
	if err != nil || stored.Digest != string(digest.Of(manifest)) || stored.End != "eof" || stored.Status != 200 || stored.Bytes != len(wholeRun) {
		t.Errorf("%v, %+v", err, stored)
	}
	if status, log := s.wait(t); status != 0 || !strings.Contains(log, `"msg":"stopped"`) {
		t.Errorf("exit status %d\n%s", status, log)
	}
	if got := ends(t, store); len(got) != 1 || got[0] != capture.EndEOF {
		t.Errorf("%v", got)
	}
}

// Exchanges that are still open after --drain, or at a second signal, are cut off, and
// that is the exit status of the signal.
func TestProxyCutsOff(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, drain string
		signals     []syscall.Signal
		want        int
	}{
		{"after drain", "0s", []syscall.Signal{syscall.SIGTERM}, 143},
		{"second signal", "1h", []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}, 143},
		{"interrupted twice", "1h", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 130},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			a, store := newAgent(t), filepath.Join(t.TempDir(), "store")
			s, url := startProxy(t, a.URL, store, "--drain", test.drain)
			_, body := post(t, url)
			cut := make(chan struct{})
			go func() {
				defer close(cut)
				if got, err := io.ReadAll(body); err == nil || string(got) != firstEvent {
					t.Errorf("the client got %q, %v", got, err)
				}
			}()
			s.kill(t, test.signals[0])
			s.await(t, `"msg":"draining"`)
			for _, sig := range test.signals[1:] {
				select {
				case <-cut:
					t.Errorf("cut off before %v", sig)
				case <-time.After(2 * signals.Together): // the second signal, and not a part of the first
					s.kill(t, sig)
				}
			}
			<-cut
			if status, log := s.wait(t); status != test.want || !strings.Contains(log, `"end":"cancelled"`) || !strings.Contains(log, `"cut_off":1`) {
				t.Errorf("exit status %d, want %d\n%s", status, test.want, log)
			}
			if got := ends(t, store); len(got) != 1 || got[0] != capture.EndCancelled {
				t.Errorf("%v", got)
			}
		})
	}
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

// The directory of --freeze is there before anything is frozen, for prune. No line of the log
// has a key twice.
func TestProxyCreatesFrozen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, frozen := filepath.Join(dir, "store"), filepath.Join(dir, "a", "frozen")
	s, _ := startProxy(t, "http://127.0.0.1:1", store, "--freeze", frozen)
	var out bytes.Buffer
	if status := run([]string{"prune", store, "--older-than", "30d", "--frozen-in", frozen}, &out, &out); status != 0 {
		t.Errorf("prune: exit status %d\n%s", status, out.String())
	}
	s.kill(t, syscall.SIGTERM)
	status, log := s.wait(t)
	if status != 0 || !strings.Contains(log, `"msg":"draining","limit":`) {
		t.Errorf("exit status %d\n%s", status, log)
	}
	for line := range strings.Lines(log) {
		if strings.Count(line, `"time":`) != 1 {
			t.Errorf("not one time: %s", line)
		}
	}
}

// A proxy that was not asked for anything stops at once.
func TestProxyStopsIdle(t *testing.T) {
	t.Parallel()
	s, _ := startProxy(t, "http://127.0.0.1:1", filepath.Join(t.TempDir(), "store"))
	s.kill(t, syscall.SIGINT)
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}
}

// Replay lets the pages of --allow-origin read its responses.
func TestReplayAllowOrigin(t *testing.T) {
	t.Parallel()
	s, url := startServer(t, "replay", "../../discovery/captures/adk/refused", "--allow-origin", "https://a.example:443", "--allow-origin", "http://b.example")
	for origin, want := range map[string]string{"https://a.example": "https://a.example", "http://b.example": "http://b.example", "http://c.example": ""} {
		request, err := http.NewRequest("POST", url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Origin", origin)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil { // the response ends before the server
			t.Error(err)
		}
		response.Body.Close()
		if got := response.Header.Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("%s: allowed %q, want %q", origin, got, want)
		}
	}
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}
}

// If nothing reads the log, and even if its pipe is closed, the traffic goes on and is
// stored.
func TestProxyWithoutLog(t *testing.T) {
	t.Parallel()
	a, store := newAgent(t), filepath.Join(t.TempDir(), "store")
	close(a.release)
	s := &server{cmd: program(t, "proxy", "--listen", "127.0.0.1:0", "--upstream", a.URL, "--captures", store)}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = w
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s.log = bufio.NewReader(r)
	var line struct{ Address string }
	if err := json.Unmarshal([]byte(s.await(t, `"msg":"listening"`)), &line); err != nil {
		t.Fatal(err)
	}
	r.Close()
	for range 3 {
		_, body := post(t, "http://"+line.Address)
		if got, err := io.ReadAll(body); err != nil || string(got) != wholeRun {
			t.Errorf("%v\n%s", err, got)
		}
	}
	s.kill(t, syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if got := ends(t, store); len(got) != 3 {
		t.Errorf("%v", got)
	}
}

// The traffic goes on when the store is gone, unless --on-store-failure says otherwise. The
// proxy is not ready until the store can be written.
func TestProxyStoreFails(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"pass", "fail"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			a, store := newAgent(t), filepath.Join(t.TempDir(), "store")
			close(a.release)
			s, url := startProxy(t, a.URL, store, "--on-store-failure", policy, "--metrics", "127.0.0.1:0")
			var line struct{ Metrics string }
			if err := json.Unmarshal([]byte(s.all.String()), &line); err != nil {
				t.Fatal(err)
			}
			ready := func() int {
				response, err := http.Get("http://" + line.Metrics + "/readyz")
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				return response.StatusCode
			}
			if got := ready(); got != 200 {
				t.Errorf("ready: %d", got)
			}
			if err := os.RemoveAll(store); err != nil {
				t.Fatal(err)
			}
			response, err := http.Post(url, "application/json", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			response.Body.Close()
			if policy == "pass" && (err != nil || string(got) != wholeRun) {
				t.Errorf("%v\n%s", err, got)
			}
			s.await(t, `"msg":"exchange not stored"`)
			if got := ready(); got != 503 {
				t.Errorf("ready without a store: %d", got)
			}
			s.kill(t, syscall.SIGTERM)
			if status, log := s.wait(t); status != 0 {
				t.Errorf("exit status %d\n%s", status, log)
			}
		})
	}
}

// With a certificate, the proxy serves TLS, with HTTP/1.1 and HTTP/2.
func TestProxyTLS(t *testing.T) {
	t.Parallel()
	a, dir := newAgent(t), t.TempDir()
	close(a.release)
	pair := httptest.NewUnstartedServer(nil)
	pair.StartTLS()
	defer pair.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	testkit.Write(t, certFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate().Raw})))
	testkit.Write(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	roots := x509.NewCertPool()
	roots.AddCert(pair.Certificate())
	store := filepath.Join(dir, "store")
	s, url := startProxy(t, a.URL, store, "--tls-cert", certFile, "--tls-key", keyFile)
	url = strings.Replace(url, "http:", "https:", 1)
	for _, h2 := range []bool{false, true} {
		client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: h2}}
		response, err := client.Post(url, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(got) != wholeRun || (response.ProtoMajor == 2) != h2 {
			t.Errorf("HTTP/%d: %v\n%s", response.ProtoMajor, err, got)
		}
		client.CloseIdleConnections()
	}
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}
	if got := ends(t, store); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// Captures that were not frozen when the proxy stopped are frozen at its next start.
func TestProxyFreezesEarlier(t *testing.T) {
	t.Parallel()
	a, dir := newAgent(t), t.TempDir()
	close(a.release)
	store, frozen := filepath.Join(dir, "store"), filepath.Join(dir, "frozen")
	s, url := startProxy(t, a.URL, store)
	_, body := post(t, url)
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Fatal(err)
	}
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 {
		t.Fatalf("exit status %d\n%s", status, log)
	}
	s, _ = startProxy(t, a.URL, store, "--freeze", frozen)
	s.await(t, `"msg":"run frozen"`)
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 {
		t.Fatalf("exit status %d\n%s", status, log)
	}
	var out bytes.Buffer
	if status := run([]string{"verify", frozen, "--capture", store}, &out, &out); status != 0 {
		t.Errorf("exit status %d\n%s", status, out.String())
	}
}

// The next start recovers and freezes what had arrived when the proxy was killed, and sets
// the rest aside.
func TestProxyRecovers(t *testing.T) {
	t.Parallel()
	a, dir := newAgent(t), t.TempDir()
	store, frozen := filepath.Join(dir, "store"), filepath.Join(dir, "frozen")
	s, url := startProxy(t, a.URL, store, "--label", "a=b")
	_, body := post(t, url)
	arrived := filepath.Join(store, "*", "response.sse")
	for !grew(arrived, int64(len(firstEvent))) { // written in the background
		time.Sleep(time.Millisecond)
	}
	s.kill(t, syscall.SIGKILL)
	if _, err := io.ReadAll(body); err == nil {
		t.Error("the response of a proxy that was killed has an end")
	}
	s.wait(t)

	s, _ = startProxy(t, a.URL, store, "--freeze", frozen)
	if log := s.all.String(); !strings.Contains(log, `"verdict":"recovered"`) || !strings.Contains(log, `-recovered","digest":"sha256:`) {
		t.Errorf("the log is\n%s", log)
	}
	s.await(t, `"msg":"not frozen".*"code":"run_not_terminated"`)
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}
	if got := ends(t, store); len(got) != 1 || got[0] != capture.EndError {
		t.Errorf("%v", got)
	}
	if left, err := filepath.Glob(filepath.Join(store, "*", "*"+capture.RemainderSuffix)); err != nil || len(left) < 3 {
		t.Errorf("%v, %v", left, err)
	}

	s, _ = startProxy(t, a.URL, store)
	if log := s.all.String(); strings.Contains(log, "unfinished") {
		t.Errorf("the third start has something to do\n%s", log)
	}
}

// Neither the log nor the metrics contain anything of the traffic.
func TestProxySaysNothing(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/garbage"):
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(conn, secret+" is not HTTP\r\n\r\n")
			conn.Close()
			return
		case strings.HasSuffix(r.URL.Path, "/failed"):
			w.Header().Set("Content-Type", "text/html; x="+secret)
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
		}
		w.Header().Set("X-Secret", secret)
		_, _ = io.WriteString(w, "data: {\"type\":\""+secret+"\"}\n\n")
	}))
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	s, url := startProxy(t, upstream.URL, filepath.Join(dir, "store"), "--freeze", filepath.Join(dir, "frozen"), "--metrics", "127.0.0.1:0")
	var line struct{ Metrics string }
	if err := json.Unmarshal([]byte(s.all.String()), &line); err != nil {
		t.Fatal(err)
	}
	send := func(method, path, host string) {
		r, err := http.NewRequest(method, url+"/"+secret+path+"?token="+secret, strings.NewReader(`{"threadId":"`+secret+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Authorization", secret)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	for _, path := range []string{"/run", "/garbage", "/failed"} {
		send("POST", path, "")
	}
	send("GET", "/run", "")
	send("POST", "/run", secret+".example")
	send("POST", "/../"+secret, "")
	foreign, err := http.NewRequest(http.MethodGet, "http://"+line.Metrics+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host = "evil.example"
	refused, err := http.DefaultClient.Do(foreign)
	if err != nil {
		t.Fatal(err)
	}
	refused.Body.Close()
	if refused.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("metrics for another host: status %d", refused.StatusCode)
	}
	response, err := http.Get("http://" + line.Metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || bytes.Contains(metrics, []byte(secret)) || !bytes.Contains(metrics, []byte("p20export_exchanges_total{")) {
		t.Errorf("the metrics are %v\n%s", err, metrics)
	}
	s.kill(t, syscall.SIGTERM)
	if status, log := s.wait(t); status != 0 || strings.Contains(log, secret) || strings.Count(log, `"msg":"exchange stored"`) < 2 || !strings.Contains(log, "not frozen") {
		t.Errorf("exit status %d\n%s", status, log)
	}
}
