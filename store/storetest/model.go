package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/store"
)

// item is an entry and what its data mean, so that the model need not read JSON.
type item struct {
	store.Entry
	typ         string
	run, parent string       // of a RUN_STARTED; parent also of an Input
	end         store.RunEnd // of a terminal event
}

// state is what a log must say of a thread.
type state struct {
	entries []store.Entry
	runs    []store.Run
	streams map[string]store.Stream
	bytes   int64
}

// expect returns what a log must say of a thread with the given entries. It applies the
// rules of package store as they are written there.
func expect(k store.Key, items []item) state {
	s := state{streams: make(map[string]store.Stream)}
	current := make(map[string]int)                                  // the index of the last run of each stream, plus 1
	input, parent := make(map[string]int64), make(map[string]string) // that no run has yet
	for i, it := range items {
		e := clone(&it.Entry)
		e.Position = int64(i + 1)
		s.bytes += int64(len(e.Data))
		stream := s.streams[e.Stream]
		first := stream.First
		if first == 0 {
			first = e.Position
		}
		s.streams[e.Stream] = store.Stream{Key: k, ID: e.Stream, Entries: stream.Entries + 1, First: first, Last: e.Position, Ended: e.Kind == store.End}
		if e.Kind == store.Input {
			input[e.Stream], parent[e.Stream] = e.Position, it.parent
		}
		starts := it.typ == "RUN_STARTED"
		if n := current[e.Stream]; n > 0 && (starts || e.Kind == store.End) && s.runs[n-1].End == store.Open {
			s.runs[n-1].End = store.Cut
		}
		if starts {
			s.runs = append(s.runs, store.Run{
				Key: k, ID: it.run, Parent: cmp.Or(it.parent, parent[e.Stream]), Stream: e.Stream, Input: input[e.Stream],
				Start: e.Position, StartedAt: e.Arrived, End: store.Open,
			})
			current[e.Stream] = len(s.runs)
			delete(input, e.Stream)
			delete(parent, e.Stream)
		}
		if e.Kind == store.Event || e.Kind == store.Closing {
			e.Type = it.typ
			if n := current[e.Stream]; n > 0 {
				r := &s.runs[n-1]
				e.Run = r.Start
				r.Last, r.LastAt = e.Position, e.Arrived
				r.Entries++
				r.Bytes += int64(len(e.Data))
				if r.End == store.Open && it.end != "" {
					r.End = it.end
				}
			}
		}
		s.entries = append(s.entries, e)
	}
	return s
}

// check compares what a log says of a thread with the model.
func (s state) check(f *fixture, log store.Log, k store.Key) {
	f.Helper()
	equal(f, "entries", collect(f, log.Read(f.ctx, k, 0)), s.entries)
	equal(f, "runs", list(f, log.Runs(f.ctx, store.RunQuery{Tenant: &k.Tenant, Thread: &k.Thread})), s.runs)
	for id, want := range s.streams {
		got, err := log.Stream(f.ctx, k, id)
		if err != nil {
			f.Fatal(err)
		}
		equal(f, "stream "+id, got, want)
	}
	equal(f, "streams", list(f, log.Streams(f.ctx, store.StreamQuery{Tenant: &k.Tenant, Thread: &k.Thread})), s.list(false))
	t, err := log.Thread(f.ctx, k)
	if err != nil {
		f.Fatal(err)
	}
	if t.Key != k || t.Last != int64(len(s.entries)) || t.Runs != int64(len(s.runs)) || t.Bytes != s.bytes || !t.DeletedAt.IsZero() {
		f.Errorf("Thread(%q) = %+v, want %d entries with %d bytes and %d runs", k, t, len(s.entries), s.bytes, len(s.runs))
	}
}

// list returns the streams in order, all or only those that have not ended.
func (s state) list(open bool) []store.Stream {
	var streams []store.Stream
	for _, stream := range s.streams {
		if !open || !stream.Ended {
			streams = append(streams, stream)
		}
	}
	slices.SortFunc(streams, func(a, b store.Stream) int { return cmp.Compare(a.First, b.First) })
	return streams
}

func modelTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"model/random calls": randomCalls,
	}
}

