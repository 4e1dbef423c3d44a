package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/p20export/p20export/store"
)

func appendTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"append/positions are dense":         densePositions,
		"append/a conflict is exact":         conflict,
		"append/no entries":                  noEntries,
		"append/all or none":                 allOrNone,
		"append/fields that are ignored":     ignoredFields,
		"append/large batch":                 largeBatch,
		"append/one appender wins each":      func(f *fixture) { race(f, []store.Log{f.log, f.log, f.log, f.log}) },
		"append/threads do not conflict":     threadsAtOnce,
		"append/times of threads":            threadTimes,
		"append/an entry after an end":       entryAfterEnd,
		"append/does not keep the data":      dataIsCopied,
		"append/the input of a later stream": streamsAreApart,
	}
}

func densePositions(f *fixture) {
	k := key("t")
	var after int64
	for n := range 10 {
		batch := make([]store.Entry, n+1)
		for i := range batch {
			batch[i] = event("s", fmt.Sprintf(`{"type":"CUSTOM","name":"%d.%d"}`, n, i))
		}
		after = f.append(k, after, batch...)
	}
	for i, e := range f.read(k, 0) {
		if e.Position != int64(i+1) {
			f.Fatalf("entry %d has the position %d", i+1, e.Position)
		}
	}
	for from := range after + 1 {
		entries := f.read(k, from)
		if int64(len(entries)) != after-from || len(entries) > 0 && entries[0].Position != from+1 {
			f.Fatalf("Read after %d: %d entries, want %d", from, len(entries), after-from)
		}
	}
}

func conflict(f *fixture) {
	k, other := key("t"), key("other")
	f.append(k, 0, event("s", "1"), event("s", "2"), event("s", "3"))
	before, thread := f.read(k, 0), f.thread(k)
	for _, tt := range []struct {
		key         store.Key
		after, last int64
	}{{k, 0, 3}, {k, 2, 3}, {k, 4, 3}, {k, -1, 3}, {k, 1 << 60, 3}, {other, 1, 0}, {other, -1, 0}} {
		for _, entries := range [][]store.Entry{{event("s", "4")}, {event("new", "4"), end("new")}, nil} {
			_, err := f.log.Append(f.ctx, tt.key, tt.after, entries)
			var conflict *store.ConflictError
			if !errors.Is(err, store.ErrConflict) || !errors.As(err, &conflict) {
				f.Fatalf("Append(%q, %d): %v, want a conflict", tt.key, tt.after, err)
			}
			equal(f, "the text of the conflict", err.Error(), conflict.Error())
			equal(f, "the conflict", *conflict, store.ConflictError{Key: tt.key, Expected: tt.after, Last: tt.last})
		}
	}
	equal(f, "entries after conflicts", f.read(k, 0), before)
	equal(f, "the thread after conflicts", f.thread(k), thread)
	if s, err := f.log.Stream(f.ctx, k, "new"); err != nil || s != (store.Stream{}) {
		f.Errorf("the stream of a conflict is %+v, %v", s, err)
	}
	_, err := f.log.Thread(f.ctx, other)
	fails(f, "the thread of a conflict", err, store.ErrNoThread)
}

func noEntries(f *fixture) {
	k := key("t")
	if last, err := f.log.Append(f.ctx, k, 0, nil); last != 0 || err != nil {
		f.Errorf("Append of nothing = %d, %v", last, err)
	}
	_, err := f.log.Thread(f.ctx, k)
	fails(f, "a thread without entries", err, store.ErrNoThread)
	f.append(k, 0, event("s", "1"))
	thread := f.thread(k)
	if last, err := f.log.Append(f.ctx, k, 1, []store.Entry{}); last != 1 || err != nil {
		f.Errorf("Append of nothing = %d, %v", last, err)
	}
	equal(f, "the thread", f.thread(k), thread)
}

