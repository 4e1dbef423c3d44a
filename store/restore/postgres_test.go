//go:build postgres

package restore_test

import (
	"net/url"
	"os"
	"testing"

	"github.com/p20export/p20export/store/postgres"
)

// TestPostgres restores threads from a PostgreSQL database.
func TestPostgres(t *testing.T) {
	address, err := url.Parse(os.Getenv("P20EXPORT_POSTGRES"))
	if err != nil || address.Host == "" {
		t.Fatalf("P20EXPORT_POSTGRES is not set (%v); run make postgres", err)
	}
	address.RawQuery = url.Values{"passfile": {os.Getenv("PGPASSFILE")}, "search_path": {"restore"}}.Encode()
	log, err := postgres.Open(t.Context(), address.String(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	checkLog(t, log)
}
