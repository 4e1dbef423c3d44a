//go:build postgres

package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/serve/servetest"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/postgres"
)

// TestPostgresServeProcesses starts two processes on one log, and a run at each. A reader
// joins the first run at the second process. When the first process is killed, the second
// closes its run, and its own run goes on.
func TestPostgresServeProcesses(t *testing.T) {
	address := postgresAddress(t, "serve_processes")
	release := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, firstEvent)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-release:
			_, _ = io.WriteString(w, wholeRun[len(firstEvent):])
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(upstream.Close)
	args := []string{"--store", address, "--upstream", servetest.Upstream + "=" + upstream.URL}
	first, second := startKillable(t, args...), startKillable(t, args...)
	open := func(k *killable, method, path, body string) io.Reader {
		t.Helper()
		at, err := k.address(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), method, at+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %v, %v", method, path, response, err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response.Body
	}
	open(first, http.MethodPost, "/agents/agent", `{"threadId":"first","runId":"r"}`)
	owned := open(second, http.MethodPost, "/agents/agent", `{"threadId":"second","runId":"r"}`)
	joined := open(second, http.MethodPost, "/agents/agent", `{"threadId":"first","runId":"r"}`)
	const start = "id: 2\n" + firstEvent
	plain := func(text []byte) string { return checks.ReplaceAllString(string(text), "$1") }
	got := make([]byte, len(start)+len("-01234567"))
	if _, err := io.ReadFull(joined, got); err != nil || plain(got) != start {
		t.Fatalf("at the second process, the run of the first begins with %q, %v", got, err)
	}
	first.kill(t, syscall.SIGKILL)
	rest, err := io.ReadAll(joined)
	if text := plain(rest); err != nil || !strings.HasPrefix(text, "id: 3\ndata: ") || !strings.Contains(text, `"p20export.owner_lost"`) || strings.Count(text, "data: ") != 1 {
		t.Errorf("the run of the killed process ends with %q, %v", text, err)
	}
	close(release)
	want := start + "id: 3\ndata: " + testkit.Snapshot + "\n\nid: 4\ndata: " + testkit.Finished + "\n\n"
	if got, err := io.ReadAll(owned); err != nil || plain(got) != want {
		t.Errorf("the run of the other process is %q, %v", got, err)
	}
	log, err := postgres.Open(t.Context(), address, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for thread, want := range map[string]string{"first": "input event closing end", "second": "input event event event end"} {
		var kinds []string
		for e, err := range log.Read(t.Context(), store.Key{Thread: thread}, 0) {
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, string(e.Kind))
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("the thread %s has the entries %s, want %s", thread, got, want)
		}
	}
	first.start(t) // for its cleanup
}

// TestPostgresServeKilledOften runs trials whose readers join at either of two processes. One of
// them is killed in the middle of the runs, and started again.
func TestPostgresServeKilledOften(t *testing.T) {
	address := postgresAddress(t, "serve_killed")
	agent := servetest.NewAgent()
	t.Cleanup(agent.Close)
	args := []string{"--store", address, "--upstream", servetest.Upstream + "=" + agent.URL}
	all := []*killable{startKillable(t, args...), startKillable(t, args...)}
	log, err := postgres.Open(t.Context(), address, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var sum servetest.Summary
	rounds := max(1, *serveKills/5)
	for round := range rounds {
		got, err := killDuring(t, rand.Uint64(), func(seed uint64, observe func(int)) (servetest.Summary, error) {
			ctx, cancel := context.WithTimeout(t.Context(), patience) // only if it hangs
			defer cancel()
			return servetest.Run(ctx, servetest.Settings{
				Seed: seed, Agent: agent, Log: log, Killed: true, Observe: observe,
				URL: func(ctx context.Context) (string, error) { return all[rand.IntN(2)].address(ctx) },
			})
		}, func() {
			all[round%2].kill(t, syscall.SIGKILL)
			all[round%2].start(t)
		})
		sum.Add(got)
		if err != nil {
			t.Fatalf("kill %d: %v", round+1, err)
		}
	}
	t.Logf("%+v", sum)
	if sum.Lost == 0 {
		t.Error("no kill closed a run")
	}
}

// TestPostgresServeAppendKilled is like TestServeAppendKilled, with two servers that get the
// batches of each run.
func TestPostgresServeAppendKilled(t *testing.T) {
	address := postgresAddress(t, "serve_append")
	args := []string{"--store", address, "--allow-append"}
	first, second := startKillable(t, args...), startKillable(t, args...)
	log, err := postgres.Open(t.Context(), address, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	killAppending(t, log, first, second)
}

// TestPostgresServeSeals seals one log with two servers, which get the runs of the same threads
// and are killed. No two seals of a thread are of one size, and all are valid.
func TestPostgresServeSeals(t *testing.T) {
	address := postgresAddress(t, "serve_seals")
	private, public := sealKey(t)
	args := []string{"--store", address, "--allow-append", "--seal", private}
	first, second := startKillable(t, args...), startKillable(t, args...)
	log, err := postgres.Open(t.Context(), address, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	killSealing(t, log, address, public, first, second)
}
