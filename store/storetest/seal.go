package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/p20export/p20export/store"
)

func sealTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"seal/is kept":              sealKept,
		"seal/many":                 sealMany,
		"seal/in any order":         sealOrder,
		"seal/what is refused":      sealRefused,
		"seal/blocks":               sealBlocks,
		"seal/survives pack":        sealPacked,
		"seal/of a deleted thread":  sealDeleted,
		"seal/by several at a time": func(f *fixture) { raceSeals(f, f.log, f.log) },
	}
}

// sealOf returns a seal that says little.
func sealOf(size int64) store.Seal {
	return store.Seal{Size: size, Checkpoint: []byte("a checkpoint\n\xff\x00")}
}

// seals returns the sizes of the seals of a thread, and checks that they are as sealOf made them.
func (f *fixture) seals(k store.Key, after int64) (sizes []int64) {
	f.Helper()
	for s, err := range f.log.Seals(f.ctx, k, after) {
		if err != nil {
			f.Fatal(err)
		}
		if want := sealOf(s.Size); !bytes.Equal(s.Checkpoint, want.Checkpoint) {
			f.Errorf("the checkpoint of seal %d is %q", s.Size, s.Checkpoint)
		}
		sizes = append(sizes, s.Size)
	}
	return sizes
}

func (f *fixture) seal(k store.Key, s store.Seal, b store.Blocks) {
	f.Helper()
	if err := f.log.Seal(f.ctx, k, s, b); err != nil {
		f.Fatal(err)
	}
}

func sealKept(f *fixture) {
	k, other := key("t"), store.Key{Tenant: "x", Thread: "t"}
	f.append(k, 0, started("s", "r", ""), finished("s"))
	f.append(other, 0, custom("s"))
	if got := f.thread(k).Sealed; got != 0 {
		f.Errorf("a new thread is sealed up to %d", got)
	}
	before := f.thread(k)
	checkpoint, token := []byte("one"), []byte("two")
	f.seal(k, store.Seal{Size: 2, Checkpoint: checkpoint, Token: token}, store.Blocks{})
	checkpoint[0], token[0] = 'X', 'X'
	for s, err := range f.log.Seals(f.ctx, k, 0) {
		if err != nil || s.Size != 2 || string(s.Checkpoint) != "one" || string(s.Token) != "two" {
			f.Errorf("Seals: %+v, %v", s, err)
		}
	}
	before.Sealed = 2
	equal(f, "the thread after it was sealed", f.thread(k), before)
	f.append(k, 2, end("s"))
	f.seal(k, sealOf(3), store.Blocks{})
	if got := f.seals(k, 2); !slices.Equal(got, []int64{3}) {
		f.Errorf("the seals after 2 are %v", got)
	}
	if got := f.seals(other, 0); len(got) > 0 {
		f.Errorf("the other thread has the seals %v", got)
	}
	if got := f.seals(key("none"), 0); len(got) > 0 {
		f.Errorf("a thread that does not exist has the seals %v", got)
	}
	s, err := f.log.Stat(f.ctx)
	if err != nil || s.Seals != 2 || s.Sealed != 3 || s.SealBytes != int64(len("onetwo")+len(sealOf(3).Checkpoint)) {
		f.Errorf("Stat = %+v, %v", s, err)
	}
}

func sealMany(f *fixture) {
	k := key("t")
	const n = 350
	f.append(k, 0, slices.Repeat([]store.Entry{custom("s")}, n)...)
	var want []int64
	for size := int64(1); size <= n; size++ {
		f.seal(k, sealOf(size), store.Blocks{})
		want = append(want, size)
	}
	for _, after := range []int64{-1, 0, 1, 99, 100, 200, n - 1, n, n + 5} {
		if got := f.seals(k, after); !slices.Equal(got, want[min(n, max(after, 0)):]) {
			f.Errorf("the seals after %d are %v", after, got)
		}
	}
}

func sealOrder(f *fixture) {
	k := key("t")
	f.append(k, 0, custom("s"), custom("s"), custom("s"))
	for _, size := range []int64{2, 3, 1} {
		f.seal(k, sealOf(size), store.Blocks{})
	}
	if got := f.seals(k, 0); !slices.Equal(got, []int64{1, 2, 3}) {
		f.Errorf("the seals are %v", got)
	}
	if got := f.thread(k).Sealed; got != 3 {
		f.Errorf("sealed up to %d", got)
	}
}

