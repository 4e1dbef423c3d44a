//go:build postgres

package main

import (
	"database/sql"
	"net/url"
	"os"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// TestPostgresQueries runs the queries of docs/serialization.md in PostgreSQL.
func TestPostgresQueries(t *testing.T) {
	address, err := url.Parse(os.Getenv("P20EXPORT_POSTGRES"))
	if err != nil || address.Host == "" {
		t.Fatalf("P20EXPORT_POSTGRES is not set (%v); run make postgres", err)
	}
	address.RawQuery = "search_path=queries"
	importBranches(t, address.String())
	db, err := sql.Open("pgx", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	checkQueries(t, db)
}
