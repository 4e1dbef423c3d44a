package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/p20export/p20export/store"
)

func readTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"read/after a position":           readAfter,
		"read/again":                      readAgain,
		"read/while others append":        readWhileAppending,
		"read/does not see later ones":    readSnapshot,
		"read/cancelled in the middle":    readCancelled,
		"read/from many places at once":   readersAtOnce,
		"read/an iterator in another":     nestedReads,
		"read/thousands of small batches": manyBatches,
		"read/events of some types":       readTypes,
		"read/selections":                 readSelections,
	}
}

// numbered appends entries whose data are their positions.
func (f *fixture) numbered(log store.Log, k store.Key, after int64, n int) int64 {
	f.Helper()
	batch := make([]store.Entry, n)
	for i := range batch {
		batch[i] = event("s", fmt.Sprint(after+int64(i)+1))
	}
	last, err := log.Append(f.ctx, k, after, batch)
	if err != nil {
		f.Errorf("Append after %d: %v", after, err)
	}
	return last
}

// isNumber reports an error unless the data of an entry are its position, which is want.
func (f *fixture) isNumber(e *store.Entry, want int64) bool {
	f.Helper()
	if e.Position != want || string(e.Data) != fmt.Sprint(want) {
		f.Errorf("entry %q is at position %d, want %d", e.Data, e.Position, want)
		return false
	}
	return true
}

func readAfter(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 10)
	for after, want := range map[int64]int{-1 << 63: 10, -1: 10, 0: 10, 1: 9, 9: 1, 10: 0, 11: 0, 1<<63 - 1: 0} {
		got := f.read(k, after)
		if len(got) != want {
			f.Errorf("Read after %d: %d entries, want %d", after, len(got), want)
		}
		for i := range got {
			f.isNumber(&got[i], max(after, 0)+int64(i)+1)
		}
	}
}

// readTypes reads events of some types while parts of the thread are packed.
func readTypes(f *fixture) {
	k := key("t")
	if got := collect(f, f.log.Select(f.ctx, k, store.Events(0, 10, "CUSTOM"))); len(got) != 0 {
		f.Errorf("no thread has %d events", len(got))
	}
	after := int64(0)
	for part := range 4 {
		var batch []store.Entry
		for i := range 200 {
			s := fmt.Sprintf("s%d-%d", part, i)
			batch = append(batch, input(s), started(s, s, ""), custom(s), event(s, "torn {"), custom(s), finished(s))
			if i != 100 { // this stream is not packed
				batch = append(batch, end(s))
			}
		}
		after = f.append(k, after, spread(batch...)...)
		if part%2 == 0 {
			f.pack(k)
		}
	}
	all := f.read(k, 0)
	for _, types := range [][]string{{"CUSTOM"}, {"RUN_FINISHED", "RUN_STARTED"}, {"NONE"}, {""}, nil} {
		for _, part := range [][2]int64{{-5, after + 5}, {0, after}, {100, 300}, {1403, 1404}, {after, after}, {50, 20}} {
			var want []store.Entry
			for _, e := range all {
				if e.Kind == store.Event && (types == nil || slices.Contains(types, e.Type)) && e.Position > part[0] && e.Position <= part[1] {
					want = append(want, e)
				}
			}
			equal(f, fmt.Sprintf("events of %q after %d up to %d", types, part[0], part[1]), collect(f, f.log.Select(f.ctx, k, store.Events(part[0], part[1], types...))), want)
		}
	}
	for range f.log.Select(f.ctx, k, store.Events(0, after, "CUSTOM")) {
		break
	}
	if _, err := f.log.Delete(f.ctx, k); err != nil {
		f.Fatal(err)
	}
	fails(f, "Select of a deleted thread", last(f, f.log.Select(f.ctx, k, store.Events(0, after, "CUSTOM"))), store.ErrDeleted)
}

func readAgain(f *fixture) {
	k := key("t")
	entries := f.log.Read(f.ctx, k, 1)
	for n := range 3 {
		if got := collect(f, entries); len(got) != max(2*n-1, 0) {
			f.Errorf("iteration %d: %d entries", n+1, len(got))
		}
		f.numbered(f.log, k, int64(2*n), 2)
	}
}

