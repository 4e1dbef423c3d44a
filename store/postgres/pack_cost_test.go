//go:build postgres

package postgres

import (
	"testing"

	"github.com/p20export/p20export/store/storetest"
)

// TestPostgresPacksCheaply is not parallel, because it counts what the process allocates.
func TestPostgresPacksCheaply(t *testing.T) {
	storetest.PacksCheaply(t, opened)
}