func allOrNone(f *fixture) {
	k := key("t")
	f.append(k, 0, event("s", "1"))
	before, thread := f.read(k, 0), f.thread(k)
	large := event("s", "")
	large.Data = make([]byte, store.MaxEntryBytes+1)
	for what, bad := range map[string]struct {
		entry store.Entry
		want  error
	}{
		"no kind":              {store.Entry{Stream: "s"}, store.ErrEntry},
		"an unknown kind":      {store.Entry{Stream: "s", Kind: "other"}, store.ErrEntry},
		"too large":            {large, store.ErrEntry},
		"no stream":            {event("", "{}"), store.ErrKey},
		"arrived too late":     {store.Entry{Stream: "s", Kind: store.Event, Arrived: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, store.ErrEntry},
		"a stream that ended":  {event("ends", "{}"), store.ErrEntry},
		"an id of a stream":    {event("a\x00", "{}"), store.ErrKey},
		"a long id":            {event(strings.Repeat("s", store.MaxIDBytes+1), "{}"), store.ErrKey},
		"an id not in Unicode": {event("\xed\xa0\x80", "{}"), store.ErrKey},
	} {
		_, err := f.log.Append(f.ctx, k, 1, []store.Entry{event("s", "2"), end("ends"), bad.entry, event("s", "3")})
		fails(f, what, err, bad.want)
		equal(f, "entries after "+what, f.read(k, 0), before)
		equal(f, "the thread after "+what, f.thread(k), thread)
	}
	// Nothing of them is left that would be in the way of a good batch.
	f.append(k, 1, event("s", "2"), event("ends", "3"), end("ends"))
}

func entryAfterEnd(f *fixture) {
	k := key("t")
	after := f.append(k, 0, event("s", "1"), event("open", "1"), end("s"))
	for _, kind := range []store.Kind{store.Event, store.Input, store.Closing, store.End} {
		_, err := f.log.Append(f.ctx, k, after, []store.Entry{event("open", "2"), {Stream: "s", Kind: kind, Data: []byte("{}")}})
		fails(f, "an entry of an ended stream, "+string(kind), err, store.ErrEntry)
	}
	f.append(k, after, event("open", "2"), end("open"))
	// The same id in another thread is another stream.
	f.append(key("other"), 0, event("s", "1"))
}

func ignoredFields(f *fixture) {
	k := key("t")
	e := event("s", `{"type":"CUSTOM"}`)
	e.Position, e.Run, e.Type = 77, 78, "RAW"
	f.append(k, 0, e)
	e.Position, e.Run, e.Type = 1, 0, "CUSTOM"
	equal(f, "entries", f.read(k, 0), []store.Entry{e})
}

func dataIsCopied(f *fixture) {
	k := key("t")
	batch := []store.Entry{event("s", "first"), event("s", "second")}
	f.append(k, 0, batch...)
	copy(batch[0].Data, "xxxxx")
	batch[1] = event("other", "x")
	got := f.read(k, 0)
	if string(got[0].Data) != "first" || string(got[1].Data) != "second" || got[1].Stream != "s" {
		f.Errorf("the log has what the caller wrote later: %+v", got)
	}
}

func largeBatch(f *fixture) {
	k := key("t")
	batch := make([]store.Entry, 20_000)
	for i := range batch {
		batch[i] = event(fmt.Sprint("s", i%1000), fmt.Sprintf(`{"type":"CUSTOM","value":%d}`, i))
	}
	f.append(k, 0, batch...)
	got := f.read(k, 0)
	if len(got) != len(batch) {
		f.Fatalf("%d entries, want %d", len(got), len(batch))
	}
	for i, e := range got {
		if e.Position != int64(i+1) || e.Stream != batch[i].Stream || string(e.Data) != string(batch[i].Data) {
			f.Fatalf("entry %d is %+v", i+1, e)
		}
	}
}

func streamsAreApart(f *fixture) {
	k := key("t")
	f.append(k, 0, event("a", "1"), event("b", "2"), event("a", "3"), end("b"))
	for id, want := range map[string]store.Stream{
		"a": {Key: k, ID: "a", Entries: 2, First: 1, Last: 3}, "b": {Key: k, ID: "b", Entries: 2, First: 2, Last: 4, Ended: true}, "c": {}, "A": {},
	} {
		got, err := f.log.Stream(f.ctx, k, id)
		if err != nil {
			f.Fatal(err)
		}
		equal(f, "stream "+id, got, want)
	}
	if got, err := f.log.Stream(f.ctx, key("other"), "a"); err != nil || got != (store.Stream{}) {
		f.Errorf("the stream of another thread is %+v, %v", got, err)
	}
}

func threadsAtOnce(f *fixture) {
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			k := key(fmt.Sprint(n))
			for i := range int64(20) {
				if last, err := f.log.Append(f.ctx, k, i, []store.Entry{event("s", fmt.Sprint(n, i))}); err != nil || last != i+1 {
					f.Errorf("thread %d: Append after %d = %d, %v", n, i, last, err)
					return
				}
			}
		})
	}
	group.Wait()
	for n := range 8 {
		for i, e := range f.read(key(fmt.Sprint(n)), 0) {
			if want := fmt.Sprint(n, i); string(e.Data) != want {
				f.Errorf("thread %d: entry %d is %q, want %q", n, i+1, e.Data, want)
			}
		}
	}
}

