package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/store"
)

func idTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"ids/are opaque":        opaqueIDs,
		"ids/tenants are apart": tenants,
		"ids/that are refused":  refusedIDs,
		"ids/of runs":           runIDs,
		"ids/order":             order,
	}
}

// hostileIDs are ids that a database might change, confuse or refuse. All are different.
func hostileIDs() []string {
	return []string{
		" ", "  ", "a", "A", "a ", " a", "a\n", "\t", "\x01", "\x7f", ".", "..", "/", "a/b", `\`, `\\`, "'", "''", `"`, "`",
		"%", "_", "a%", "a_", "*", "?", "$1", ":a", "@a", "--", "'; DROP TABLE threads; --", "NULL", "null", "0", "00", "1e0", "-1",
		"é", "e\u0301", "\u00c5", "\u212b", "\ufb01", "fi", "ß", "ss", "İ", "i\u0307", "ı", "👩\u200d🔬", "👩🔬", "\u200b", "\ufeff", "\ufffd",
		"\U0010ffff", "\u202eabc", "日本語", strings.Repeat("x", store.MaxIDBytes), strings.Repeat("x", store.MaxIDBytes-1) + "y",
		strings.Repeat("é", store.MaxIDBytes/2),
	}
}

func opaqueIDs(f *fixture) {
	ids := hostileIDs()
	for i, id := range ids {
		f.append(store.Key{Tenant: ids[(i+1)%len(ids)], Thread: id}, 0, event(id, fmt.Sprint(i)), event(ids[(i+2)%len(ids)], "x"))
	}
	for i, id := range ids {
		k := store.Key{Tenant: ids[(i+1)%len(ids)], Thread: id}
		got := f.read(k, 0)
		if len(got) != 2 || string(got[0].Data) != fmt.Sprint(i) || got[0].Stream != id || got[1].Stream != ids[(i+2)%len(ids)] {
			f.Errorf("thread %+q has the entries %+v", id, got)
		}
		if t := f.thread(k); t.Key != k || t.Last != 2 {
			f.Errorf("Thread(%+q) = %+v", k, t)
		}
		if s, err := f.log.Stream(f.ctx, k, id); err != nil || s != (store.Stream{Key: k, ID: id, Entries: 1, First: 1, Last: 1}) {
			f.Errorf("Stream(%+q) = %+v, %v", id, s, err)
		}
		streams := list(f, f.log.Streams(f.ctx, store.StreamQuery{Tenant: &k.Tenant, Prefix: id}))
		if len(streams) == 0 || streams[0].ID != id || streams[0].Key != k {
			f.Errorf("the streams of the tenant %+q that begin with %+q are %+v", k.Tenant, id, streams)
		}
		tenant := list(f, f.log.Threads(f.ctx, store.ThreadQuery{Tenant: &k.Tenant}))
		if len(tenant) != 1 || tenant[0].Key != k {
			f.Errorf("the threads of the tenant %+q are %+v", k.Tenant, tenant)
		}
	}
	if all := list(f, f.log.Threads(f.ctx, store.ThreadQuery{})); len(all) != len(ids) {
		f.Errorf("%d threads, want %d", len(all), len(ids))
	}
}

func tenants(f *fixture) {
	for _, tenant := range []string{"", "a", "b"} {
		k := store.Key{Tenant: tenant, Thread: "t"}
		f.append(k, 0, event("s", fmt.Sprintf(`{"type":"RUN_STARTED","runId":"r","x":%q}`, tenant)))
	}
	a, b := store.Key{Tenant: "a", Thread: "t"}, store.Key{Tenant: "b", Thread: "t"}
	f.append(a, 1, event("s", "more"), end("s"))
	if got := f.read(b, 0); len(got) != 1 || !strings.Contains(string(got[0].Data), `"x":"b"`) {
		f.Errorf("tenant b reads %+v", got)
	}
	if s, err := f.log.Stream(f.ctx, b, "s"); err != nil || s.Ended {
		f.Errorf("the stream of tenant b is %+v, %v", s, err)
	}
	for _, tenant := range []string{"", "a", "b"} {
		runs := f.runs(store.RunQuery{Tenant: &tenant})
		if len(runs) != 1 || runs[0].Key != (store.Key{Tenant: tenant, Thread: "t"}) {
			f.Errorf("the runs of tenant %q are %+v", tenant, runs)
		}
	}
	if _, err := f.log.Delete(f.ctx, a); err != nil {
		f.Fatal(err)
	}
	if got := f.read(b, 0); len(got) != 1 {
		f.Errorf("after the thread of tenant a was deleted, tenant b reads %+v", got)
	}
	if got := f.read(store.Key{Thread: "t"}, 0); len(got) != 1 {
		f.Errorf("after the thread of tenant a was deleted, the tenant without a name reads %+v", got)
	}
	// Tenant and thread are not joined.
	f.append(store.Key{Tenant: "ab", Thread: "c"}, 0, event("s", "1"))
	if got := f.read(store.Key{Tenant: "a", Thread: "bc"}, 0); len(got) != 0 {
		f.Errorf("tenant a reads %+v of tenant ab", got)
	}
}

func refusedIDs(f *fixture) {
	for _, bad := range []string{strings.Repeat("x", store.MaxIDBytes+1), "a\x00b", "\x00", "\xff", "a\xc3", "\xed\xa0\x80", ""} {
		keys := []store.Key{{Tenant: "a", Thread: bad}}
		if bad != "" {
			keys = append(keys, store.Key{Tenant: bad, Thread: "t"})
		}
		for _, k := range keys {
			what := fmt.Sprintf(" of %.20q", k)
			_, err := f.log.Append(f.ctx, k, 0, []store.Entry{event("s", "1")})
			fails(f, "Append"+what, err, store.ErrKey)
			fails(f, "Read"+what, last(f, f.log.Read(f.ctx, k, 0)), store.ErrKey)
			fails(f, "Follow"+what, last(f, f.log.Follow(f.ctx, k, 0)), store.ErrKey)
			_, err = f.log.Thread(f.ctx, k)
			fails(f, "Thread"+what, err, store.ErrKey)
			_, err = f.log.Stream(f.ctx, k, "s")
			fails(f, "Stream"+what, err, store.ErrKey)
			_, err = f.log.Pack(f.ctx, k)
			fails(f, "Pack"+what, err, store.ErrKey)
			_, err = f.log.Delete(f.ctx, k)
			fails(f, "Delete"+what, err, store.ErrKey)
		}
		_, err := f.log.Stream(f.ctx, key("t"), bad)
		fails(f, fmt.Sprintf("Stream %.20q", bad), err, store.ErrKey)
		if bad == "" {
			continue
		}
		fails(f, "Threads", last(f, f.log.Threads(f.ctx, store.ThreadQuery{Tenant: &bad})), store.ErrKey)
		for _, q := range []store.RunQuery{{Tenant: &bad}, {Thread: &bad}, {ID: &bad}, {Parent: &bad}} {
			fails(f, "Runs", last(f, f.log.Runs(f.ctx, q)), store.ErrKey)
		}
	}
	if all := list(f, f.log.Threads(f.ctx, store.ThreadQuery{})); len(all) != 0 {
		f.Errorf("there are threads: %+v", all)
	}
}

func runIDs(f *fixture) {
	k := key("t")
	long := strings.Repeat("r", store.MaxIDBytes)
	var batch []store.Entry
	ids := hostileIDs()
	for i, id := range ids {
		text, err := json.Marshal(map[string]string{"type": "RUN_STARTED", "runId": id, "parentRunId": ids[(i+1)%len(ids)]})
		if err != nil {
			f.Fatal(err)
		}
		batch = append(batch, event("s", string(text)))
	}
	notIndexed := []string{`"` + long + `r"`, `"a\u0000b"`, `"\udfff"`, `7`, `null`, `{}`}
	for _, id := range notIndexed {
		batch = append(batch, event("s", `{"type":"RUN_STARTED","runId":`+id+`,"parentRunId":`+id+`}`))
	}
	f.append(k, 0, batch...)
	for i, id := range ids {
		runs := f.runs(store.RunQuery{ID: &id})
		if len(runs) != 1 || runs[0].Start != int64(i+1) || runs[0].ID != id || runs[0].Parent != ids[(i+1)%len(ids)] {
			f.Errorf("run %.80q: %+v", id, runs)
		}
		runs = f.runs(store.RunQuery{Parent: &id})
		if want := int64((i+len(ids)-1)%len(ids)) + 1; len(runs) != 1 || runs[0].Start != want {
			f.Errorf("children of run %.80q: %+v, want that at %d", id, runs, want)
		}
	}
	none := ""
	for _, q := range []store.RunQuery{{ID: &none}, {Parent: &none}} {
		if runs := f.runs(q); len(runs) != len(notIndexed) || runs[0].Start != int64(len(ids)+1) || runs[0].ID != "" || runs[0].Parent != "" {
			f.Errorf("runs with ids that are not indexed: %+v", runs)
		}
	}
}

func order(f *fixture) {
	var want []store.Key
	for _, tenant := range append(hostileIDs(), "") {
		for _, thread := range []string{"b", "a", "B", "é", "z", "\U0001f600", "\uffee"} {
			k := store.Key{Tenant: tenant, Thread: thread}
			f.append(k, 0, event("s", `{"type":"RUN_STARTED"}`))
			want = append(want, k)
		}
	}
	slices.SortFunc(want, func(a, b store.Key) int {
		if c := strings.Compare(a.Tenant, b.Tenant); c != 0 {
			return c
		}
		return strings.Compare(a.Thread, b.Thread)
	})
	var threads, runs []store.Key
	for _, t := range list(f, f.log.Threads(f.ctx, store.ThreadQuery{})) {
		threads = append(threads, t.Key)
	}
	for _, r := range f.runs(store.RunQuery{}) {
		runs = append(runs, r.Key)
	}
	equal(f, "the order of threads", threads, want)
	equal(f, "the order of runs", runs, want)
}
