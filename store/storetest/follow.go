package storetest

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/p20export/p20export/store"
)

func followTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"follow/from the beginning": func(f *fixture) { followFrom(f, f.log, f.log, 5, 0) },
		"follow/from the middle":    func(f *fixture) { followFrom(f, f.log, f.log, 5, 3) },
		"follow/from the end":       func(f *fixture) { followFrom(f, f.log, f.log, 5, 5) },
		"follow/from later":         followLater,
		"follow/before the thread":  func(f *fixture) { followFrom(f, f.log, f.log, 0, 0) },
		"follow/many followers":     func(f *fixture) { manyFollowers(f, f.log, f.log) },
		"follow/other threads":      followOther,
		"follow/cancelled":          followCancelled,
		"follow/deleted":            func(f *fixture) { followDeleted(f, f.log, f.log) },
		"follow/packed":             func(f *fixture) { followPacked(f, f.log, f.log) },
		"follow/a slow follower":    slowFollower,
		"follow/closed":             followClosed,
		"follow/many threads":       manyThreads,
	}
}

// next returns the next entry of a follower.
func next(f *fixture, pull func() (*store.Entry, error, bool)) *store.Entry {
	f.Helper()
	e, err, ok := pull()
	if err != nil || !ok {
		f.Fatalf("the follower ends with the error %v", err)
	}
	return e
}

// followFrom follows a thread of log after a position while another handle appends.
func followFrom(f *fixture, log, other store.Log, existing int, after int64) {
	k := key("t")
	last := int64(0)
	if existing > 0 {
		last = f.numbered(other, k, 0, existing)
	}
	pull, stop := iter.Pull2(log.Follow(f.ctx, k, after))
	defer stop()
	for want := after + 1; want < after+200; want++ {
		for last < want {
			last = f.numbered(other, k, last, 1+int(want%3))
		}
		if !f.isNumber(next(f, pull), want) {
			return
		}
	}
}

// followLater follows threads after entries that they do not have.
func followLater(f *fixture) {
	f.numbered(f.log, key("t"), 0, 5)
	for thread, after := range map[string]int64{"t": 6, "none": 1} {
		fails(f, "Follow after the last entry", last(f, f.log.Follow(f.ctx, key(thread), after)), store.ErrRewound)
	}
}

// manyFollowers follows a thread from several places while it grows.
func manyFollowers(f *fixture, log, other store.Log) {
	const first, last = 70, 400
	k := key("t")
	f.numbered(other, k, 0, first)
	var group sync.WaitGroup
	for n := range int64(8) {
		group.Go(func() {
			want := 10*n + 1
			for e, err := range log.Follow(f.ctx, k, 10*n) {
				if err != nil {
					f.Errorf("follower %d: %v", n, err)
					return
				}
				if !f.isNumber(e, want) || want == last {
					return
				}
				want++
			}
		})
	}
	for i := int64(first); i < last; i += 3 {
		f.numbered(other, k, i, 3)
	}
	group.Wait()
}

// followOther checks that a follower sees only its thread, although others change.
func followOther(f *fixture) {
	pull, stop := iter.Pull2(f.log.Follow(f.ctx, key("t"), 0))
	defer stop()
	for i := range int64(20) {
		for _, k := range []store.Key{key("u"), {Tenant: "other", Thread: "t"}, {Thread: "t"}} {
			f.append(k, i, event("s", "of another thread"))
		}
		f.numbered(f.log, key("t"), i, 1)
		f.isNumber(next(f, pull), i+1)
	}
}

