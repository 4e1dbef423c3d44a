//go:build postgres

package serve_test

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/postgres"
)

// postgresServer controls a PostgreSQL server of this test alone.
func postgresServer(t *testing.T) func(command string) (output string) {
	t.Helper()
	servers := os.Getenv("P20EXPORT_POSTGRES_SERVERS")
	if servers == "" {
		t.Fatal("P20EXPORT_POSTGRES_SERVERS is not set; run make postgres")
	}
	dir := filepath.Join(servers, strings.ToLower(t.Name()))
	control := func(command string) string {
		t.Helper()
		out, err := exec.Command("../store/postgres/server.sh", command, dir).Output()
		if err != nil {
			t.Fatalf("server.sh %s: %v", command, err)
		}
		return string(out)
	}
	t.Cleanup(func() { control("remove") })
	return control
}

// A database that is killed in the middle of runs and started again takes nothing from them:
// they wait, keep their leases and go on. Two processes use it, so each could take the runs of
// the other.
func TestPostgresRestart(t *testing.T) {
	t.Parallel()
	control := postgresServer(t)
	lines := strings.Fields(control("start"))
	open := func() store.Log {
		log, err := postgres.Open(t.Context(), lines[0]+"?passfile="+url.QueryEscape(lines[1]), true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { log.Close() })
		return log
	}
	a := newAgent(t)
	one, two := start(t, open(), a, serve.Settings{}), start(t, open(), a, serve.Settings{})
	const runs = 3
	var calls []*call
	var threads, want []string
	for i := range runs {
		thread := "t" + string(rune('0'+i))
		c, answer := one.begin(a, thread, "r")
		defer answer.close()
		calls, threads = append(calls, c), append(threads, thread)
	}
	for n := range 30 {
		one.seen.mu.Lock()
		failed := one.seen.failed
		one.seen.mu.Unlock()
		if n%10 == 5 {
			control(map[bool]string{true: "kill", false: "stop"}[n == 15])
		}
		for _, c := range calls {
			c.send(step(n))
		}
		want = append(want, "event "+step(n))
		if n%10 == 5 {
			one.seen.until(t, "appends fail", func() bool { return one.seen.failed > failed })
			control("start")
		}
	}
	for i, c := range calls {
		c.send(finished(threads[i], "r"))
		c.end()
	}
	same(t, one.ended(runs), serve.Finished)
	one.seen.mu.Lock()
	same(t, one.seen.outcomes, []serve.Outcome{serve.Finished, serve.Finished, serve.Finished})
	one.seen.mu.Unlock()
	log := open()
	for _, thread := range threads {
		list := entries(t, log, thread)
		if len(list) != len(want)+4 {
			t.Fatalf("%d entries, want %d", len(list), len(want)+4)
		}
		same(t, list[2:len(list)-2], want)
		// Either process serves it.
		answer := two.post("/agents/a", input(thread, "r"))
		same(t, answer.status, http.StatusOK)
		same(t, len(answer.events(len(want)+2)), len(want)+2)
		same(t, answer.text(), "")
	}
	one.seen.closed(t, 0)
	two.seen.closed(t, 0)
}
