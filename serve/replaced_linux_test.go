package serve_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit/sqlitetest"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// The file of the log is replaced while clients read. Their responses break off, new ones are
// refused, and the log of the server says why. After the next start, clients are told that what
// they have is lost. Nothing of the old file gets into the new one.
func TestReplacedLog(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log.db")
	open := func() store.Log {
		log, err := sqlite.Open(t.Context(), file, true)
		if err != nil {
			t.Fatal(err)
		}
		return log
	}
	log := open()
	replace := sqlitetest.Replace(t, file)
	fill(t, log, store.Key{Thread: "t"}, "r")
	said := &text{}
	p := start(t, log, nil, serve.Settings{Logger: slog.New(slog.NewTextHandler(said, nil))})
	ids := idsIn(p.get("/threads/t/events?follow=false").text())
	reader, idle := p.get("/threads/t/events"), p.get("/threads/none/events")
	reader.events(3)
	replace()
	reader.broken()
	same(t, idle.broken(), "")
	p.get("/threads/t/events").want(http.StatusServiceUnavailable, `"code":"log_failed"`)
	if s := said.String(); strings.Count(s, "the log failed") != 1 || !strings.Contains(s, "is not the file that was opened") {
		t.Errorf("the log is %s", s)
	}
	p.stop()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file + "-wal", file + "-shm"} { // those of the file that was replaced
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
	log = open()
	defer log.Close()
	fill(t, log, store.Key{Thread: "t"}, "other")
	p = start(t, log, nil, serve.Settings{})
	same(t, p.get("/threads/t/events", "Last-Event-ID", ids[2]).broken(), notice)
}