func threadTimes(f *fixture) {
	k := key("t")
	f.append(k, 0, event("s", "1"))
	first := f.thread(k)
	if first.CreatedAt.IsZero() || !first.CreatedAt.Equal(first.UpdatedAt) {
		f.Errorf("after one append: created at %v, updated at %v", first.CreatedAt, first.UpdatedAt)
	}
	f.append(k, 1, event("s", "2"))
	second := f.thread(k)
	if !second.CreatedAt.Equal(first.CreatedAt) || second.UpdatedAt.Before(first.UpdatedAt) {
		f.Errorf("after two: created at %v, updated at %v; after one: %v", second.CreatedAt, second.UpdatedAt, first.CreatedAt)
	}
	if u := second.UpdatedAt; u != time.UnixMicro(u.UnixMicro()).UTC() {
		f.Errorf("%v is not in UTC, or has parts of microseconds", u)
	}
}

// race appends to one thread with several appenders at once. Exactly one of them must get
// each position.
func race(f *fixture, logs []store.Log) {
	const each = 25
	k := key("t")
	winners := make([][]int64, len(logs)) // the positions that each appender got
	var group sync.WaitGroup
	for n, log := range logs {
		group.Go(func() { winners[n] = contend(f, log, k, n, each) })
	}
	group.Wait()
	won := slices.Concat(winners...)
	slices.Sort(won)
	for i, position := range won {
		if position != int64(i+1) {
			f.Fatalf("positions %v were won: position %d was not, or more than once", won, i+1)
		}
	}
	next := make([]int, len(logs))
	for i, e := range f.read(k, 0) {
		var n, m int
		if _, err := fmt.Sscanf(string(e.Data), "%d %d", &n, &m); err != nil || m != next[n] || winners[n][m] != int64(i+1) {
			f.Fatalf("entry %d is %q", i+1, e.Data)
		}
		next[n]++
	}
	if len(won) != each*len(logs) || f.thread(k).Last != int64(len(won)) {
		f.Errorf("%d positions were won, want %d; the last is %d", len(won), each*len(logs), f.thread(k).Last)
	}
}

// contend appends entries to a thread to which others append, and returns their positions.
func contend(f *fixture, log store.Log, k store.Key, n, each int) (won []int64) {
	var after int64
	for i := range each {
		for {
			last, err := log.Append(f.ctx, k, after, []store.Entry{event("s", fmt.Sprint(n, " ", i))})
			var conflict *store.ConflictError
			if errors.As(err, &conflict) {
				after = conflict.Last
				continue
			}
			if err != nil {
				f.Errorf("appender %d: %v", n, err)
				return won
			}
			won = append(won, last)
			after = last
			break
		}
	}
	return won
}
