package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/p20export/p20export/store"
)

func queryTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"query/runs":                     queryRuns,
		"query/very many runs":           manyRuns,
		"query/threads":                  queryThreads,
		"query/threads in pages":         pagesOfThreads,
		"query/the newest threads":       newestThreads,
		"query/very many threads":        veryManyThreads,
		"query/the latest runs":          latestRuns,
		"query/streams":                  queryStreams,
		"query/very many streams":        manyStreams,
		"query/stops when the loop does": breakQuery,
		"query/an empty log":             emptyLog,
		"query/stat":                     stat,
		"query/a cancelled context":      cancelled,
		"query/an iterator again":        queryAgain,
	}
}

// manyRuns queries more runs than a log loads at a time, in large and in small threads.
func manyRuns(f *fixture) {
	var want []string
	for i, n := range []int{1200, 1, 300, 500, 2, 700} {
		k := store.Key{Tenant: fmt.Sprint(i / 2), Thread: fmt.Sprint(i)}
		var batch []store.Entry
		for run := range n {
			id := fmt.Sprint(i, "-", run)
			batch = append(batch, started("s", id, ""))
			want = append(want, id)
		}
		f.append(k, 0, batch...)
	}
	var got []string
	for _, r := range f.runs(store.RunQuery{}) {
		got = append(got, r.ID)
	}
	equal(f, "the ids of runs", got, want)
}

func queryRuns(f *fixture) {
	a, b, c := store.Key{Tenant: "x", Thread: "a"}, store.Key{Tenant: "x", Thread: "b"}, store.Key{Tenant: "y", Thread: "a"}
	timed := func(e store.Entry, s int64) store.Entry { e.Arrived = second(s); return e }
	f.append(c, 0, timed(started("s", "r1", ""), 10), timed(started("s", "r2", "r1"), 20), end("s"))
	f.append(b, 0, started("s", "r1", ""), finished("s"))
	f.append(a, 0,
		timed(started("s", "r1", ""), 10), timed(started("o", "r2", "r1"), 30), timed(event("s", `{"type":"RUN_ERROR"}`), 50),
		timed(started("s", "r3", "r1"), 20), timed(event("s", `{"type":"RUN_FINISHED","outcome":"interrupt"}`), 60))
	text := func(s string) *string { return &s }
	for what, tt := range map[string]struct {
		q    store.RunQuery
		want string
	}{
		"all":                  {store.RunQuery{}, "xa1 xa2 xa4 xb1 ya1 ya2"},
		"a tenant":             {store.RunQuery{Tenant: text("x")}, "xa1 xa2 xa4 xb1"},
		"an unknown tenant":    {store.RunQuery{Tenant: text("")}, ""},
		"a thread":             {store.RunQuery{Tenant: text("x"), Thread: text("a")}, "xa1 xa2 xa4"},
		"a thread of all":      {store.RunQuery{Thread: text("a")}, "xa1 xa2 xa4 ya1 ya2"},
		"an unknown thread":    {store.RunQuery{Thread: text("%")}, ""},
		"an id":                {store.RunQuery{ID: text("r1")}, "xa1 xb1 ya1"},
		"an id of a thread":    {store.RunQuery{Tenant: text("x"), Thread: text("b"), ID: text("r1")}, "xb1"},
		"an id in other case":  {store.RunQuery{ID: text("R1")}, ""},
		"a parent":             {store.RunQuery{Parent: text("r1")}, "xa2 xa4 ya2"},
		"no parent":            {store.RunQuery{Parent: text("")}, "xa1 xb1 ya1"},
		"from":                 {store.RunQuery{From: second(20)}, "xa2 xa4 ya2"},
		"to":                   {store.RunQuery{To: second(20)}, "xa1 ya1"},
		"from and to":          {store.RunQuery{From: second(20), To: second(30)}, "xa4 ya2"},
		"from, later":          {store.RunQuery{From: second(20).Add(time.Microsecond)}, "xa2"},
		"no time between":      {store.RunQuery{From: second(20), To: second(20)}, ""},
		"from, in a zone":      {store.RunQuery{From: second(30).In(time.FixedZone("", 3600))}, "xa2"},
		"an end":               {store.RunQuery{Ends: []store.RunEnd{store.Cut}}, "ya1 ya2"},
		"several ends":         {store.RunQuery{Ends: []store.RunEnd{store.Failed, store.Finished, store.Interrupted}}, "xa1 xa4 xb1"},
		"open":                 {store.RunQuery{Ends: []store.RunEnd{store.Open}}, "xa2"},
		"an unknown end":       {store.RunQuery{Ends: []store.RunEnd{"other"}}, ""},
		"a tenant and a time":  {store.RunQuery{Tenant: text("y"), To: second(15)}, "ya1"},
		"everything":           {store.RunQuery{Tenant: text("x"), Thread: text("a"), ID: text("r3"), Parent: text("r1"), From: second(20), To: second(21), Ends: []store.RunEnd{store.Interrupted}}, "xa4"},
		"everything but a run": {store.RunQuery{Tenant: text("x"), Thread: text("a"), ID: text("r3"), Parent: text("r2")}, ""},
	} {
		got := ""
		for _, r := range f.runs(tt.q) {
			if got != "" {
				got += " "
			}
			got += fmt.Sprint(r.Tenant, r.Thread, r.Start)
		}
		equal(f, what, got, tt.want)
	}
}

