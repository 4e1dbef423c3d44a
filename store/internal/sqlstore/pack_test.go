package sqlstore

import (
	"testing"

	"github.com/p20export/p20export/store"
)

// A chunk of entries without data is full of their headers before it is worth a pack.
func TestCutWorthPacking(t *testing.T) {
	t.Parallel()
	p := packer{chunk: make([]byte, chunkBytes), first: 1, last: store.MinPackBytes - 1}
	large := Row{Position: p.last + 1, Data: make([]byte, store.MinPackBytes)}
	if p.cut(&large) {
		t.Error("a chunk is cut that is not worth a pack")
	}
	if p.last++; !p.cut(&large) {
		t.Error("a chunk that is worth a pack is not cut before a large row")
	}
}
