//go:build postgres

package main

import (
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/postgres"
)

// TestPostgresProxyStore kills the PostgreSQL server of a proxy. Traffic and captures go on,
// and the log is completed when the server is there again.
func TestPostgresProxyStore(t *testing.T) {
	servers := os.Getenv("P20EXPORT_POSTGRES_SERVERS")
	if servers == "" {
		t.Fatal("P20EXPORT_POSTGRES_SERVERS is not set; run make postgres")
	}
	dir := filepath.Join(servers, "proxy")
	control := func(what string) []string {
		t.Helper()
		cmd := exec.Command("../../store/postgres/server.sh", what, dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("server.sh %s: %v", what, err)
		}
		return strings.Fields(string(out))
	}
	t.Cleanup(func() { control("remove") })
	started := control("start")
	if len(started) != 2 {
		t.Fatalf("server.sh start prints %q", started)
	}
	address := started[0] + "?passfile=" + url.QueryEscape(started[1])
	captures := filepath.Join(t.TempDir(), "captures")
	a := newAgent(t)
	close(a.release)
	s, front := startProxy(t, a.URL, captures, "--store", address)
	exchange := func() {
		t.Helper()
		_, body := post(t, front)
		if got, err := io.ReadAll(body); err != nil || string(got) != wholeRun {
			t.Errorf("%v\n%s", err, got)
		}
		s.await(t, `"msg":"exchange stored"`)
	}
	exchange()
	control("kill")
	for range 3 {
		exchange()
	}
	s.awaitAny(t, `"msg":"the event log cannot be used`)
	control("start")
	s.await(t, `"msg":"the event log can be used again"`)
	s.stop(t)
	open := func() (store.Log, error) { return postgres.Open(t.Context(), address, false) }
	if ends := checkLog(t, open, captures); len(ends) != 4 {
		t.Errorf("%d captures", len(ends))
	}
}