// randomCalls compares a log with the model after random calls. If the log can be opened
// twice, each call uses one of two handles.
func randomCalls(f *fixture) {
	logs := []store.Log{f.log}
	if f.again != nil {
		logs = append(logs, f.other())
	}
	var tenants atomic.Int64
	rapid.Check(f.T, func(t *rapid.T) {
		m := &machine{f: f, logs: logs, tenant: fmt.Sprint("tenant ", tenants.Add(1)), threads: make(map[string]*modelThread)}
		t.Repeat(map[string]func(*rapid.T){
			"append":   m.append,
			"conflict": m.conflict,
			"invalid":  m.invalid,
			"read":     m.read,
			"pack":     m.pack,
			"delete":   m.delete,
			"":         m.check,
		})
		for id, thread := range m.threads {
			if !thread.deleted && len(thread.items) > 0 {
				expect(m.key(id), thread.items).check(f, m.logs[0], m.key(id))
			}
		}
		if f.Failed() {
			t.Fatal("the log differs from the model")
		}
	})
}

// machine has the threads of a tenant, as the model sees them.
type machine struct {
	f       *fixture
	logs    []store.Log
	tenant  string
	threads map[string]*modelThread
}

type modelThread struct {
	items   []item
	deleted bool
}

func (m *machine) key(thread string) store.Key { return store.Key{Tenant: m.tenant, Thread: thread} }

// log returns one of the handles.
func (m *machine) log(t *rapid.T) store.Log { return rapid.SampledFrom(m.logs).Draw(t, "log") }

// thread returns one of three threads.
func (m *machine) thread(t *rapid.T) (store.Key, *modelThread) {
	id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "thread")
	if m.threads[id] == nil {
		m.threads[id] = new(modelThread)
	}
	return m.key(id), m.threads[id]
}

// items draws entries for a thread in which some streams have ended.
func (m *machine) items(t *rapid.T, thread *modelThread) []item {
	ended := make(map[string]bool)
	for _, it := range thread.items {
		ended[it.Stream] = ended[it.Stream] || it.Kind == store.End
	}
	var items []item
	for range rapid.IntRange(1, 6).Draw(t, "entries") {
		stream := fmt.Sprint("s", rapid.IntRange(0, 5).Draw(t, "stream"))
		for n := 0; ended[stream]; n++ {
			stream = fmt.Sprint("later ", n)
		}
		it := drawItem(t, stream)
		ended[stream] = it.Kind == store.End
		items = append(items, it)
	}
	return items
}

// drawItem draws an entry of a stream.
func drawItem(t *rapid.T, stream string) item {
	var it item
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1:
		it.Entry, it.typ, it.run = started(stream, "r", ""), "RUN_STARTED", "r"
	case 2:
		it.Entry, it.typ, it.run, it.parent = started(stream, "q", "r"), "RUN_STARTED", "q", "r"
	case 3:
		it.Entry, it.typ, it.end = finished(stream), "RUN_FINISHED", store.Finished
	case 4:
		it.Entry, it.typ, it.end = event(stream, `{"type":"RUN_FINISHED","outcome":{"type":"interrupt"}}`), "RUN_FINISHED", store.Interrupted
	case 5:
		it.Entry, it.typ, it.end = event(stream, `{"type":"RUN_ERROR"}`), "RUN_ERROR", store.Failed
		it.Kind = rapid.SampledFrom([]store.Kind{store.Event, store.Closing}).Draw(t, "of the program")
	case 6:
		it.Entry = input(stream)
		if rapid.Bool().Draw(t, "names a parent") {
			it.Data, it.parent = []byte(`{"parentRunId":"p"}`), "p"
		}
	case 7:
		it.Entry = end(stream)
	case 8:
		it.Entry, it.typ = custom(stream), "CUSTOM"
	case 9:
		// No JSON text begins with an exclamation mark.
		it.Entry = event(stream, "!"+string(rapid.SliceOf(rapid.Byte()).Draw(t, "data")))
	}
	if rapid.Bool().Draw(t, "arrival is known") {
		it.Arrived = at(rapid.Int64Range(-1e6, 1e6).Draw(t, "arrived"))
	}
	return it
}

// entries returns the entries of items.
func entries(items []item) []store.Entry {
	var all []store.Entry
	for _, it := range items {
		all = append(all, it.Entry)
	}
	return all
}

func (m *machine) append(t *rapid.T) {
	k, thread := m.thread(t)
	items := m.items(t, thread)
	last, err := m.log(t).Append(m.f.ctx, k, int64(len(thread.items)), entries(items))
	switch {
	case thread.deleted:
		if !errors.Is(err, store.ErrDeleted) {
			t.Fatalf("Append to a deleted thread: %v", err)
		}
	case err != nil || last != int64(len(thread.items)+len(items)):
		t.Fatalf("Append after %d = %d, %v", len(thread.items), last, err)
	default:
		thread.items = append(thread.items, items...)
	}
}

