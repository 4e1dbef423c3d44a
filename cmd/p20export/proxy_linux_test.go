package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
)

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
	for _, test := range cutOffs() {
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
			if log := test.send(t, s, cut); !strings.Contains(log, `"end":"cancelled"`) {
				t.Error(log)
			}
			if got := ends(t, store); len(got) != 1 || got[0] != capture.EndCancelled {
				t.Errorf("%v", got)
			}
		})
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
			wantReady(t, s, http.StatusOK)
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
			wantReady(t, s, http.StatusServiceUnavailable)
			s.stop(t)
		})
	}
}

// With a certificate, the proxy serves TLS, with HTTP/1.1 and HTTP/2.
func TestProxyTLS(t *testing.T) {
	t.Parallel()
	a, store := newAgent(t), filepath.Join(t.TempDir(), "store")
	close(a.release)
	flags, newClient := certificate(t)
	s, url := startProxy(t, a.URL, store, flags...)
	url = strings.Replace(url, "http:", "https:", 1)
	for _, h2 := range []bool{false, true} {
		client := newClient(h2)
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
	s.stop(t)
	if got := ends(t, store); len(got) != 2 {
		t.Errorf("%v", got)
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
	foreign, err := http.NewRequest(http.MethodGet, metricsURL(s)+"/metrics", nil)
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
	if metrics := metricsOf(t, s); strings.Contains(metrics, secret) || !strings.Contains(metrics, "p20export_exchanges_total{") {
		t.Errorf("the metrics are\n%s", metrics)
	}
	if log := s.stop(t); strings.Contains(log, secret) || strings.Count(log, `"msg":"exchange stored"`) < 2 || !strings.Contains(log, "not frozen") {
		t.Error(log)
	}
}
