//go:build postgres

package serve_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/postgres"
)

// TestPostgresTrials runs trials on a log in a PostgreSQL database.
func TestPostgresTrials(t *testing.T) { runTrials(t, openSchema, *trials) }

// TestPostgresSupersedeTrials runs trials of superseding on a log in a PostgreSQL database.
func TestPostgresSupersedeTrials(t *testing.T) {
	t.Parallel()
	runSupersedeTrials(t, openSchema, 30, 3)
}

// openSchema opens a log in a schema for the test.
func openSchema(t *testing.T) (store.Log, error) {
	address, err := url.Parse(os.Getenv("P20EXPORT_POSTGRES"))
	if err != nil || address.Host == "" {
		t.Fatalf("P20EXPORT_POSTGRES is not set (%v); run make postgres", err)
	}
	query := address.Query()
	query.Set("passfile", os.Getenv("PGPASSFILE"))
	query.Set("search_path", strings.ToLower(strings.NewReplacer("/", "_", " ", "_").Replace(t.Name())))
	address.RawQuery = query.Encode()
	return postgres.Open(t.Context(), address.String(), true)
}
