//go:build postgres

package postgres

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/p20export/p20export/store/storetest"
)

// TestPostgresUpgraded opens a log that a program with version 1 of the tables wrote, and that
// pg_dump saved.
func TestPostgresUpgraded(t *testing.T) {
	t.Parallel()
	s := shared(t)
	packed, err := os.Open(filepath.Join("testdata", "version1.sql.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	dump, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	run(t, connect(t, s.url), string(dump))
	url := s.url + "&search_path=version1"
	storetest.Upgraded(t, open(t, url))
	created := s.schema()
	open(t, created)
	if diff := cmp.Diff(indexes(t, created), indexes(t, url)); diff != "" {
		t.Errorf("indexes (-new +upgraded):\n%s", diff)
	}
}

// indexes returns the definitions of the indexes of a log.
func indexes(t *testing.T, url string) (all []string) {
	t.Helper()
	rows, err := connect(t, url).Query(t.Context(), `SELECT replace(indexdef, schemaname || '.', '') FROM pg_indexes
		WHERE schemaname = current_schema() ORDER BY indexname`)
	if err == nil {
		all, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil || len(all) < 10 {
		t.Fatalf("%d indexes: %v", len(all), err)
	}
	return all
}
