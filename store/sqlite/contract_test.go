package sqlite_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/internal/testkit/sqlitetest"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
	"github.com/p20export/p20export/store/storetest"
)

// kills is how often TestSQLiteKilled kills the appender.
var kills = flag.Int("kills", 100, "kill the appender this often")

func TestMain(m *testing.M) {
	if job := os.Getenv(faultVariable); job != "" {
		do := appendThrough
		if os.Getenv(faultVariable+"_FOLLOW") != "" {
			do = followThrough
		}
		if err := do(job); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	storetest.Main(m, open)
}

func open(file string) (store.Log, error) {
	return sqlite.Open(context.Background(), file, true)
}

// opened opens a new log.
func opened(t testing.TB) storetest.Opened {
	file := filepath.Join(t.TempDir(), "log")
	log, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
	return storetest.Opened{Log: log, Again: func() (store.Log, error) { return open(file) }, Name: file, Rewind: func() func() { return sqlitetest.Rewind(t, file) }}
}

func TestSQLiteContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, opened)
}

func TestSQLiteKilled(t *testing.T) {
	t.Parallel()
	var file string
	storetest.Killed(t, func(t testing.TB) storetest.Opened {
		o := opened(t)
		file = o.Name
		return o
	}, *kills)
	isIntact(t, file)
}

// plain opens the database in a file as another program would.
func plain(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?mode=rw&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// isIntact checks that SQLite finds no damage in a file.
func isIntact(t *testing.T, file string) {
	t.Helper()
	var result string
	if err := plain(t, file).QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&result); err != nil || result != "ok" {
		t.Errorf("integrity_check: %q, %v", result, err)
	}
}
