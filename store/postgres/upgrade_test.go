//go:build postgres

package postgres

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/storetest"
)

// load loads a log that a program with an earlier version of the tables wrote, as pg_dump saved
// it, and returns its URL.
func load(t *testing.T, s server, version string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", version+".sql.gz"))
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
	url := s.schema()
	run(t, connect(t, s.url), strings.ReplaceAll(string(dump), version, schemaOf(url)))
	return url
}

func TestPostgresUpgraded(t *testing.T) {
	t.Parallel()
	s := shared(t)
	created := s.schema()
	open(t, created)
	for _, version := range []string{"version1", "version2", "version3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			url := load(t, s, version)
			storetest.Upgraded(t, open(t, url))
			if diff := cmp.Diff(indexes(t, created), indexes(t, url)); diff != "" {
				t.Errorf("indexes (-new +upgraded):\n%s", diff)
			}
		})
	}
}

// TestPostgresUpgradeRights opens an old log as a user who may not change its tables.
func TestPostgresUpgradeRights(t *testing.T) {
	t.Parallel()
	s := shared(t)
	link := load(t, s, "version2")
	user := "user_" + schemaOf(link)
	run(t, connect(t, s.url), fmt.Sprintf(`CREATE USER %[1]s PASSWORD 'sekret'; GRANT USAGE ON SCHEMA %[2]s TO %[1]s;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[2]s TO %[1]s`, user, schemaOf(link)))
	parsed, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	parsed.User = url.UserPassword(user, "sekret")
	if _, err := Open(t.Context(), parsed.String(), false); code(err) != insufficientRights || !strings.Contains(err.Error(), "use the owner of the schema") {
		t.Errorf("Open as another user: %v", err)
	}
	open(t, link)
	log := open(t, parsed.String())
	fill(t, log, "new", 6)
	if err := log.Seal(t.Context(), store.Key{Thread: "new"}, store.Seal{Size: 6, Checkpoint: []byte("c")}, store.Blocks{}); err != nil {
		t.Errorf("seal a thread: %v", err)
	}
	if err := log.Keep(t.Context(), store.Key{Thread: "new"}, "kind", []store.Derived{{Position: 6}}); err != nil {
		t.Errorf("keep derived data: %v", err)
	}
	held, err := log.(store.Leaser).Leases(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	takes(t, held, true, "a")
	if err := held.Close(); err != nil {
		t.Error(err)
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
