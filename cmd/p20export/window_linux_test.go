package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// logOf returns the URL of a log with captures of the project.
func logOf(t *testing.T, captures ...string) string {
	t.Helper()
	url := "sqlite:" + filepath.Join(t.TempDir(), "events.db")
	args := []string{"log", "import", "--store", url}
	for _, name := range captures {
		args = append(args, filepath.Join("../../discovery/captures", name))
	}
	if out, err := program(t, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return url
}

// look gets a page, and returns its status and its text.
func look(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// log view serves the window for a log that it only reads, and opens it in the browser.
func TestLogView(t *testing.T) {
	t.Parallel()
	log := logOf(t, "adk/one-turn")
	bin, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >\"$OPENED\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(opened, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "log", "view", "thread-one-turn", "--store", log, "--open")
	cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"), "OPENED="+opened)
	s, url := startCommand(t, cmd)
	text, err := os.ReadFile(opened)
	if err != nil {
		t.Fatal(err)
	}
	if want := url + "/?thread=thread-one-turn\n"; string(text) != want {
		t.Errorf("the browser was opened at %q, want %q", text, want)
	}
	if status, page := look(t, url+"/"); status != http.StatusOK || !strings.Contains(page, `src="window/app.js"`) {
		t.Errorf("/: status %d\n%s", status, page)
	}
	if status, threads := look(t, url+"/threads"); status != http.StatusOK || !strings.Contains(threads, `"thread-one-turn"`) {
		t.Errorf("/threads: status %d\n%s", status, threads)
	}
	response, err := http.Post(url+"/agents/chat", "application/json", strings.NewReader(`{"threadId":"t","runId":"r"}`))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("a run: status %d", response.StatusCode)
	}
	s.kill(t, syscall.SIGINT)
	if status, log := s.wait(t); status != 0 {
		t.Errorf("exit status %d\n%s", status, log)
	}

	cmd = program(t, "log", "view", "--store", log, "--open")
	cmd.Env = append(cmd.Env, "PATH="+t.TempDir())
	s, _ = startCommand(t, cmd)
	if said := s.await(t, `"level":"WARN"`); !strings.Contains(said, "open the address yourself") {
		t.Errorf("without a browser: %s", said)
	}
	s.stop(t)
}

// A log view that a signal stops while a client downloads slowly says that it cut the download off.
func TestLogViewCuts(t *testing.T) {
	t.Parallel()
	run := filepath.Join(t.TempDir(), "run.sse")
	large := strings.Repeat("large ", 4<<20)
	testkit.Write(t, run, "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\ndata: {\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":\""+large+"\"}\n\ndata: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n")
	log := "sqlite:" + filepath.Join(t.TempDir(), "events.db")
	if out, err := program(t, "log", "import", "--store", log, run).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s, url := startServer(t, "log", "view", "--store", log)
	response, err := http.Get(url + "/threads/t/export")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	s.kill(t, syscall.SIGINT)
	if status, log := s.wait(t); status != 130 {
		t.Errorf("exit status %d\n%s", status, log)
	}
	if n, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Errorf("the download has an end, after %d bytes", n)
	}
}

// serve has the window unless other machines may connect. --ui says otherwise.
func TestServeWindow(t *testing.T) {
	t.Parallel()
	log := logOf(t, "adk/one-turn")
	for _, test := range []struct {
		args []string
		want int
	}{
		{nil, http.StatusOK},
		{[]string{"--ui=false"}, http.StatusNotFound},
		{[]string{"--allow-remote"}, http.StatusNotFound},
		{[]string{"--allow-remote", "--ui"}, http.StatusOK},
	} {
		s, url := startServer(t, append([]string{"serve", "--store", log}, test.args...)...)
		for _, path := range []string{"/", "/window/app.js"} {
			if status, _ := look(t, url+path); status != test.want {
				t.Errorf("%q: %s has status %d, want %d", test.args, path, status, test.want)
			}
		}
		s.stop(t)
	}
}
