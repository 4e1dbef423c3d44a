package logs

import (
	"context"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/postgres"
	"github.com/p20export/p20export/store/sqlite"
)

// Mode says whether Open creates a log.
type Mode int

// The modes.
const (
	// Existing opens a log that exists.
	Existing Mode = iota
	// Create creates the log if it does not exist.
	Create
)

// Open opens the log.
func (a Address) Open(ctx context.Context, mode Mode) (store.Log, error) {
	if a.server != nil {
		return postgres.Open(ctx, a.server.String(), mode == Create)
	}
	return sqlite.Open(ctx, a.file, mode == Create)
}
