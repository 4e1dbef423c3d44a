package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/p20export/p20export/store"
)

// handleTests use a second handle of the same log.
func handleTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"handles/see each other":             handlesAgree,
		"handles/one appender wins each":     func(f *fixture) { o := f.other(); race(f, []store.Log{f.log, o, f.log, o}) },
		"handles/follow from the middle":     func(f *fixture) { followFrom(f, f.log, f.other(), 5, 3) },
		"handles/follow before the thread":   func(f *fixture) { followFrom(f, f.log, f.other(), 0, 0) },
		"handles/many followers":             func(f *fixture) { manyFollowers(f, f.log, f.other()) },
		"handles/follow a deleted thread":    func(f *fixture) { followDeleted(f, f.log, f.other()) },
		"handles/follow a packed thread":     func(f *fixture) { followPacked(f, f.log, f.other()) },
		"handles/closed":                     handleClosed,
		"handles/closed while it appends":    closedWhileAppending,
		"handles/pack while others append":   func(f *fixture) { packWhileAppending(f, f.other()) },
		"handles/hold leases":                func(f *fixture) { twoHolders(f, f.other()) },
		"handles/share a lease":              func(f *fixture) { sharedLease(f, f.other()) },
		"handles/seal at the same time":      func(f *fixture) { raceSeals(f, f.log, f.other()) },
		"handles/delete while others append": func(f *fixture) { deleteWhileAppending(f, f.other()) },
	}
}

func handlesAgree(f *fixture) {
	other := f.other()
	k := key("t")
	f.append(k, 0, input("s"), started("s", "r", ""))
	last, err := other.Append(f.ctx, k, 2, []store.Entry{custom("s"), finished("s")})
	if err != nil || last != 4 {
		f.Fatalf("Append = %d, %v", last, err)
	}
	_, err = f.log.Append(f.ctx, k, 2, []store.Entry{custom("s")})
	fails(f, "a handle that is late", err, store.ErrConflict)
	items := []item{
		{Entry: input("s")}, {Entry: started("s", "r", ""), typ: "RUN_STARTED", run: "r"},
		{Entry: custom("s"), typ: "CUSTOM"}, {Entry: finished("s"), typ: "RUN_FINISHED", end: store.Finished},
	}
	for _, log := range []store.Log{f.log, other} {
		expect(k, items).check(f, log, k)
	}
	f.append(k, 4, end("s"))
	if p, err := other.Pack(f.ctx, k); err != nil || p.Entries != 5 {
		f.Errorf("Pack = %+v, %v", p, err)
	}
	expect(k, append(items, item{Entry: end("s")})).check(f, f.log, k)
	if p := f.pack(k); p.Entries != 0 {
		f.Errorf("Pack of what the other handle packed = %+v", p)
	}
	if _, err := other.Delete(f.ctx, k); err != nil {
		f.Fatal(err)
	}
	_, err = f.log.Append(f.ctx, k, 5, []store.Entry{custom("q")})
	fails(f, "Append to what the other handle deleted", err, store.ErrDeleted)
}

// handleClosed closes one handle. The other goes on, and a third finds everything.
func handleClosed(f *fixture) {
	other := f.other()
	k := key("t")
	f.append(k, 0, started("s", "r", ""))
	if err := other.Close(); err != nil {
		f.Fatal(err)
	}
	f.append(k, 1, finished("s"))
	if err := f.log.Close(); err != nil {
		f.Fatal(err)
	}
	items := []item{
		{Entry: started("s", "r", ""), typ: "RUN_STARTED", run: "r"},
		{Entry: finished("s"), typ: "RUN_FINISHED", end: store.Finished},
	}
	expect(k, items).check(f, f.other(), k)
}

func closeTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"close/an empty log": closeTwice,
		"close/use after":    useAfterClose,
		"close/in a loop":    closeInLoop,
	}
}

func closeTwice(f *fixture) {
	for range 3 {
		if err := f.log.Close(); err != nil {
			f.Errorf("Close: %v", err)
		}
	}
}

