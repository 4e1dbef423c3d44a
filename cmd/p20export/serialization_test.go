package main

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/p20export/p20export/internal/testkit"
)

const serializationPage = "../../docs/serialization.md"

// importBranches imports a run that two others continue into a log: the first follows it, and
// the second names it as its parent.
func importBranches(t *testing.T, url string) {
	t.Helper()
	dir := t.TempDir()
	files := []string{"../../discovery/captures/mastra/three-turns-1"}
	for _, run := range []string{`"runId":"a"`, `"runId":"b","parentRunId":"run-three-turns-1"`} {
		name := filepath.Join(dir, fmt.Sprint(len(files))+".ndjson")
		testkit.Write(t, name, fmt.Sprintf(`{"type":"RUN_STARTED","threadId":"thread-three-turns",%s}
{"type":"RUN_FINISHED","threadId":"thread-three-turns"}
`, run))
		files = append(files, name)
	}
	do(t, exitDone, append([]string{"log", "import", "--store", url}, files...)...)
}

// openTables returns the database of a log with branches.
func openTables(t *testing.T) *sql.DB {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log.db")
	importBranches(t, "sqlite:"+file)
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestSerializationQueries(t *testing.T) {
	t.Parallel()
	checkQueries(t, openTables(t))
}

// checkQueries runs the queries of the page. Each has a result.
func checkQueries(t *testing.T, db *sql.DB) {
	t.Helper()
	queries := regexp.MustCompile("(?s)```sql\n(SELECT.*?)```").FindAllStringSubmatch(string(testkit.Read(t, serializationPage)), -1)
	if len(queries) < 5 {
		t.Fatalf("the page has %d queries", len(queries))
	}
	for _, q := range queries {
		rows, err := db.QueryContext(t.Context(), q[1])
		if err != nil {
			t.Errorf("%v:\n%s", err, q[1])
			continue
		}
		if !rows.Next() {
			t.Errorf("no row: %v:\n%s", rows.Err(), q[1])
		}
		if err := rows.Close(); err != nil {
			t.Errorf("%v:\n%s", err, q[1])
		}
	}
}

// TestSerializationTables checks that the page has every table and every column.
func TestSerializationTables(t *testing.T) {
	t.Parallel()
	rows, err := openTables(t).QueryContext(t.Context(), `SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE 'goose%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns := map[string][]string{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		columns[table] = append(columns[table], column)
	}
	if err := rows.Err(); err != nil || len(columns) < 5 {
		t.Fatalf("the tables are %v, %v", columns, err)
	}
	page := string(testkit.Read(t, serializationPage))
	for table, names := range columns {
		_, rest, ok := strings.Cut(page, "\n| `"+table+"` |")
		if !ok {
			t.Errorf("the page has no row for the table %s", table)
			continue
		}
		row, _, _ := strings.Cut(rest, "\n")
		for _, name := range names {
			if !strings.Contains(row, "`"+name+"`") {
				t.Errorf("the page has no column %s of %s", name, table)
			}
		}
	}
}
