//go:build postgres

package postgres

import (
	"testing"

	"github.com/p20export/p20export/store/storetest"
)

// TestPostgresReadsSelected is not parallel, because it counts what the process reads.
func TestPostgresReadsSelected(t *testing.T) {
	storetest.ReadsSelected(t, opened)
}