func queryThreads(f *fixture) {
	var first, last store.Thread
	for _, k := range []store.Key{{Tenant: "y", Thread: "a"}, {Tenant: "x", Thread: "b"}, {Tenant: "", Thread: "c"}, {Tenant: "x", Thread: "a"}} {
		f.append(k, 0, started("s", "r", ""), custom("s"))
		if last = f.thread(k); first.Last == 0 {
			first = last
		}
	}
	deleted := store.Key{Tenant: "x", Thread: "b"}
	if _, err := f.log.Delete(f.ctx, deleted); err != nil {
		f.Fatal(err)
	}
	text := func(s string) *string { return &s }
	later := last.UpdatedAt.Add(time.Hour)
	for what, tt := range map[string]struct {
		q    store.ThreadQuery
		want string
	}{
		"all":                   {store.ThreadQuery{}, "c xa ya"},
		"all, also deleted":     {store.ThreadQuery{Deleted: true}, "c xa xb ya"},
		"a tenant":              {store.ThreadQuery{Tenant: text("x")}, "xa"},
		"a tenant with deleted": {store.ThreadQuery{Tenant: text("x"), Deleted: true}, "xa xb"},
		"no tenant":             {store.ThreadQuery{Tenant: text("")}, "c"},
		"an unknown tenant":     {store.ThreadQuery{Tenant: text("X")}, ""},
		"from the first":        {store.ThreadQuery{From: first.UpdatedAt}, "c xa ya"},
		"to the first":          {store.ThreadQuery{To: first.UpdatedAt}, ""},
		"from later":            {store.ThreadQuery{From: later}, ""},
		"to later":              {store.ThreadQuery{To: later, Tenant: text("y")}, "ya"},
	} {
		got := ""
		for _, t := range list(f, f.log.Threads(f.ctx, tt.q)) {
			if want := f.thread(t.Key); t != want {
				f.Errorf("%s: %+v, but Thread returns %+v", what, t, want)
			}
			if got != "" {
				got += " "
			}
			got += t.Tenant + t.Key.Thread
		}
		equal(f, what, got, tt.want)
	}
}