func sealRefused(f *fixture) {
	k := key("t")
	f.append(k, 0, custom("s"), custom("s"))
	f.seal(k, sealOf(1), store.Blocks{})
	hash := make([]byte, store.BlockHashBytes)
	long := []byte(strings.Repeat("x", store.MaxSealBytes+1))
	for name, test := range map[string]struct {
		key    store.Key
		seal   store.Seal
		blocks store.Blocks
		want   error
	}{
		"the same size":    {k, store.Seal{Size: 1, Checkpoint: []byte("other")}, store.Blocks{}, store.ErrSealed},
		"no entries":       {k, sealOf(0), store.Blocks{}, store.ErrSeal},
		"negative":         {k, sealOf(-1), store.Blocks{}, store.ErrSeal},
		"too many entries": {k, sealOf(3), store.Blocks{}, store.ErrSeal},
		"no checkpoint":    {k, store.Seal{Size: 2}, store.Blocks{}, store.ErrSeal},
		"long checkpoint":  {k, store.Seal{Size: 2, Checkpoint: long}, store.Blocks{}, store.ErrSeal},
		"long token":       {k, store.Seal{Size: 2, Checkpoint: []byte("c"), Token: long}, store.Blocks{}, store.ErrSeal},
		"blocks":           {k, sealOf(2), store.Blocks{Hashes: hash}, store.ErrSeal},
		"part of a block":  {k, sealOf(2), store.Blocks{Hashes: hash[1:]}, store.ErrSeal},
		"negative block":   {k, sealOf(2), store.Blocks{First: -1}, store.ErrSeal},
		"no thread":        {key("none"), sealOf(1), store.Blocks{}, store.ErrNoThread},
		"no key":           {store.Key{}, sealOf(1), store.Blocks{}, store.ErrKey},
	} {
		fails(f, name, f.log.Seal(f.ctx, test.key, test.seal, test.blocks), test.want)
	}
	if got := f.seals(k, 0); !slices.Equal(got, []int64{1}) {
		f.Errorf("the seals are %v", got)
	}
}

func sealBlocks(f *fixture) {
	k := key("t")
	f.append(k, 0, slices.Repeat([]store.Entry{custom("s")}, 5*store.BlockEntries)...)
	var hashes []byte
	for i := range byte(5) {
		hashes = append(hashes, bytes.Repeat([]byte{i}, store.BlockHashBytes)...)
	}
	part := func(from, to int) store.Blocks {
		return store.Blocks{First: int64(from), Hashes: hashes[from*store.BlockHashBytes : to*store.BlockHashBytes]}
	}
	check := func(n int) {
		f.Helper()
		got, err := f.log.Blocks(f.ctx, k)
		if err != nil || !bytes.Equal(got, hashes[:n*store.BlockHashBytes]) {
			f.Errorf("Blocks = %x, %v; want %d", got, err, n)
		}
	}
	check(0)
	f.seal(k, sealOf(300), part(0, 1))
	check(1)
	f.seal(k, sealOf(700), part(0, 2)) // by a process that did not know the first
	f.seal(k, sealOf(800), part(1, 3))
	check(3)
	f.seal(k, sealOf(1200), part(2, 4))
	check(4)
	f.seal(k, sealOf(1279), store.Blocks{First: 4})
	f.seal(k, sealOf(1280), part(4, 5))
	check(5)
	if got, err := f.log.Blocks(f.ctx, key("none")); err != nil || len(got) > 0 {
		f.Errorf("the blocks of a thread that does not exist are %x, %v", got, err)
	}
}

func sealPacked(f *fixture) {
	k := key("t")
	f.append(k, 0, started("s", "r", ""), finished("s"), end("s"))
	f.seal(k, sealOf(2), store.Blocks{})
	f.pack(k)
	f.seal(k, sealOf(3), store.Blocks{})
	if got := f.seals(k, 0); !slices.Equal(got, []int64{2, 3}) {
		f.Errorf("the seals are %v", got)
	}
}

