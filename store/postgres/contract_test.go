//go:build postgres

package postgres

import (
	"context"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Main(m, openExisting)
}

func openExisting(url string) (store.Log, error) {
	return Open(context.Background(), url, false)
}

// opened opens a new log.
func opened(t testing.TB) storetest.Opened {
	url := shared(t).schema()
	log, err := Open(t.Context(), url, true)
	if err != nil {
		t.Fatal(err)
	}
	return storetest.Opened{Log: log, Again: func() (store.Log, error) { return openExisting(url) }, Name: url}
}

func TestPostgresContract(t *testing.T) {
	storetest.Run(t, opened)
}

// TestPostgresAppenderKilled kills processes that append.
func TestPostgresAppenderKilled(t *testing.T) {
	storetest.Killed(t, opened, 25)
}