func readSnapshot(f *fixture) {
	k := key("t")
	after := f.numbered(f.log, k, 0, 500)
	n := int64(0)
	for e, err := range f.log.Read(f.ctx, k, 0) {
		if err != nil {
			f.Fatal(err)
		}
		n++
		f.isNumber(e, n)
		if n%100 == 1 {
			after = f.numbered(f.log, k, after, 3)
		}
	}
	if n != 500 {
		f.Errorf("%d entries, want 500: those that existed at the beginning", n)
	}
}

// readWhileAppending reads prefixes while batches of 7 are appended. A reader must see
// batches as a whole.
func readWhileAppending(f *fixture) {
	const batches = 60
	k := key("t")
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for i := range int64(batches) {
			f.numbered(f.log, k, 7*i, 7)
		}
	})
	for range 3 {
		group.Go(func() {
			for before, last := int64(0), false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				n := int64(0)
				for e, err := range f.log.Read(f.ctx, k, 0) {
					if err != nil {
						f.Errorf("Read: %v", err)
						return
					}
					if n++; !f.isNumber(e, n) {
						return
					}
				}
				if n%7 != 0 || n < before || last && n != 7*batches {
					f.Errorf("%d entries after %d, at the end %t", n, before, last)
				}
				before = n
			}
		})
	}
	group.Wait()
}

func readCancelled(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 5000)
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	n, err := f.numbersOf(f.log.Read(ctx, k, 0), func(n int64) {
		if n == 10 {
			cancel()
		}
	})
	fails(f, "Read", err, context.Canceled)
	if n >= 5000 {
		f.Errorf("%d entries were read", n)
	}
}

func readersAtOnce(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 300)
	var group sync.WaitGroup
	for after := int64(0); after < 300; after += 20 {
		group.Go(func() {
			n := after
			for e, err := range f.log.Read(f.ctx, k, after) {
				if err != nil {
					f.Errorf("Read after %d: %v", after, err)
					return
				}
				n++
				f.isNumber(e, n)
			}
			if n != 300 {
				f.Errorf("Read after %d ends at %d", after, n)
			}
		})
	}
	group.Wait()
}

func nestedReads(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 30)
	n := int64(0)
	for e, err := range f.log.Read(f.ctx, k, 0) {
		if err != nil {
			f.Fatal(err)
		}
		n++
		for inner, err := range f.log.Read(f.ctx, k, n-1) {
			if err != nil {
				f.Fatal(err)
			}
			f.isNumber(inner, n)
			break
		}
		f.isNumber(e, n) // it is valid until the next one of its own iterator
	}
	if n != 30 {
		f.Errorf("%d entries", n)
	}
}

func manyBatches(f *fixture) {
	k := key("t")
	for i := range int64(1000) {
		f.numbered(f.log, k, i, 1)
	}
	n := int64(0)
	for e, err := range f.log.Read(f.ctx, k, 0) {
		if err != nil {
			f.Fatal(err)
		}
		n++
		f.isNumber(e, n)
	}
	if n != 1000 {
		f.Errorf("%d entries", n)
	}
}

// oldThread is a thread of a log that an earlier program wrote.
type oldThread struct {
	key     store.Key
	items   []item
	packed  int64
	deleted bool
}

