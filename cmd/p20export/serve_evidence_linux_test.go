package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/p20export/p20export/internal/testkit"
)

// download returns a file that serve sends about the run that begins at position 2 of a thread,
// when its capture is finished.
func download(t *testing.T, url, what string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		response, err := http.Get(url + "/threads/t/" + what + "?run=2")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		switch {
		case err != nil:
			t.Fatal(err)
		case response.StatusCode == http.StatusOK:
			return string(text)
		case response.StatusCode != http.StatusNotFound || time.Now().After(deadline):
			t.Fatalf("%s: status %d: %s", what, response.StatusCode, text)
		}
	}
}

// The capture and the page that serve sends are those of the directory of captures: freeze makes
// an artifact of the archive, and report the same page. The capture of a run whose server was
// killed is the recovered one.
func TestServeEvidence(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		dir := t.TempDir()
		a, file, captures := newAgent(t), filepath.Join(dir, "events.db"), filepath.Join(dir, "captures")
		s, url := startServe(t, "sqlite:"+file, a.URL, "--captures", captures)
		client := startRun(t, url, "r")
		client.want(t, "2 "+testkit.Started)
		if killed {
			for !grew(filepath.Join(captures, "*", "response.sse"), int64(len(firstEvent))) { // events do not wait for the capture
				time.Sleep(time.Millisecond)
			}
			s.kill(t, syscall.SIGKILL)
			s.wait(t)
			s, url = startServe(t, "sqlite:"+file, a.URL, "--captures", captures)
		} else {
			close(a.release)
			client.want(t, "3 "+testkit.Snapshot, "4 "+testkit.Finished, "")
		}
		archive := filepath.Join(dir, "capture.tar")
		testkit.Write(t, archive, download(t, url, "capture"))
		page := download(t, url, "report")
		s.stop(t)
		status, said := ran("freeze", "--from-tar", archive, "-o", filepath.Join(dir, "out"))
		if want := map[bool]int{false: 0, true: 1}[killed]; status != want { // a run without an end is refused
			t.Errorf("freeze: exit status %d, want %d: %s", status, want, said)
		}
		names, err := filepath.Glob(filepath.Join(captures, "*", "capture.json"))
		if err != nil || len(names) != 1 || strings.HasSuffix(filepath.Dir(names[0]), "-recovered") != killed {
			t.Fatal(names, err)
		}
		html := filepath.Join(dir, "page.html")
		if status, said := ran("report", filepath.Dir(names[0]), "-o", html); status != 0 {
			t.Fatalf("report: exit status %d: %s", status, said)
		}
		if text, err := os.ReadFile(html); err != nil || string(text) != page {
			t.Errorf("killed %t: the page of report differs: %v", killed, err)
		}
	}
}