func useAfterClose(f *fixture) {
	k := key("t")
	f.append(k, 0, started("s", "r", ""), finished("s"), end("s"))
	entries, followed := f.log.Read(f.ctx, k, 0), f.log.Follow(f.ctx, k, 0)
	closeTwice(f)
	_, err := f.log.Append(f.ctx, k, 3, []store.Entry{custom("q")})
	fails(f, "Append", err, store.ErrClosed)
	_, err = f.log.Append(f.ctx, k, 3, nil)
	fails(f, "Append of nothing", err, store.ErrClosed)
	_, err = f.log.Thread(f.ctx, k)
	fails(f, "Thread", err, store.ErrClosed)
	_, err = f.log.Stream(f.ctx, k, "s")
	fails(f, "Stream", err, store.ErrClosed)
	_, err = f.log.Pack(f.ctx, k)
	fails(f, "Pack", err, store.ErrClosed)
	_, err = f.log.Delete(f.ctx, k)
	fails(f, "Delete", err, store.ErrClosed)
	_, err = f.log.Stat(f.ctx)
	fails(f, "Stat", err, store.ErrClosed)
	fails(f, "Read", last(f, entries), store.ErrClosed)
	fails(f, "Follow", last(f, followed), store.ErrClosed)
	fails(f, "Threads", last(f, f.log.Threads(f.ctx, store.ThreadQuery{})), store.ErrClosed)
	fails(f, "Runs", last(f, f.log.Runs(f.ctx, store.RunQuery{})), store.ErrClosed)
	fails(f, "Streams", last(f, f.log.Streams(f.ctx, store.StreamQuery{})), store.ErrClosed)
	_, err = f.leaser(f.log).Leases(f.ctx, func(string) {})
	fails(f, "Leases", err, store.ErrClosed)
}

// closeInLoop closes the log while it is read. The loop ends with ErrClosed, or has all
// entries.
func closeInLoop(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 3000)
	n, err := f.numbersOf(f.log.Read(f.ctx, k, 0), func(n int64) {
		if n == 1 {
			closeTwice(f)
		}
	})
	if err != nil {
		fails(f, "Read", err, store.ErrClosed)
	} else if n != 3000 {
		f.Errorf("%d entries and no error, want 3000", n)
	}
}

// closedWhileAppending closes a handle while others use it to append. What was acknowledged
// is in the log.
func closedWhileAppending(f *fixture) {
	log := f.other()
	var group sync.WaitGroup
	won := make([]int64, 4)
	enough := make(chan struct{})
	var once sync.Once
	for n := range won {
		group.Go(func() {
			k := key(fmt.Sprint(n))
			for {
				last, err := log.Append(f.ctx, k, won[n], []store.Entry{event("s", fmt.Sprint(won[n]+1))})
				if err != nil {
					fails(f, "Append", err, store.ErrClosed)
					once.Do(func() { close(enough) })
					return
				}
				if won[n] = last; last == 20 {
					once.Do(func() { close(enough) })
				}
			}
		})
	}
	<-enough
	if err := log.Close(); err != nil {
		f.Errorf("Close: %v", err)
	}
	group.Wait()
	for n, want := range won {
		entries := f.read(key(fmt.Sprint(n)), 0)
		for i := range entries {
			f.isNumber(&entries[i], int64(i)+1)
		}
		if n := int64(len(entries)); n < want || n > want+1 {
			f.Errorf("%d entries are in the log, %d were acknowledged", n, want)
		}
	}
}

func leaseTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"leases/of one holder":        oneHolder,
		"leases/of two holders":       func(f *fixture) { twoHolders(f, f.log) },
		"leases/one caller takes it":  oneTakes,
		"leases/shared":               func(f *fixture) { sharedLease(f, f.log) },
		"leases/names are opaque":     leaseNames,
		"leases/a cancelled context":  leasesCancelled,
		"leases/close while it takes": closedWhileTaking,
	}
}

func (f *fixture) leaser(log store.Log) store.Leaser {
	f.Helper()
	leaser, ok := log.(store.Leaser)
	if !ok {
		f.Fatal("the log has no leases")
	}
	return leaser
}

// leases begins to hold leases. None may be lost.
func (f *fixture) leases(log store.Log) store.Leases {
	f.Helper()
	leases, err := f.leaser(log).Leases(f.ctx, func(name string) { f.Errorf("the lease %q is lost", name) })
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { f.closeLeases(leases) })
	return leases
}

func (f *fixture) closeLeases(leases store.Leases) {
	f.Helper()
	if err := leases.Close(); err != nil {
		f.Errorf("Close: %v", err)
	}
}

// takes takes a lease and checks whether it could.
func (f *fixture) takes(leases store.Leases, name string, want bool) {
	f.Helper()
	if got, err := leases.Take(f.ctx, name); got != want || err != nil {
		f.Errorf("Take(%q) = %t, %v, want %t", name, got, err, want)
	}
}

func oneHolder(f *fixture) {
	leases := f.leases(f.log)
	f.takes(leases, "a", true)
	f.takes(leases, "b", true)
	f.takes(leases, "a", false)
	leases.Release("a")
	leases.Release("a")
	leases.Release("c")
	f.takes(leases, "a", true)
	f.takes(leases, "b", false)
	for range 2 {
		f.closeLeases(leases)
	}
	leases.Release("a")
	_, err := leases.Take(f.ctx, "a")
	fails(f, "Take after Close", err, store.ErrClosed)
	next := f.leases(f.log)
	f.takes(next, "a", true)
	f.takes(next, "b", true)
	leases.Release("a")
	f.takes(next, "a", false)
}