func sealDeleted(f *fixture) {
	k := key("t")
	f.append(k, 0, slices.Repeat([]store.Entry{custom("s")}, store.BlockEntries+2)...)
	for _, size := range []int64{1, 2, 258} {
		blocks := store.Blocks{}
		if size == 258 {
			blocks.Hashes = make([]byte, store.BlockHashBytes)
		}
		f.seal(k, sealOf(size), blocks)
	}
	if _, err := f.log.Delete(f.ctx, k); err != nil {
		f.Fatal(err)
	}
	for range 2 {
		if got := f.seals(k, 0); !slices.Equal(got, []int64{258}) {
			f.Errorf("the deleted thread has the seals %v", got)
		}
		if got := f.thread(k).Sealed; got != 258 {
			f.Errorf("the deleted thread is sealed up to %d", got)
		}
		if got, err := f.log.Blocks(f.ctx, k); err != nil || len(got) > 0 {
			f.Errorf("the deleted thread has the blocks %x, %v", got, err)
		}
		fails(f, "Seal", f.log.Seal(f.ctx, k, sealOf(3), store.Blocks{}), store.ErrDeleted)
		if _, err := f.log.Delete(f.ctx, k); err != nil {
			f.Fatal(err)
		}
	}
	if s, err := f.log.Stat(f.ctx); err != nil || s.Seals != 0 || s.Sealed != 0 || s.SealBytes != 0 {
		f.Errorf("Stat = %+v, %v", s, err)
	}
}

// raceSeals adds seals of the same sizes at the same time. Exactly one of each size is kept.
func raceSeals(f *fixture, logs ...store.Log) {
	k := key("t")
	const sizes = 20
	f.append(k, 0, slices.Repeat([]store.Entry{custom("s")}, sizes)...)
	var kept atomic.Int64
	var all sync.WaitGroup
	for _, log := range logs {
		all.Go(func() {
			for size := int64(1); size <= sizes; size++ {
				switch err := log.Seal(f.ctx, k, sealOf(size), store.Blocks{}); {
				case err == nil:
					kept.Add(1)
				case !errors.Is(err, store.ErrSealed):
					f.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := f.seals(k, 0); len(got) != sizes || kept.Load() != sizes {
		f.Errorf("the seals are %v; %d were kept", got, kept.Load())
	}
}

// Checkpoint is the checkpoint of the seals of a process that only adds seals.
func (j *Job) Checkpoint() []byte { return fmt.Append(nil, "by ", j.Writer) }

// seal adds seals. Another process may be faster.
func (j *Job) seal(ctx context.Context, log store.Log, out io.Writer) error {
	for size := int64(1); size <= j.SealUpTo; {
		err := log.Seal(ctx, j.Key, store.Seal{Size: size, Checkpoint: j.Checkpoint()}, store.Blocks{})
		switch {
		case err == nil:
			if _, err := fmt.Fprintln(out, size); err != nil {
				return err
			}
		case strings.Contains(err.Error(), tryAgain):
			continue
		case !errors.Is(err, store.ErrSealed):
			return err
		}
		size++
	}
	return nil
}

// sealElsewhere seals a thread in two processes at the same time. Of each size, the log must have
// the seal of the process that added it.
func sealElsewhere(f *fixture) {
	const sizes = 100
	k := key("t")
	f.numbered(f.log, k, 0, sizes)
	jobs := make([]Job, 2)
	added := make([][]string, len(jobs))
	var all sync.WaitGroup
	for n := range jobs {
		jobs[n] = Job{Log: f.name, Key: k, Writer: n, SealUpTo: sizes}
		all.Go(func() { added[n] = output(f, Command(f, jobs[n])) })
	}
	all.Wait()
	var size int64
	for s, err := range f.log.Seals(f.ctx, k, 0) {
		if err != nil {
			f.Fatal(err)
		}
		size++
		for n := range jobs {
			if by := slices.Contains(added[n], fmt.Sprint(size)); by != bytes.Equal(s.Checkpoint, jobs[n].Checkpoint()) || s.Size != size {
				f.Errorf("seal %d is of the size %d and %q; process %d says that it has added it: %t", size, s.Size, s.Checkpoint, n, by)
			}
		}
	}
	if size != sizes {
		f.Errorf("there are %d seals, want %d", size, sizes)
	}
}
