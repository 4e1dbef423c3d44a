package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/p20export/p20export/store"
)

func deleteTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"delete/leaves a mark":       deleteMark,
		"delete/packed":              deletePacked,
		"delete/no thread":           deleteNothing,
		"delete/while it is read":    deleteWhileReading,
		"delete/one thread of many":  deleteOne,
		"delete/while others append": func(f *fixture) { deleteWhileAppending(f, f.log) },
	}
}

func deleteMark(f *fixture) {
	k := key("t")
	f.append(k, 0, input("s"), started("s", "r", ""), finished("s"))
	before := f.thread(k)
	deleted, err := f.log.Delete(f.ctx, k)
	if err != nil {
		f.Fatal(err)
	}
	if deleted.DeletedAt.Before(before.UpdatedAt) {
		f.Errorf("deleted at %v, updated at %v", deleted.DeletedAt, before.UpdatedAt)
	}
	before.DeletedAt = deleted.DeletedAt
	equal(f, "Delete", deleted, before)
	for range 2 { // the second time after another Delete
		equal(f, "Thread after Delete", f.thread(k), before)
		for after := int64(-1); after < 5; after++ {
			_, err := f.log.Append(f.ctx, k, after, []store.Entry{custom("new")})
			fails(f, "Append", err, store.ErrDeleted)
			_, err = f.log.Append(f.ctx, k, after, nil)
			fails(f, "Append of nothing", err, store.ErrDeleted)
			fails(f, "Read", last(f, f.log.Read(f.ctx, k, after)), store.ErrDeleted)
			fails(f, "Follow", last(f, f.log.Follow(f.ctx, k, after)), store.ErrDeleted)
		}
		if s, err := f.log.Stream(f.ctx, k, "s"); err != nil || s != (store.Stream{}) {
			f.Errorf("Stream after Delete = %+v, %v", s, err)
		}
		if runs := f.runs(store.RunQuery{}); len(runs) != 0 {
			f.Errorf("runs after Delete: %+v", runs)
		}
		again, err := f.log.Delete(f.ctx, k)
		if err != nil {
			f.Fatal(err)
		}
		equal(f, "a second Delete", again, before)
	}
}

func deletePacked(f *fixture) {
	k := key("t")
	f.append(k, 0, started("s", "r", ""), finished("s"), end("s"), started("q", "r", ""))
	f.pack(k)
	before := f.thread(k)
	deleted, err := f.log.Delete(f.ctx, k)
	if err != nil {
		f.Fatal(err)
	}
	before.DeletedAt = deleted.DeletedAt
	equal(f, "Delete", deleted, before)
	fails(f, "Read", last(f, f.log.Read(f.ctx, k, 0)), store.ErrDeleted)
}

func deleteNothing(f *fixture) {
	_, err := f.log.Delete(f.ctx, key("t"))
	fails(f, "Delete of no thread", err, store.ErrNoThread)
	f.append(key("t"), 0, custom("s")) // no mark was left
}

// deleteWhileReading deletes a thread while an iterator is in it. The iterator yields all
// entries, or ends with ErrDeleted.
func deleteWhileReading(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 3000)
	n, err := f.numbersOf(f.log.Read(f.ctx, k, 0), func(n int64) {
		if n == 1 {
			if _, err := f.log.Delete(f.ctx, k); err != nil {
				f.Fatal(err)
			}
		}
	})
	if err != nil {
		fails(f, "Read", err, store.ErrDeleted)
	} else if n != 3000 {
		f.Errorf("%d entries and no error, want 3000", n)
	}
}

// deleteWhileAppending deletes a thread with another handle while others append. No append
// may succeed after the deletion, and what was deleted must have all of them.
func deleteWhileAppending(f *fixture, other store.Log) {
	k := key("t")
	f.numbered(f.log, k, 0, 1)
	var group sync.WaitGroup
	won := make([]int64, 4)
	enough := make(chan struct{})
	var once sync.Once
	for n := range won {
		group.Go(func() {
			for after := int64(1); ; {
				last, err := f.log.Append(f.ctx, k, after, []store.Entry{event("s", fmt.Sprint(n))})
				var conflict *store.ConflictError
				switch {
				case errors.As(err, &conflict):
					after = conflict.Last
				case errors.Is(err, store.ErrDeleted):
					return
				case err != nil:
					f.Errorf("Append: %v", err)
					once.Do(func() { close(enough) })
					return
				default:
					after, won[n] = last, won[n]+1
					if last > 50 {
						once.Do(func() { close(enough) })
					}
				}
			}
		})
	}
	<-enough
	deleted, err := other.Delete(f.ctx, k)
	if err != nil {
		f.Fatal(err)
	}
	group.Wait()
	all := int64(1)
	for _, n := range won {
		all += n
	}
	if deleted.Last != all {
		f.Errorf("Delete says that there were %d entries; %d were appended", deleted.Last, all)
	}
}

func deleteOne(f *fixture) {
	k, other := key("t"), key("t2")
	for i := range int64(3) {
		f.append(k, i, started("s", "r", ""))
		f.append(other, i, started("s", "r", ""))
	}
	before, runs := f.read(other, 0), f.runs(store.RunQuery{Thread: &other.Thread})
	if _, err := f.log.Delete(f.ctx, k); err != nil {
		f.Fatal(err)
	}
	equal(f, "the other thread", f.read(other, 0), before)
	equal(f, "the runs that are left", f.runs(store.RunQuery{}), runs)
	f.append(other, 3, finished("s"))
}
