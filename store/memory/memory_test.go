package memory_test

import (
	"testing"

	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(testing.TB) storetest.Opened { return storetest.Opened{Log: memory.New()} })
}
