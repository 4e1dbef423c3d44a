package sqlite_test

import (
	"testing"

	"github.com/p20export/p20export/store/storetest"
)

// TestSQLitePacksCheaply is not parallel, because it counts what the process allocates.
func TestSQLitePacksCheaply(t *testing.T) {
	storetest.PacksCheaply(t, opened)
}