// twoHolders holds leases of a log twice. Each is at one holder, unless the log has one holder.
func twoHolders(f *fixture, other store.Log) {
	first := f.leases(f.log)
	f.takes(first, "a", true)
	second, err := f.leaser(other).Leases(f.ctx, func(string) {})
	if errors.Is(err, store.ErrLeased) {
		f.closeLeases(first)
		second = f.leases(other)
		f.takes(second, "a", true)
		_, err := f.leaser(f.log).Leases(f.ctx, func(string) {})
		fails(f, "the first again", err, store.ErrLeased)
		return
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { f.closeLeases(second) })
	f.takes(second, "a", false)
	f.takes(second, "b", true)
	second.Release("a") // which the other has
	f.takes(second, "a", false)
	first.Release("a")
	f.takes(second, "a", true)
	f.takes(first, "a", false)
	f.closeLeases(second)
	f.takes(first, "a", true)
	f.takes(first, "b", true)
}

// shares shares a lease and checks whether it could.
func (f *fixture) shares(leases store.Leases, name string, want bool) {
	f.Helper()
	if got, err := leases.Share(f.ctx, name); got != want || err != nil {
		f.Errorf("Share(%q) = %t, %v, want %t", name, got, err, want)
	}
}

// sharedLease shares a lease, between two holders if the log can have two. Nobody can take it.
func sharedLease(f *fixture, other store.Log) {
	first := f.leases(f.log)
	f.shares(first, "a", true)
	f.shares(first, "a", false)
	f.takes(first, "a", false)
	first.Release("a")
	f.takes(first, "a", true)
	f.shares(first, "a", false)
	first.Release("a")
	second, err := f.leaser(other).Leases(f.ctx, func(string) {})
	if errors.Is(err, store.ErrLeased) {
		return
	}
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { f.closeLeases(second) })
	f.shares(first, "a", true)
	f.shares(second, "a", true)
	first.Release("a")
	f.takes(first, "a", false)
	f.shares(first, "a", true)
	f.closeLeases(second)
	f.takes(first, "a", false)
	first.Release("a")
	f.takes(first, "a", true)
}

// oneTakes takes each of several leases from several goroutines at once.
func oneTakes(f *fixture) {
	const names = 20
	leases := f.leases(f.log)
	var taken [names]atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for n := range names {
				ok, err := leases.Take(f.ctx, fmt.Sprint(n))
				if err != nil {
					f.Error(err)
				}
				if ok {
					taken[n].Add(1)
				}
			}
		})
	}
	group.Wait()
	for n := range names {
		equal(f, fmt.Sprintf("how many took lease %d", n), taken[n].Load(), 1)
	}
}

func leaseNames(f *fixture) {
	leases := f.leases(f.log)
	names := []string{"", "a", "A", "a ", "a\x00", "\x00a", "\xff", "\xfe", "é", "e\u0301", strings.Repeat("x", 4096), strings.Repeat("x", 4097)}
	for _, name := range names {
		f.takes(leases, name, true)
	}
	for _, name := range names {
		f.takes(leases, name, false)
	}
}

func leasesCancelled(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	leases, err := f.leaser(f.log).Leases(ctx, func(name string) { f.Errorf("the lease %q is lost", name) })
	if err != nil {
		f.Fatal(err)
	}
	f.takes(leases, "a", true)
	cancel()
	_, err = leases.Take(ctx, "b")
	fails(f, "Take", err, context.Canceled)
	_, err = f.leaser(f.log).Leases(ctx, func(string) {})
	fails(f, "Leases", err, context.Canceled)
	f.takes(leases, "a", false)
	f.takes(leases, "b", true)
	f.closeLeases(leases)
}

// closedWhileTaking closes a holder while others use it. The next holder can take all leases.
func closedWhileTaking(f *fixture) {
	leases := f.leases(f.log)
	var group sync.WaitGroup
	enough := make(chan struct{})
	var once sync.Once
	for n := range 4 {
		group.Go(func() {
			name := fmt.Sprint(n)
			for i := 0; ; i++ {
				if _, err := leases.Take(f.ctx, name); err != nil {
					fails(f, "Take", err, store.ErrClosed)
					return
				}
				if leases.Release(name); i == 5 {
					once.Do(func() { close(enough) })
				}
			}
		})
	}
	<-enough
	f.closeLeases(leases)
	group.Wait()
	next := f.leases(f.log)
	for n := range 4 {
		f.takes(next, fmt.Sprint(n), true)
	}
}
