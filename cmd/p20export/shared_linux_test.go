package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/capture"
)

const sharedLine = "another proxy or serve is recording into the same directory of captures"

// Servers can record into one directory, and the second one says so. One that was killed is
// not seen by the next. The captures of all are kept.
func TestSharedCaptures(t *testing.T) {
	t.Parallel()
	a, dir := newAgent(t), t.TempDir()
	close(a.release)
	store := filepath.Join(dir, "captures")
	serving := func(name string) (*server, string) {
		return startServe(t, "sqlite:"+filepath.Join(dir, name), a.URL, "--captures", store)
	}
	stop := func(s *server, sig syscall.Signal, warned bool) {
		t.Helper()
		s.kill(t, sig)
		if _, log := s.wait(t); strings.Contains(log, sharedLine) != warned {
			t.Errorf("the log must have the warning: %v\n%s", warned, log)
		}
	}
	first, url := startProxy(t, a.URL, store)
	post(t, url)
	first.await(t, `"msg":"exchange stored"`)
	stop(first, syscall.SIGKILL, false)

	second, url2 := startProxy(t, a.URL, store)
	third, url3 := startProxy(t, a.URL, store)
	threads, _ := serving("a.db")
	for _, s := range []struct {
		*server
		url string
	}{{second, url2}, {third, url3}} {
		post(t, s.url)
		s.await(t, `"msg":"exchange stored"`)
	}
	stop(second, syscall.SIGTERM, false)
	stop(third, syscall.SIGKILL, true)
	stop(threads, syscall.SIGTERM, true)

	alone, _ := serving("b.db")
	stop(alone, syscall.SIGTERM, false)
	if got := ends(t, store); len(got) != 3 || got[0] != capture.EndEOF {
		t.Errorf("%v", got)
	}
	if status, said := ran("verify", store, "--captures-only"); status != 0 {
		t.Errorf("verify: exit status %d\n%s", status, said)
	}
}