func (m *machine) conflict(t *rapid.T) {
	k, thread := m.thread(t)
	after := rapid.Int64Range(-1, int64(len(thread.items))+3).Filter(func(n int64) bool { return n != int64(len(thread.items)) }).Draw(t, "after")
	_, err := m.log(t).Append(m.f.ctx, k, after, entries(m.items(t, thread)))
	want := store.ErrConflict
	if thread.deleted {
		want = store.ErrDeleted
	}
	if !errors.Is(err, want) {
		t.Fatalf("Append after %d of %d: %v, want %v", after, len(thread.items), err, want)
	}
}

func (m *machine) invalid(t *rapid.T) {
	k, thread := m.thread(t)
	batch := entries(m.items(t, thread))
	batch = append(batch, store.Entry{Stream: "s0", Kind: "other"})
	batch = append(batch, entries(m.items(t, thread))...)
	_, err := m.log(t).Append(m.f.ctx, k, int64(len(thread.items)), batch)
	if !errors.Is(err, store.ErrEntry) && !(thread.deleted && errors.Is(err, store.ErrDeleted)) {
		t.Fatalf("Append of an invalid entry: %v", err)
	}
}

func (m *machine) read(t *rapid.T) {
	k, thread := m.thread(t)
	after := rapid.Int64Range(0, int64(len(thread.items))+1).Draw(t, "after")
	want := expect(k, thread.items).entries
	want = want[min(after, int64(len(want))):]
	n := 0
	for e, err := range m.log(t).Read(m.f.ctx, k, after) {
		if thread.deleted && errors.Is(err, store.ErrDeleted) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if n == len(want) {
			t.Fatalf("Read after %d yields %+v after the last", after, e)
		}
		equal(t, "an entry", clone(e), want[n])
		n++
	}
	if n < len(want) || thread.deleted {
		t.Fatalf("Read after %d yields %d entries, want %d, deleted %t", after, n, len(want), thread.deleted)
	}
}

func (m *machine) pack(t *rapid.T) {
	k, thread := m.thread(t)
	_, err := m.log(t).Pack(m.f.ctx, k)
	var want error
	switch {
	case thread.deleted:
		want = store.ErrDeleted
	case len(thread.items) == 0:
		want = store.ErrNoThread
	}
	if !errors.Is(err, want) {
		t.Fatalf("Pack: %v, want %v", err, want)
	}
}

func (m *machine) delete(t *rapid.T) {
	if rapid.IntRange(0, 4).Draw(t, "rarely") > 0 {
		t.Skip("deletions are rare")
	}
	k, thread := m.thread(t)
	_, err := m.log(t).Delete(m.f.ctx, k)
	if len(thread.items) == 0 {
		if !errors.Is(err, store.ErrNoThread) {
			t.Fatalf("Delete of no thread: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	thread.deleted = true
}

// check compares the runs and the streams of all threads, and how much of them is packed.
func (m *machine) check(t *rapid.T) {
	var want []store.Run
	var streams []store.Stream
	open := rapid.Bool().Draw(t, "only open streams")
	packed := make(map[string]int64) // the most that can be
	for _, id := range []string{"a", "b", "c"} {
		thread := m.threads[id]
		if thread == nil || thread.deleted {
			continue
		}
		s := expect(m.key(id), thread.items)
		want = append(want, s.runs...)
		streams = append(streams, s.list(open)...)
		ended := make(map[int64]bool)
		for _, r := range s.runs {
			ended[r.Start] = r.End != store.Open
		}
		for _, e := range s.entries {
			if ended[e.Run] || e.Run == 0 && s.streams[e.Stream].Ended {
				packed[id]++
			}
		}
	}
	var got []store.Run
	log := m.log(t)
	for r, err := range log.Runs(m.f.ctx, store.RunQuery{Tenant: &m.tenant}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	equal(t, "the runs", got, want)
	var found []store.Stream
	for s, err := range log.Streams(m.f.ctx, store.StreamQuery{Tenant: &m.tenant, Open: open}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, s)
	}
	equal(t, "the streams", found, streams)
	for thread, err := range log.Threads(m.f.ctx, store.ThreadQuery{Tenant: &m.tenant}) {
		if err != nil {
			t.Fatal(err)
		}
		if thread.Packed > packed[thread.Key.Thread] {
			t.Fatalf("%d entries of thread %s are packed, want at most %d", thread.Packed, thread.Key.Thread, packed[thread.Key.Thread])
		}
	}
}
