package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
)

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
	s.stop(t)
	s, _ = startProxy(t, a.URL, store, "--freeze", frozen)
	s.await(t, `"msg":"run frozen"`)
	s.stop(t)
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
	s.stop(t)
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
