package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/p20export/p20export/store"
)

// newest compares threads in the order of ThreadQuery.Newest.
func newest(a, b store.Thread) int {
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Key.Thread, b.Key.Thread))
}

// newestThreads asks for the threads after each thread, and after keys and times that no thread
// has. Only the key decides between threads with the same time.
func newestThreads(f *fixture) {
	keys := []store.Key{{Tenant: "x", Thread: "c"}, {Tenant: "", Thread: "b"}, {Tenant: "y", Thread: "a"}, {Tenant: "x", Thread: "a"}, {Tenant: "x", Thread: "b"}}
	for _, k := range keys {
		f.append(k, 0, custom("s"))
	}
	f.append(keys[0], 1, custom("s")) // now it is the newest
	if _, err := f.log.Delete(f.ctx, keys[4]); err != nil {
		f.Fatal(err)
	}
	all := list(f, f.log.Threads(f.ctx, store.ThreadQuery{Deleted: true}))
	slices.SortFunc(all, newest)
	if all[0].Key != keys[0] {
		f.Errorf("the newest thread is %v, want %v", all[0].Key, keys[0])
	}
	after := append([]store.Thread{{}}, all...)
	for _, t := range all {
		for _, k := range append(keys, store.Key{Thread: "a"}, store.Key{Tenant: "z", Thread: "z"}) {
			for _, d := range []time.Duration{-time.Microsecond, 0, time.Microsecond} {
				after = append(after, store.Thread{Key: k, UpdatedAt: t.UpdatedAt.Add(d)})
			}
		}
	}
	for _, a := range after {
		for _, tenant := range []*string{nil, new(""), new("x"), new("w")} {
			for _, deleted := range []bool{false, true} {
				var want []store.Thread
				for _, t := range all {
					if (tenant == nil || *tenant == t.Tenant) && (deleted || t.DeletedAt.IsZero()) && (a == store.Thread{} || newest(t, a) > 0) {
						want = append(want, t)
					}
				}
				got := list(f, f.log.Threads(f.ctx, store.ThreadQuery{Tenant: tenant, Deleted: deleted, Newest: true, After: a.Key, AfterAt: a.UpdatedAt}))
				equal(f, fmt.Sprintf("the newest threads after %q at %v", a.Key, a.UpdatedAt), got, want)
			}
		}
	}
	got := list(f, f.log.Threads(f.ctx, store.ThreadQuery{Newest: true, From: all[2].UpdatedAt, To: all[0].UpdatedAt, Deleted: true}))
	var want []store.Thread
	for _, t := range all {
		if !t.UpdatedAt.Before(all[2].UpdatedAt) && t.UpdatedAt.Before(all[0].UpdatedAt) {
			want = append(want, t)
		}
	}
	equal(f, "the newest threads of a time", got, want)
}

// veryManyThreads queries more threads than a log loads at a time, in both orders.
func veryManyThreads(f *fixture) {
	const n, tenants = 1100, 2
	var appending sync.WaitGroup
	for worker := range 10 {
		appending.Go(func() {
			for i := worker; i < n; i += 10 {
				k := store.Key{Tenant: fmt.Sprint(i % tenants), Thread: fmt.Sprint(i)}
				if _, err := f.log.Append(f.ctx, k, 0, []store.Entry{started("s", fmt.Sprint("run ", i), "")}); err != nil {
					f.Error(err)
				}
			}
		})
	}
	appending.Wait()
	all := list(f, f.log.Threads(f.ctx, store.ThreadQuery{}))
	if len(all) != n {
		f.Fatalf("there are %d threads, want %d", len(all), n)
	}
	slices.SortFunc(all, newest)
	equal(f, "the newest threads", list(f, f.log.Threads(f.ctx, store.ThreadQuery{Newest: true})), all)
	var want, got []string
	for _, t := range all {
		if t.Tenant == "1" {
			want = append(want, "run "+t.Key.Thread)
		}
	}
	for _, t := range list(f, f.log.Threads(f.ctx, store.ThreadQuery{Newest: true, Latest: true, Tenant: new("1")})) {
		got = append(got, t.Latest.ID)
	}
	equal(f, "the latest runs of the newest threads of a tenant", got, want)
}

// latestRuns asks for the run of each thread that began last.
func latestRuns(f *fixture) {
	none, one, mixed, packed, deleted := key("none"), key("one"), key("mixed"), key("packed"), key("removed")
	f.append(none, 0, custom("s"))
	f.append(one, 0, spread(input("s"), started("s", "r", "p"), finished("s"))...)
	f.append(mixed, 0, started("a", "1", ""), started("b", "2", ""), custom("a"), finished("b"), started("a", "3", ""), started("c", "", ""), custom("a"))
	f.append(packed, 0, started("s", "1", ""), finished("s"), started("s", "2", ""), finished("s"), end("s"))
	f.append(deleted, 0, started("s", "1", ""))
	if _, err := f.log.Pack(f.ctx, packed); err != nil {
		f.Fatal(err)
	}
	if _, err := f.log.Delete(f.ctx, deleted); err != nil {
		f.Fatal(err)
	}
	for _, q := range []store.ThreadQuery{{Deleted: true, Latest: true}, {Deleted: true, Latest: true, Newest: true}} {
		threads := list(f, f.log.Threads(f.ctx, q))
		if len(threads) != 5 {
			f.Errorf("there are %d threads, want 5", len(threads))
		}
		for _, got := range threads {
			want := f.thread(got.Key)
			if runs := f.runs(store.RunQuery{Thread: &got.Key.Thread}); len(runs) > 0 {
				want.Latest = &runs[len(runs)-1]
			}
			equal(f, "the thread "+got.Key.Thread, got, want)
		}
	}
	// What is returned is a copy.
	for t, err := range f.log.Threads(f.ctx, store.ThreadQuery{Latest: true, After: none}) {
		if err != nil {
			f.Fatal(err)
		}
		t.Latest.ID = "changed"
	}
	if runs := f.runs(store.RunQuery{ID: new("changed")}); len(runs) > 0 {
		f.Errorf("the log has %+v", runs)
	}
}
