//go:build postgres || browser

package main

import (
	"net/url"
	"os"
	"testing"
)

// postgresAddress returns the URL of a schema of the server that make postgres and make browser start.
func postgresAddress(t *testing.T, schema string) string {
	t.Helper()
	address, err := url.Parse(os.Getenv("P20EXPORT_POSTGRES"))
	if err != nil || address.Host == "" {
		t.Fatalf("P20EXPORT_POSTGRES is not set (%v); run make postgres or make browser", err)
	}
	address.RawQuery = url.Values{"passfile": {os.Getenv("PGPASSFILE")}, "search_path": {schema}}.Encode()
	return address.String()
}