// pagesOfThreads asks for the threads after each thread, and after keys that no thread has.
func pagesOfThreads(f *fixture) {
	keys := []store.Key{{Tenant: "", Thread: "a"}, {Tenant: "", Thread: "b"}, {Tenant: "x", Thread: "a"}, {Tenant: "x", Thread: "ab"}, {Tenant: "y", Thread: "a"}}
	for _, k := range keys {
		f.append(k, 0, custom("s"))
	}
	if _, err := f.log.Delete(f.ctx, keys[1]); err != nil {
		f.Fatal(err)
	}
	for _, after := range append(keys, store.Key{}, store.Key{Thread: "aa"}, store.Key{Tenant: "x"}, store.Key{Tenant: "x", Thread: "b"}, store.Key{Tenant: "z", Thread: "A"}) {
		for _, tenant := range []*string{nil, new(""), new("x"), new("w")} {
			var want, got []store.Key
			for _, k := range keys {
				if k != keys[1] && (tenant == nil || *tenant == k.Tenant) && cmp.Or(cmp.Compare(k.Tenant, after.Tenant), cmp.Compare(k.Thread, after.Thread)) > 0 {
					want = append(want, k)
				}
			}
			for _, t := range list(f, f.log.Threads(f.ctx, store.ThreadQuery{Tenant: tenant, After: after})) {
				got = append(got, t.Key)
			}
			equal(f, fmt.Sprintf("threads after %q", after), got, want)
		}
	}
	fails(f, "after a thread that is not valid", last(f, f.log.Threads(f.ctx, store.ThreadQuery{After: store.Key{Thread: "a\x00"}})), store.ErrKey)
}

func queryStreams(f *fixture) {
	a, b, c := store.Key{Tenant: "x", Thread: "a"}, store.Key{Tenant: "x", Thread: "b"}, store.Key{Tenant: "y", Thread: "a"}
	f.append(c, 0, custom("serve:1"), custom("other"), end("other"))
	f.append(b, 0, custom("serve:2"), end("serve:2"), custom("Serve:1"), custom("é1"))
	f.append(a, 0, custom("serve:9"), custom("serve:1"), end("serve:9"), custom("serve%"))
	deleted := store.Key{Tenant: "x", Thread: "c"}
	f.append(deleted, 0, custom("serve:1"))
	if _, err := f.log.Delete(f.ctx, deleted); err != nil {
		f.Fatal(err)
	}
	text := func(s string) *string { return &s }
	for what, tt := range map[string]struct {
		q    store.StreamQuery
		want string
	}{
		"all":                {store.StreamQuery{}, "xa1 xa2 xa4 xb1 xb3 xb4 ya1 ya2"},
		"a tenant":           {store.StreamQuery{Tenant: text("y")}, "ya1 ya2"},
		"an unknown tenant":  {store.StreamQuery{Tenant: text("")}, ""},
		"a thread":           {store.StreamQuery{Tenant: text("x"), Thread: text("b")}, "xb1 xb3 xb4"},
		"a thread of all":    {store.StreamQuery{Thread: text("a")}, "xa1 xa2 xa4 ya1 ya2"},
		"a deleted thread":   {store.StreamQuery{Thread: text("c")}, ""},
		"a prefix":           {store.StreamQuery{Prefix: "serve:"}, "xa1 xa2 xb1 ya1"},
		"a whole id":         {store.StreamQuery{Prefix: "serve:1"}, "xa2 ya1"},
		"a percent sign":     {store.StreamQuery{Prefix: "serve%"}, "xa4"},
		"another letter":     {store.StreamQuery{Prefix: "é"}, "xb4"},
		"a longer prefix":    {store.StreamQuery{Prefix: "serve:11"}, ""},
		"open":               {store.StreamQuery{Open: true}, "xa2 xa4 xb3 xb4 ya1"},
		"open of a thread":   {store.StreamQuery{Tenant: text("x"), Thread: text("a"), Open: true}, "xa2 xa4"},
		"open of a tenant":   {store.StreamQuery{Tenant: text("x"), Open: true}, "xa2 xa4 xb3 xb4"},
		"open with a prefix": {store.StreamQuery{Prefix: "serve:", Open: true}, "xa2 ya1"},
		"everything":         {store.StreamQuery{Tenant: text("x"), Thread: text("a"), Prefix: "serve:", Open: true}, "xa2"},
	} {
		got := ""
		for _, s := range list(f, f.log.Streams(f.ctx, tt.q)) {
			if want, err := f.log.Stream(f.ctx, s.Key, s.ID); err != nil || s != want {
				f.Errorf("%s: %+v, but Stream returns %+v, %v", what, s, want, err)
			}
			if got != "" {
				got += " "
			}
			got += fmt.Sprint(s.Tenant, s.Thread, s.First)
		}
		equal(f, what, got, tt.want)
	}
	for _, prefix := range []string{"\uD7FF", "\U0010FFFF", "a\U0010FFFF\U0010FFFF"} {
		k := store.Key{Tenant: "prefix", Thread: prefix}
		f.append(k, 0, custom("a"), custom(prefix), custom(prefix+"\U0010FFFF"), custom("\uE000"), custom("b"))
		var got []string
		for _, s := range list(f, f.log.Streams(f.ctx, store.StreamQuery{Tenant: &k.Tenant, Thread: &k.Thread, Prefix: prefix})) {
			got = append(got, s.ID)
		}
		equal(f, fmt.Sprintf("streams that begin with %+q", prefix), got, []string{prefix, prefix + "\U0010FFFF"})
	}
	fails(f, "a prefix that is not valid", last(f, f.log.Streams(f.ctx, store.StreamQuery{Prefix: "\xff"})), store.ErrKey)
}

