package logs

import (
	"context"
	"fmt"

	"github.com/p20export/p20export/store"
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
	return nil, fmt.Errorf("no adapter serves %s", a)
}
