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
func TestPostgresTrials(t *testing.T) {
	address, err := url.Parse(os.Getenv("P20EXPORT_POSTGRES"))
	if err != nil || address.Host == "" {
		t.Fatalf("P20EXPORT_POSTGRES is not set (%v); run make postgres", err)
	}
	runTrials(t, func(t *testing.T) (store.Log, error) {
		schema := address.Query()
		schema.Set("passfile", os.Getenv("PGPASSFILE"))
		schema.Set("search_path", strings.ToLower(strings.ReplaceAll(t.Name(), "/", "_")))
		own := *address
		own.RawQuery = schema.Encode()
		return postgres.Open(t.Context(), own.String(), true)
	}, *trials)
}
