package sqlite_test

import (
	"testing"

	"github.com/p20export/p20export/store/storetest"
)

// TestSQLiteReadsSelected is not parallel, because it counts what the process reads.
func TestSQLiteReadsSelected(t *testing.T) {
	storetest.ReadsSelected(t, opened)
}
