//go:build postgres

package seal_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/postgres"
)

var schemas atomic.Int64

// postgresLog is a new database of PostgreSQL, and its URL.
func postgresLog(t testing.TB) (database, string) {
	t.Helper()
	server, passwords := os.Getenv("P20EXPORT_POSTGRES"), os.Getenv("PGPASSFILE")
	if server == "" || passwords == "" {
		t.Fatal("P20EXPORT_POSTGRES or PGPASSFILE is not set; use make postgres or make seals")
	}
	link := fmt.Sprintf("%s?passfile=%s&search_path=seal_%d_%d", server, url.QueryEscape(passwords), os.Getpid(), schemas.Add(1))
	return database{
		open: func(t testing.TB) store.Log {
			t.Helper()
			log, err := postgres.Open(t.Context(), link, true)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { log.Close() })
			return log
		},
		enter: func(t testing.TB, do func(backdoor)) {
			t.Helper()
			db, err := sql.Open("pgx", link)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			b := backdoor{t, tx}
			b.exec(`SET LOCAL session_replication_role = replica`) // no triggers
			do(b)
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		},
	}, link
}

// TestPostgresTampered tampers with the threads of a log in PostgreSQL.
func TestPostgresTampered(t *testing.T) {
	t.Parallel()
	d, _ := postgresLog(t)
	tamperWith(t, d, newOperator(t), 2)
}

// TestPostgresHonest does with a log in PostgreSQL what its operator may do.
func TestPostgresHonest(t *testing.T) {
	t.Parallel()
	d, _ := postgresLog(t)
	carryOn(t, d, func(testing.TB) store.Log { return memory.New() }, 20)
	d, _ = postgresLog(t)
	carryOn(t, database{open: func(testing.TB) store.Log { return memory.New() }}, d.open, 20)
}

// TestPostgresSealedTogether seals a thread with two handles at the same time.
func TestPostgresSealedTogether(t *testing.T) {
	t.Parallel()
	d, _ := postgresLog(t)
	sealTogether(t, d)
}
