package seal

import (
	"context"
	"iter"

	"github.com/transparency-dev/merkle/proof"

	"github.com/p20export/p20export/store"
)

// Tree is the tree of a thread, for tests. It uses the first blocks that it is given.
type Tree struct{ w work }

// TreeOf returns the tree of a thread.
func TreeOf(log store.Log, key store.Key, blocks []byte) *Tree {
	return &Tree{work{tree: tree{log: log, key: key, blocks: blocks}}}
}

// Root returns the root of the first entries.
func (t *Tree) Root(ctx context.Context, size int64) (Hash, error) { return t.w.tree.root(ctx, size) }

// Blocks returns the hashes of all blocks of the first entries.
func (t *Tree) Blocks(ctx context.Context, size int64) ([]byte, error) {
	b, err := t.w.tree.newBlocks(ctx, 0, size)
	return b.Hashes, err
}

// Inclusion returns the proof that a position is in the tree of the first entries.
func (t *Tree) Inclusion(ctx context.Context, position, size int64) ([][]byte, error) {
	if err := t.w.tree.fill(ctx, size); err != nil {
		return nil, err
	}
	nodes, err := proof.Inclusion(uint64(position-1), uint64(size))
	if err != nil {
		return nil, err
	}
	hashes, err := t.w.tree.nodes(ctx, nodes.IDs)
	if err != nil {
		return nil, err
	}
	return nodes.Rehash(hashes, hashNode)
}

// Consistency returns the proof that a tree is the beginning of another.
func (t *Tree) Consistency(ctx context.Context, from, to int64) ([][]byte, error) {
	if err := t.w.tree.fill(ctx, to); err != nil {
		return nil, err
	}
	return t.w.consistency(ctx, from, to)
}

// Roots computes the roots of trees of several sizes as Verify does.
func Roots(entries iter.Seq[*store.Entry], sizes []int64) (map[int64]Hash, error) {
	h := startHashing(sizes)
	for e := range entries {
		h.add(e)
	}
	roots, _, err := h.end()
	return roots, err
}