// manyStreams queries more streams than a log loads at a time, in large and in small threads.
func manyStreams(f *fixture) {
	var all, open []string
	for i, n := range []int{1200, 1, 500, 600} {
		var batch []store.Entry
		for stream := range n {
			id := fmt.Sprint(i, "-", stream)
			all = append(all, id)
			if batch = append(batch, custom(id)); stream%3 == 0 {
				batch = append(batch, end(id))
			} else {
				open = append(open, id)
			}
		}
		f.append(store.Key{Tenant: fmt.Sprint(i / 2), Thread: fmt.Sprint(i)}, 0, batch...)
	}
	for _, want := range [][]string{all, open} {
		var got []string
		for _, s := range list(f, f.log.Streams(f.ctx, store.StreamQuery{Open: len(want) == len(open)})) {
			got = append(got, s.ID)
		}
		equal(f, "the ids of streams", got, want)
	}
}

// breakQuery ends loops before the iterators do, and with a cancelled context. The log must
// go on, also if it has few connections.
func breakQuery(f *fixture) {
	k := key("t")
	f.append(k, 0, started("s", "r", ""), started("s", "q", ""), custom("s"))
	f.append(key("u"), 0, custom("s"))
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	for range 50 {
		for range f.log.Threads(f.ctx, store.ThreadQuery{}) {
			break
		}
		for range f.log.Runs(f.ctx, store.RunQuery{}) {
			break
		}
		for range f.log.Streams(f.ctx, store.StreamQuery{}) {
			break
		}
		for range f.log.Read(f.ctx, k, 0) {
			break
		}
		for range f.log.Follow(f.ctx, k, 0) {
			break
		}
		fails(f, "Threads", last(f, f.log.Threads(ctx, store.ThreadQuery{})), context.Canceled)
		fails(f, "Runs", last(f, f.log.Runs(ctx, store.RunQuery{})), context.Canceled)
		fails(f, "Streams", last(f, f.log.Streams(ctx, store.StreamQuery{})), context.Canceled)
		fails(f, "Read", last(f, f.log.Read(ctx, k, 0)), context.Canceled)
		fails(f, "Follow", last(f, f.log.Follow(ctx, k, 0)), context.Canceled)
	}
	// The loop body uses the log.
	for t, err := range f.log.Threads(f.ctx, store.ThreadQuery{}) {
		if err != nil {
			f.Fatal(err)
		}
		for e, err := range f.log.Read(f.ctx, t.Key, 0) {
			if err != nil {
				f.Fatal(err)
			}
			if e.Position == 1 {
				f.append(key("in the loop of "+t.Key.Thread), 0, custom("s"))
			}
		}
	}
	f.append(k, 3, custom("s"))
}

