//go:build postgres

package postgres

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/store/sqlite"
)

// compareColumns compares columns with those of a new log of store/sqlite.
func compareColumns(t *testing.T, ours []string, file string) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// The primary key of threads is an alias of the row id, which is never NULL.
	rows, err := db.QueryContext(t.Context(), `SELECT m.name || '.' || c.name || CASE WHEN c."notnull" OR c.pk THEN '' ELSE ' NULL' END
		FROM sqlite_schema m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'goose_db_version'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var theirs []string
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, column)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	if len(ours) < 30 {
		t.Errorf("only %d columns were compared", len(ours))
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("columns (-SQLite +PostgreSQL):\n%s", diff)
	}
}
