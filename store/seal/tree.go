package seal

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/transparency-dev/merkle/compact"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// Hash is a SHA-256 of a leaf or of a part of a tree.
type Hash = tlog.Hash

// hashLeaf returns the hash of a leaf.
func hashLeaf(leaf []byte) []byte {
	h := tlog.RecordHash(leaf)
	return h[:]
}

// hashNode returns the hash of a node with two children.
func hashNode(left, right []byte) []byte {
	h := tlog.NodeHash(Hash(left), Hash(right))
	return h[:]
}

func factory() *compact.RangeFactory { return &compact.RangeFactory{Hash: hashNode} }

// rootOf returns the root of a tree.
func rootOf(r *compact.Range) (Hash, error) {
	root, err := r.GetRootHash(nil)
	if err != nil {
		return Hash{}, err
	}
	if root == nil { // of an empty tree
		return sha256.Sum256(nil), nil
	}
	return Hash(root), nil
}

// blockLevel is the level of the nodes that are the hashes of blocks.
const blockLevel = 8

// tree computes nodes of the tree of a thread. It reads entries only of blocks whose hashes
// are not kept.
type tree struct {
	log    store.Log
	key    store.Key
	blocks []byte // their hashes, as far as they are kept or were computed
	// leaves has the hashes of the leaves of some blocks.
	leaves map[int64][][]byte
}

// root returns the root of the tree of the first entries.
func (t *tree) root(ctx context.Context, size int64) (Hash, error) {
	r, err := t.part(ctx, factory(), 0, size)
	if err != nil {
		return Hash{}, err
	}
	return rootOf(r)
}

// part returns the part of the tree with the leaves from begin up to end.
func (t *tree) part(ctx context.Context, f *compact.RangeFactory, begin, end int64) (*compact.Range, error) {
	if err := t.fill(ctx, end); err != nil {
		return nil, err
	}
	hashes, err := t.nodes(ctx, compact.RangeNodes(uint64(begin), uint64(end), nil))
	if err != nil {
		return nil, err
	}
	return f.NewRange(uint64(begin), uint64(end), hashes)
}

// nodes returns the hashes of nodes.
func (t *tree) nodes(ctx context.Context, ids []compact.NodeID) ([][]byte, error) {
	hashes := make([][]byte, len(ids))
	for i, id := range ids {
		var err error
		if hashes[i], err = t.node(ctx, id); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// node returns the hash of a node all of whose leaves exist.
func (t *tree) node(ctx context.Context, id compact.NodeID) ([]byte, error) {
	begin, end := id.Coverage()
	switch {
	case id.Level > blockLevel:
		left, err := t.node(ctx, compact.NewNodeID(id.Level-1, 2*id.Index))
		if err != nil {
			return nil, err
		}
		right, err := t.node(ctx, compact.NewNodeID(id.Level-1, 2*id.Index+1))
		if err != nil {
			return nil, err
		}
		return hashNode(left, right), nil
	case id.Level == blockLevel:
		at := id.Index * store.BlockHashBytes
		return t.blocks[at : at+store.BlockHashBytes], nil
	}
	block := int64(begin) / store.BlockEntries
	leaves, err := t.load(ctx, block, int64(end))
	if err != nil {
		return nil, err
	}
	r := factory().NewEmptyRange(0)
	for _, leaf := range leaves[int64(begin)-block*store.BlockEntries : int64(end)-block*store.BlockEntries] {
		if err := r.Append(leaf, nil); err != nil {
			return nil, err
		}
	}
	hash, err := rootOf(r)
	return hash[:], err
}

// fill computes the hashes of the blocks of the first entries.
func (t *tree) fill(ctx context.Context, size int64) error {
	n := size / store.BlockEntries * store.BlockHashBytes
	if int64(len(t.blocks)) >= n {
		return nil
	}
	var leaf []byte
	block := make([]Hash, 0, store.BlockEntries)
	for e, err := range t.log.Read(ctx, t.key, int64(len(t.blocks))/store.BlockHashBytes*store.BlockEntries) {
		if err != nil {
			return err
		}
		leaf = AppendLeaf(leaf[:0], e)
		if block = append(block, tlog.RecordHash(leaf)); len(block) < store.BlockEntries {
			continue
		}
		hash := rootOfBlock(block)
		block = block[:0]
		if t.blocks = append(t.blocks, hash[:]...); int64(len(t.blocks)) >= n {
			return nil
		}
	}
	return t.missing(size)
}

// missing returns the error for an entry that does not exist.
func (t *tree) missing(position int64) error {
	return &store.DamagedError{Position: position, Reason: fmt.Sprintf("entry %d of thread %s is missing", position, finding.Quote(t.key.Thread))}
}

// load returns the hashes of the leaves of a block, at least up to end.
func (t *tree) load(ctx context.Context, block, end int64) ([][]byte, error) {
	first := block * store.BlockEntries
	leaves := t.leaves[block]
	if int64(len(leaves)) >= end-first {
		return leaves, nil
	}
	var leaf []byte
	for e, err := range t.log.Read(ctx, t.key, first+int64(len(leaves))) {
		if err != nil {
			return nil, err
		}
		leaf = AppendLeaf(leaf[:0], e)
		if leaves = append(leaves, hashLeaf(leaf)); len(leaves) == store.BlockEntries {
			break
		}
	}
	if int64(len(leaves)) < end-first {
		return nil, t.missing(end)
	}
	if t.leaves == nil {
		t.leaves = make(map[int64][][]byte)
	}
	t.leaves[block] = leaves
	return leaves, nil
}

// newBlocks returns the blocks of the first entries that follow kept ones.
func (t *tree) newBlocks(ctx context.Context, kept, size int64) (store.Blocks, error) {
	b := store.Blocks{First: kept}
	if err := t.fill(ctx, size); err != nil {
		return b, err
	}
	b.Hashes = t.blocks[min(kept, size/store.BlockEntries)*store.BlockHashBytes : size/store.BlockEntries*store.BlockHashBytes]
	return b, nil
}