func followCancelled(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 2)
	for _, cancelAt := range []int64{0, 1, 2} {
		ctx, cancel := context.WithCancel(f.ctx)
		if cancelAt == 0 {
			cancel()
		}
		_, err := f.numbersOf(f.log.Follow(ctx, k, 0), func(n int64) {
			if n == cancelAt {
				cancel()
			}
		})
		fails(f, "Follow", err, context.Canceled)
		cancel()
	}
	// A follower that waits is cancelled as well.
	ctx, cancel := context.WithCancel(f.ctx)
	pull, stop := iter.Pull2(f.log.Follow(ctx, k, 1))
	defer stop()
	f.isNumber(next(f, pull), 2)
	ended := make(chan error)
	go func() {
		_, err, _ := pull()
		ended <- err
	}()
	cancel()
	fails(f, "a follower that waits", <-ended, context.Canceled)
	f.numbered(f.log, k, 2, 1)
}

// followDeleted deletes a thread that is followed.
func followDeleted(f *fixture, log, other store.Log) {
	k := key("t")
	f.numbered(other, k, 0, 3)
	pull, stop := iter.Pull2(log.Follow(f.ctx, k, 2))
	defer stop()
	f.isNumber(next(f, pull), 3)
	ended := make(chan error)
	go func() {
		_, err, _ := pull()
		ended <- err
	}()
	if _, err := other.Delete(f.ctx, k); err != nil {
		f.Error(err)
	}
	fails(f, "a follower of a deleted thread", <-ended, store.ErrDeleted)
	for after := range int64(5) {
		fails(f, "Follow after the deletion", last(f, log.Follow(f.ctx, k, after)), store.ErrDeleted)
	}
}

// followPacked packs a thread while it is followed.
func followPacked(f *fixture, log, other store.Log) {
	k := key("t")
	pull, stop := iter.Pull2(log.Follow(f.ctx, k, 0))
	defer stop()
	late := func(after int64) []store.Entry { return collect(f, log.Read(f.ctx, k, after)) }
	position := int64(0)
	for range 10 {
		batch := []store.Entry{started("s", "r", ""), custom("s"), finished("s"), started("s", "q", "r")}
		last, err := other.Append(f.ctx, k, position, batch)
		if err != nil {
			f.Fatal(err)
		}
		for i := range batch {
			if i == 1 {
				if _, err := other.Pack(f.ctx, k); err != nil {
					f.Fatal(err)
				}
			}
			position++
			if e := next(f, pull); e.Position != position || string(e.Data) != string(batch[i].Data) {
				f.Fatalf("position %d: %+v", position, e)
			}
		}
		if got := late(last - 4); len(got) != 4 || string(got[1].Data) != string(batch[1].Data) {
			f.Fatalf("Read after %d: %+v", last-4, got)
		}
	}
}

// slowFollower stops reading while very many entries are appended.
func slowFollower(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 1)
	pull, stop := iter.Pull2(f.log.Follow(f.ctx, k, 0))
	defer stop()
	f.isNumber(next(f, pull), 1)
	last := int64(1)
	for range 20 {
		last = f.numbered(f.log, k, last, 1000)
	}
	for want := int64(2); want <= last; want++ {
		if !f.isNumber(next(f, pull), want) {
			return
		}
	}
}

// manyThreads follows so many threads that a follower cannot have a connection of its own.
func manyThreads(f *fixture) {
	const threads = 150
	pulls := make([]func() (*store.Entry, error, bool), threads)
	for n := range pulls {
		pull, stop := iter.Pull2(f.log.Follow(f.ctx, key(fmt.Sprint(n)), 0))
		defer stop()
		pulls[n] = pull
	}
	for round := range int64(3) {
		for n := range pulls {
			f.numbered(f.log, key(fmt.Sprint(n)), round, 1)
		}
		for _, pull := range pulls {
			f.isNumber(next(f, pull), round+1)
		}
	}
}

func followClosed(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 1)
	pull, stop := iter.Pull2(f.log.Follow(f.ctx, k, 0))
	defer stop()
	f.isNumber(next(f, pull), 1)
	ended := make(chan error)
	go func() {
		_, err, _ := pull()
		ended <- err
	}()
	if err := f.log.Close(); err != nil {
		f.Error(err)
	}
	fails(f, "a follower of a closed log", <-ended, store.ErrClosed)
}
