//go:build postgres

package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Main(m, openExisting)
}

func openExisting(url string) (store.Log, error) {
	return Open(context.Background(), url, false)
}

// opened opens a new log.
func opened(t testing.TB) storetest.Opened {
	url := shared(t).schema()
	log, err := Open(t.Context(), url, true)
	if err != nil {
		t.Fatal(err)
	}
	return storetest.Opened{Log: log, Again: func() (store.Log, error) { return openExisting(url) }, Name: url, Rewind: func() func() { return rewind(t, url) }}
}

// rewind copies the tables of a log, and returns a function that restores the copies, as a
// server that took over without the last transactions does.
func rewind(t testing.TB, url string) (restore func()) {
	conn := connect(t, url)
	tables := []string{"threads", "streams", "runs", "entries", "packs"}
	for _, table := range tables {
		run(t, conn, "CREATE TABLE saved_"+table+" AS TABLE "+table)
	}
	return func() {
		t.Helper()
		run(t, conn, "BEGIN; SET LOCAL session_replication_role = replica")
		run(t, conn, "TRUNCATE "+strings.Join(tables, ", "))
		for _, table := range tables {
			run(t, conn, "INSERT INTO "+table+" OVERRIDING SYSTEM VALUE SELECT * FROM saved_"+table)
		}
		run(t, conn, "COMMIT")
	}
}

func TestPostgresContract(t *testing.T) {
	storetest.Run(t, opened)
}

// TestPostgresAppenderKilled kills processes that append.
func TestPostgresAppenderKilled(t *testing.T) {
	storetest.Killed(t, opened, 25)
}