// cancelled calls everything else with a cancelled context. Nothing is changed.
func cancelled(f *fixture) {
	k := key("t")
	f.append(k, 0, started("s", "r", ""), finished("s"))
	before := f.thread(k)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	_, err := f.log.Append(ctx, k, 2, []store.Entry{custom("s")})
	fails(f, "Append", err, context.Canceled)
	_, err = f.log.Thread(ctx, k)
	fails(f, "Thread", err, context.Canceled)
	_, err = f.log.Stream(ctx, k, "s")
	fails(f, "Stream", err, context.Canceled)
	_, err = f.log.Pack(ctx, k)
	fails(f, "Pack", err, context.Canceled)
	_, err = f.log.Delete(ctx, k)
	fails(f, "Delete", err, context.Canceled)
	_, err = f.log.Stat(ctx)
	fails(f, "Stat", err, context.Canceled)
	equal(f, "the thread", f.thread(k), before)
	f.append(k, 2, custom("s"))
}

// queryAgain ranges over iterators twice. Each time they select what is there then.
func queryAgain(f *fixture) {
	threads, runs := f.log.Threads(f.ctx, store.ThreadQuery{}), f.log.Runs(f.ctx, store.RunQuery{})
	for n := range 3 {
		if got := len(list(f, threads)); got != n {
			f.Errorf("%d threads, want %d", got, n)
		}
		if got := len(list(f, runs)); got != n {
			f.Errorf("%d runs, want %d", got, n)
		}
		f.append(key(fmt.Sprint(n)), 0, started("s", "r", ""))
	}
}

func emptyLog(f *fixture) {
	k := key("t")
	if n := len(f.read(k, 0)) + len(f.read(k, 5)) + len(f.runs(store.RunQuery{})) + len(list(f, f.log.Threads(f.ctx, store.ThreadQuery{Deleted: true}))); n != 0 {
		f.Errorf("an empty log has %d entries, runs and threads", n)
	}
	if _, err := f.log.Thread(f.ctx, k); !errors.Is(err, store.ErrNoThread) {
		f.Errorf("Thread: %v", err)
	}
	if s, err := f.log.Stream(f.ctx, k, "s"); err != nil || s != (store.Stream{}) {
		f.Errorf("Stream = %+v, %v", s, err)
	}
	s, err := f.log.Stat(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	s.Size = 0
	equal(f, "Stat", s, store.Stat{})
}

// stat compares Stat with the sums over threads.
func stat(f *fixture) {
	check := func(what string, packed store.Packed) {
		f.Helper()
		got, err := f.log.Stat(f.ctx)
		if err != nil {
			f.Fatal(err)
		}
		var want store.Stat
		for _, t := range list(f, f.log.Threads(f.ctx, store.ThreadQuery{Deleted: true})) {
			if !t.DeletedAt.IsZero() {
				want.Deleted++
				continue
			}
			want.Threads++
			want.Runs += t.Runs
			want.Entries += t.Last
			want.Bytes += t.Bytes
			want.Packed += t.Packed
		}
		want.PackedBytes, want.StoredBytes = packed.Bytes, packed.Stored
		if got.Size <= 0 {
			f.Errorf("%s: the size is %d", what, got.Size)
		}
		got.Size = 0
		equal(f, "Stat "+what, got, want)
	}
	f.append(key("a"), 0, started("s", "r", ""), custom("s"), finished("s"), end("s"))
	f.append(key("b"), 0, started("s", "r", ""), custom("s"))
	f.append(store.Key{Thread: "a"}, 0, custom("s"))
	check("of three threads", store.Packed{})
	packed, err := f.log.Pack(f.ctx, key("a"))
	if err != nil {
		f.Fatal(err)
	}
	check("after Pack", packed)
	if _, err := f.log.Delete(f.ctx, key("b")); err != nil {
		f.Fatal(err)
	}
	check("after a deletion", packed)
	if _, err := f.log.Delete(f.ctx, key("a")); err != nil {
		f.Fatal(err)
	}
	check("after the deletion of packed entries", store.Packed{})
}
