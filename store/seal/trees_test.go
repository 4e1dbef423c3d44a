package seal_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// list is a log with one thread that can only be read.
type list struct {
	store.Log
	entries []*store.Entry
}

func (l list) Read(_ context.Context, _ store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for _, e := range l.entries[after:] {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// generate returns a list of random entries.
func generate(r *rand.Rand, n int) list {
	var l list
	kinds := []store.Kind{store.Event, store.Input, store.Closing, store.End}
	for i := range n {
		e := &store.Entry{Position: int64(i + 1), Kind: kinds[r.IntN(len(kinds))], Stream: fmt.Sprint("stream ", r.IntN(5)), Data: fmt.Append(nil, r.Uint64())}
		if r.IntN(3) > 0 {
			e.Arrived = time.UnixMicro(r.Int64N(4e15) - 2e15).UTC()
		}
		l.entries = append(l.entries, e)
	}
	return l
}

// otherTree is a tree as package tlog computes it.
type otherTree struct {
	hashes []tlog.Hash
	size   int64
}

func newOtherTree(t testing.TB, l list) *otherTree {
	t.Helper()
	o := &otherTree{}
	for _, e := range l.entries {
		o.add(t, seal.AppendLeaf(nil, e))
	}
	return o
}

func (o *otherTree) add(t testing.TB, leaf []byte) {
	t.Helper()
	hashes, err := tlog.StoredHashes(o.size, leaf, o)
	if err != nil {
		t.Fatal(err)
	}
	o.hashes = append(o.hashes, hashes...)
	o.size++
}

func (o *otherTree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var hashes []tlog.Hash
	for _, i := range indexes {
		hashes = append(hashes, o.hashes[i])
	}
	return hashes, nil
}

func (o *otherTree) root(t testing.TB, size int64) tlog.Hash {
	t.Helper()
	root, err := tlog.TreeHash(size, o)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestTrees generates 10,000 trees, and compares their roots and proofs with those of tlog. Both
// tlog and transparency-dev/merkle verify the proofs.
func TestTrees(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 38))
	leaves := 0
	for i := range 10_000 {
		n := 1 + int(r.ExpFloat64()*40)
		if i%100 == 0 {
			n = 200 + r.IntN(1200)
		}
		l := generate(r, n)
		leaves += n
		checkTree(t, r, l, newOtherTree(t, l))
		if t.Failed() {
			t.Fatalf("tree %d has %d leaves", i, n)
		}
	}
	t.Logf("%d leaves", leaves)
}

func checkTree(t *testing.T, r *rand.Rand, l list, other *otherTree) {
	t.Helper()
	ctx, n := t.Context(), int64(len(l.entries))
	root := other.root(t, n)
	size := 1 + r.Int64N(n)
	smaller := other.root(t, size)
	streamed, err := seal.Roots(slices.Values(l.entries), slices.Compact([]int64{size, n}))
	if err != nil || streamed[n] != root || streamed[size] != smaller {
		t.Errorf("the roots of %d and %d leaves, %v", size, n, err)
	}
	blocks, err := seal.TreeOf(l, thread, nil).Blocks(ctx, n)
	if err != nil || int64(len(blocks)) != n/store.BlockEntries*store.BlockHashBytes {
		t.Fatalf("%d bytes of blocks, %v", len(blocks), err)
	}
	position := 1 + r.Int64N(size)
	wantRecord, err := tlog.ProveRecord(size, position-1, other)
	if err != nil {
		t.Fatal(err)
	}
	wantTree, err := tlog.ProveTree(n, size, other)
	if err != nil {
		t.Fatal(err)
	}
	// With all blocks, some and none.
	for _, kept := range [][]byte{blocks, blocks[:r.IntN(len(blocks)/store.BlockHashBytes+1)*store.BlockHashBytes], nil} {
		tree := seal.TreeOf(l, thread, slices.Clip(kept))
		got, err := tree.Root(ctx, n)
		if err != nil || got != root {
			t.Errorf("the root is %v, %v, want %v", got, err, root)
		}
		included, err := tree.Inclusion(ctx, position, size)
		if err != nil || !slices.Equal(hashes(included), hashes(wantRecord)) {
			t.Errorf("the inclusion proof is\n%v, %v, want\n%v", included, err, wantRecord)
		}
		consistent, err := tree.Consistency(ctx, size, n)
		if err != nil || !slices.Equal(hashes(consistent), hashes(wantTree)) {
			t.Errorf("the consistency proof is\n%v, %v, want\n%v", consistent, err, wantTree)
		}
	}
	leaf := tlog.RecordHash(seal.AppendLeaf(nil, l.entries[position-1]))
	if err := tlog.CheckRecord(wantRecord, size, smaller, position-1, leaf); err != nil {
		t.Error(err)
	}
	if err := proof.VerifyInclusion(rfc6962.DefaultHasher, uint64(position-1), uint64(size), leaf[:], bytesOf(wantRecord), smaller[:]); err != nil {
		t.Error(err)
	}
	if err := tlog.CheckTree(wantTree, n, root, size, smaller); err != nil {
		t.Error(err)
	}
	if err := proof.VerifyConsistency(rfc6962.DefaultHasher, uint64(size), uint64(n), bytesOf(wantTree), smaller[:], root[:]); err != nil {
		t.Error(err)
	}
}

// hashes returns hashes in the same form, whoever made them.
func hashes[H tlog.Hash | []byte](list []H) []tlog.Hash {
	var all []tlog.Hash
	for _, h := range list {
		all = append(all, tlog.Hash(h))
	}
	return all
}

func bytesOf(list []tlog.Hash) [][]byte {
	var all [][]byte
	for _, h := range list {
		all = append(all, h[:])
	}
	return all
}
