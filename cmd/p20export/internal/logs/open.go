package logs

import (
	"context"
	"errors"

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

// Unauthorized reports whether PostgreSQL refused the user or the password.
func Unauthorized(err error) bool {
	server, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return ok && (server.SQLState() == "28P01" || server.SQLState() == "28000")
}

// Open opens the log.
func (a Address) Open(ctx context.Context, mode Mode) (store.Log, error) {
	if a.server != nil {
		return postgres.Open(ctx, a.server.String(), mode == Create)
	}
	return sqlite.Open(ctx, a.file, mode == Create)
}