// oldThreads returns the threads of the logs in the directories testdata of adapters. The
// program that wrote them appended the entries of each thread at once, packed all threads, and
// then deleted one.
func oldThreads() []oldThread {
	of := func(e store.Entry, typ string, arrived int64) item {
		if e.Kind == store.Event {
			e.Arrived = at(arrived)
		}
		return item{Entry: e, typ: typ}
	}
	r1, done, r2 := of(started("a", "r1", ""), "RUN_STARTED", 2), of(finished("a"), "RUN_FINISHED", 3), of(started("b", "r2", "r1"), "RUN_STARTED", 4)
	r1.run, r2.run, r2.parent, done.end = "r1", "r2", "r1", store.Finished
	return []oldThread{
		{key: store.Key{Thread: "packed"}, packed: 5, items: []item{
			of(input("a"), "", 0), r1, of(event("a", "torn {\x00\xff"), "", -1), done, of(end("a"), "", 0), of(input("b"), "", 0), r2, of(custom("b"), "CUSTOM", 5),
		}},
		{key: store.Key{Tenant: "x", Thread: "open"}, packed: 2, items: []item{
			of(custom("serve:1"), "CUSTOM", 0), of(custom("c"), "CUSTOM", 0), of(end("c"), "", 0),
		}},
		{key: store.Key{Tenant: "x", Thread: "deleted"}, packed: 1, deleted: true, items: []item{of(custom("d"), "CUSTOM", 0), of(end("e"), "", 0)}},
	}
}

// Upgraded checks a log that an earlier program wrote and that was opened now. It finds the open
// streams, ends them, keeps derived data, and seals, packs and deletes all threads.
func Upgraded(t *testing.T, log store.Log) {
	f := &fixture{T: t, log: log, ctx: t.Context()}
	var open []string
	for _, s := range list(f, log.Streams(f.ctx, store.StreamQuery{Open: true})) {
		open = append(open, fmt.Sprint(s.Tenant, " ", s.Thread, " ", s.ID))
	}
	equal(f, "the open streams", open, []string{" packed b", "x open serve:1"})
	for _, old := range oldThreads() {
		before := f.thread(old.key)
		if before.Packed != old.packed || before.DeletedAt.IsZero() == old.deleted {
			f.Errorf("the thread is %+v", before)
		}
		if before.Sealed != 0 || len(f.seals(old.key, 0)) > 0 {
			f.Errorf("a thread of a log without seals has them: %+v", before)
		}
		if old.deleted {
			fails(f, "Read of a deleted thread", last(f, log.Read(f.ctx, old.key, 0)), store.ErrDeleted)
			fails(f, "Seal of a deleted thread", log.Seal(f.ctx, old.key, sealOf(1), store.Blocks{}), store.ErrDeleted)
			fails(f, "Keep of a deleted thread", log.Keep(f.ctx, old.key, "kind", []store.Derived{{Position: 1}}), store.ErrDeleted)
			continue
		}
		f.seal(old.key, sealOf(before.Last), store.Blocks{})
		if got := f.kept(old.key, "kind", 1, before.Last, true); len(got) > 0 {
			f.Errorf("a thread of a log without derived data has it: %+v", got)
		}
		f.keep(old.key, "kind", store.Derived{Position: before.Last, Data: []byte("data")})
		expect(old.key, old.items).check(f, log, old.key)
		for _, s := range list(f, log.Streams(f.ctx, store.StreamQuery{Tenant: &old.key.Tenant, Thread: &old.key.Thread, Open: true})) {
			f.append(old.key, int64(len(old.items)), end(s.ID))
			old.items = append(old.items, item{Entry: end(s.ID)})
		}
		if old.packed == 0 {
			f.packs(old.key, int64(len(old.items)), int64(len(old.items)))
		} else {
			f.pack(old.key) // what is left is small
		}
		expect(old.key, old.items).check(f, log, old.key)
		f.seal(old.key, sealOf(int64(len(old.items))), store.Blocks{})
		equal(f, "the seals", f.seals(old.key, 0), []int64{before.Last, int64(len(old.items))})
	}
	equal(f, "the open streams", list(f, log.Streams(f.ctx, store.StreamQuery{Open: true})), nil)
	for _, old := range oldThreads() {
		if _, err := log.Delete(f.ctx, old.key); err != nil {
			f.Error(err)
		}
	}
	equal(f, "the streams", list(f, log.Streams(f.ctx, store.StreamQuery{})), nil)
	for _, old := range oldThreads() {
		if got := f.kept(old.key, "kind", 1, 100, true); len(got) > 0 {
			f.Errorf("a deleted thread has derived data: %+v", got)
		}
	}
}
