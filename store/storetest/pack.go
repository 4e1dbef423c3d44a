package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/p20export/p20export/store"
)

func packTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"pack/changes nothing that a reader sees": packUnseen,
		"pack/only what has ended":                packEnded,
		"pack/twice":                              packTwice,
		"pack/two streams in turns":               packInTurns,
		"pack/rest":                               packRest,
		"pack/after each run":                     packEachRun,
		"pack/only what is worth a pack":          packWorth,
		"pack/exact bytes":                        packExact,
		"pack/while it is read":                   packWhileReading,
		"pack/then append":                        packThenAppend,
		"pack/while others append":                func(f *fixture) { packWhileAppending(f, f.log) },
		"pack/no thread":                          packNothing,
		"pack/saves space":                        packSmaller,
	}
}

// pack packs a thread.
func (f *fixture) pack(k store.Key) store.Packed {
	f.Helper()
	p, err := f.log.Pack(f.ctx, k)
	if err != nil {
		f.Fatalf("Pack(%q): %v", k, err)
	}
	return p
}

// packs packs a thread and checks how much of it is then packed.
func (f *fixture) packs(k store.Key, entries, all int64) {
	f.Helper()
	before, runs, thread := f.read(k, 0), f.runs(store.RunQuery{}), f.thread(k)
	p := f.pack(k)
	if p.Entries != entries || (p.Stored > 0) != (entries > 0) || entries == 0 && p.Bytes != 0 {
		f.Errorf("Pack returns %+v, want %d entries", p, entries)
	}
	equal(f, "entries after Pack", f.read(k, 0), before)
	equal(f, "runs after Pack", f.runs(store.RunQuery{}), runs)
	thread.Packed = all
	equal(f, "the thread after Pack", f.thread(k), thread)
	for after := range int64(len(before)) {
		equal(f, fmt.Sprintf("entries after %d", after), f.read(k, after), before[after:])
	}
}

func packUnseen(f *fixture) {
	k := key("t")
	after := f.append(k, 0, spread(input("s"), started("s", "r", ""), custom("s"), finished("s"), end("s"))...)
	after = f.append(k, after, spread(started("q", "r", ""), event("q", "torn {"), end("q"))...)
	f.packs(k, 8, 8)
	s, err := f.log.Stream(f.ctx, k, "s")
	if err != nil || s != (store.Stream{Key: k, ID: "s", Entries: 5, First: 1, Last: 5, Ended: true}) {
		f.Errorf("the stream is %+v, %v", s, err)
	}
	_, err = f.log.Append(f.ctx, k, after, []store.Entry{custom("s")})
	fails(f, "an entry after an end that is packed", err, store.ErrEntry)
}

func packEnded(f *fixture) {
	open := key("open")
	f.append(open, 0, input("s"), started("s", "r", ""), custom("s"))
	f.packs(open, 0, 0)
	f.append(open, 3, finished("s"))
	f.packs(open, 3, 3) // the stream goes on, and so does its input
	f.append(open, 4, large("s"), end("s"))
	f.packs(open, 2, 5) // the input is not worth a pack

	mixed := key("mixed")
	f.append(mixed, 0, started("a", "1", ""), started("b", "2", ""), large("a"), large("b"), finished("a"), large("a"), large("b"), end("a"))
	f.packs(mixed, 4, 4)
	f.append(mixed, 8, started("b", "3", ""))
	f.packs(mixed, 3, 7) // the run that was cut, but for its begin
	f.append(mixed, 9, large("b"), end("b"))
	f.packs(mixed, 3, 10)
}

// large returns an event that is worth a pack.
func large(stream string) store.Entry {
	return event(stream, `{"type":"CUSTOM","value":"`+strings.Repeat("large ", store.MinPackBytes/6)+`"}`)
}

// packEachRun packs a thread after each run. The packs get larger.
func packEachRun(f *fixture) {
	const runs = 200
	k := key("t")
	after, packs, small := int64(0), int64(0), 0
	var all store.Packed
	for i := range runs {
		s := fmt.Sprint(i)
		batch := []store.Entry{input(s), started(s, s, "")}
		for range 20 {
			batch = append(batch, event(s, string(noise(100, uint64(i)))))
		}
		after = f.append(k, after, append(batch, finished(s), end(s))...)
		p := f.pack(k)
		if p.Entries == 0 {
			continue
		}
		if p.Entries+p.Bytes < store.MinPackBytes {
			small++
			if p.Entries+p.Bytes < all.Entries+all.Bytes {
				f.Errorf("after run %d, %d entries of %d bytes were packed, and before that %d of %d", i+1, p.Entries, p.Bytes, all.Entries, all.Bytes)
			}
		}
		packs++
		all.Entries, all.Bytes = all.Entries+p.Entries, all.Bytes+p.Bytes
	}
	t := f.thread(k)
	if t.Packed != all.Entries {
		f.Errorf("%d entries are packed, and Pack packed %d", t.Packed, all.Entries)
	}
	if rest := t.Bytes - all.Bytes + t.Last - t.Packed; rest >= store.MinPackBytes {
		f.Errorf("the entries that are not packed have %d bytes", rest)
	}
	if most := 17 + (t.Bytes+t.Last)/store.MinPackBytes; packs > most || small > 17 || small == 0 {
		f.Errorf("%d packs, %d of them small; want at most %d, and 1 to 17 small", packs, small, most)
	}
	if got := f.read(k, 0); int64(len(got)) != after {
		f.Errorf("%d entries, want %d", len(got), after)
	}
}

// packWorth packs entries that are just large enough, and leaves those that are not.
func packWorth(f *fixture) {
	k := key("t")
	f.append(k, 0, event("s", strings.Repeat("x", 9)), end("s"))
	f.packs(k, 2, 2) // nothing is packed
	f.append(k, 2, event("q", strings.Repeat("x", 8)), end("q"))
	f.packs(k, 0, 2)
	f.append(k, 4, event("r", ""), end("r"))
	f.packs(k, 4, 6)                                                                                     // with those before, there are more bytes than are packed
	for i, size := range []int{2 * store.MinPackBytes, store.MinPackBytes - 5, store.MinPackBytes - 6} { // an end has 3, and each entry counts
		s := fmt.Sprint("w", i)
		f.append(k, 6+2*int64(i), event(s, strings.Repeat("x", size)), end(s))
		f.packs(k, []int64{2, 2, 0}[i], []int64{8, 10, 10}[i])
	}
}

// packRest packs a run whose pack is full before its end, and what follows, which is worth a pack of
// its own or not.
func packRest(f *fixture) {
	for _, size := range []int{0, 1 << 10, store.MinPackBytes - 100, store.MinPackBytes, store.MinPackBytes + 1000, 3 * store.MinPackBytes} {
		k := key(fmt.Sprint("rest ", size))
		batch := []store.Entry{input("s"), started("s", "r", ""), event("s", `{"type":"CUSTOM","value":"`+strings.Repeat("snapshot", 1<<18)+`"}`)}
		for rest := size; rest > 0; rest -= 1 << 10 {
			batch = append(batch, event("s", strings.Repeat("x", 1<<10-1)))
		}
		batch = append(batch, finished("s"), end("s"))
		f.append(k, 0, batch...)
		before := f.read(k, 0)
		f.packs(k, int64(len(batch)), int64(len(batch)))
		equal(f, "the entries", f.read(k, 0), before)
	}
}

// packInTurns packs every other entry of a part of a thread.
func packInTurns(f *fixture) {
	k := key("t")
	var batch []store.Entry
	for range 8 {
		batch = append(batch, large("a"), custom("a"), custom("b"))
	}
	batch = append(batch, custom("a"), end("a"))
	for range 20 {
		batch = append(batch, custom("b"))
	}
	f.append(k, 0, batch...)
	f.packs(k, 16, 16) // but for the last two
}

func packTwice(f *fixture) {
	k := key("t")
	f.append(k, 0, started("s", "r", ""), finished("s"), end("s"))
	f.packs(k, 3, 3)
	f.packs(k, 0, 3)
	f.append(k, 3, started("q", "r", ""), finished("q"), end("q"))
	f.packs(k, 3, 6)
	f.packs(k, 0, 6)
}

// packExact packs hostile bytes, empty entries and entries without compressible data.
func packExact(f *fixture) {
	k := key("t")
	var batch []store.Entry
	for i, data := range hostileData() {
		e := event("s", data)
		if i%3 == 0 {
			e.Arrived = at(int64(i) - 10)
		}
		batch = append(batch, e)
	}
	for _, n := range []int{1 << 16, 1<<20 - 1, 1 << 20, 1<<20 + 1, 5 << 20} {
		e := event("s", "")
		e.Data = noise(n, uint64(n))
		batch = append(batch, e, event("s", ""))
	}
	batch = append(batch, end("s"))
	f.append(k, 0, batch...)
	before := f.read(k, 0)
	if p := f.pack(k); p.Entries != int64(len(batch)) {
		f.Errorf("Pack returns %+v, want %d entries", p, len(batch))
	}
	after := f.read(k, 0)
	if len(after) != len(before) {
		f.Fatalf("%d entries, want %d", len(after), len(before))
	}
	for i := range after {
		if !bytes.Equal(after[i].Data, before[i].Data) {
			f.Errorf("entry %d has other data", i+1)
		}
		after[i].Data, before[i].Data = nil, nil
		equal(f, "an entry", after[i], before[i])
	}
}

// packWhileReading packs a thread while an iterator is in it.
func packWhileReading(f *fixture) {
	k := key("t")
	var batch []store.Entry
	for i := range 2000 {
		e := event(fmt.Sprint("s", i/10), fmt.Sprint(i+1))
		if i%10 == 9 {
			e.Kind = store.End
		}
		batch = append(batch, e)
	}
	f.append(k, 0, batch[:1000]...)
	f.pack(k)
	f.append(k, 1000, batch[1000:]...)
	n := int64(0)
	for e, err := range f.log.Read(f.ctx, k, 0) {
		if err != nil {
			f.Fatal(err)
		}
		n++
		if e.Position != n || string(e.Data) != fmt.Sprint(n) {
			f.Fatalf("entry %d is %+v", n, e)
		}
		if n == 500 || n == 1500 {
			f.pack(k)
		}
	}
	if n != 2000 {
		f.Errorf("%d entries, want 2000", n)
	}
	if packed := f.thread(k).Packed; packed != 2000 {
		f.Errorf("%d entries are packed, want 2000", packed)
	}
}

func packThenAppend(f *fixture) {
	k := key("t")
	var items []item
	after := int64(0)
	for i := range 5 {
		stream := fmt.Sprint(i)
		group := []item{
			{Entry: started(stream, "r", ""), typ: "RUN_STARTED", run: "r"},
			{Entry: large(stream), typ: "CUSTOM"},
			{Entry: finished(stream), typ: "RUN_FINISHED", end: store.Finished},
			{Entry: end(stream)},
			{Entry: input("open")},
		}
		for _, it := range group {
			after = f.append(k, after, it.Entry)
			items = append(items, it)
		}
		f.pack(k)
		expect(k, items).check(f, f.log, k)
	}
	if packed := f.thread(k).Packed; packed != 20 {
		f.Errorf("%d entries are packed, want 20", packed)
	}
}

// packWhileAppending packs a thread with another handle while it grows, is read and is
// followed.
func packWhileAppending(f *fixture, other store.Log) {
	const runs = 40
	k := key("t")
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		defer close(done)
		for n := range int64(runs) {
			stream, last := fmt.Sprint(n), 8*n
			for i := range int64(4) {
				batch := []store.Entry{event(stream, fmt.Sprint(last+1)), event(stream, fmt.Sprint(last+2))}
				if i == 3 {
					batch[1].Kind = store.End
				}
				var err error
				if last, err = f.log.Append(f.ctx, k, last, batch); err != nil {
					f.Errorf("Append: %v", err)
					cancel() // nothing further follows
					return
				}
			}
		}
	})
	group.Go(func() {
		packed := int64(0)
		for last := false; !last; {
			select {
			case <-done:
				last = true
			default:
			}
			p, err := other.Pack(f.ctx, k)
			if err != nil && !errors.Is(err, store.ErrNoThread) {
				f.Errorf("Pack: %v", err)
				return
			}
			packed += p.Entries
		}
		if all := f.thread(k).Packed; packed != all || packed == 0 {
			f.Errorf("%d entries were packed, and the thread has %d", packed, all)
		}
	})
	for _, log := range []store.Log{f.log, other} {
		group.Go(func() {
			position := int64(0)
			for e, err := range log.Follow(ctx, k, 0) {
				if err != nil {
					f.Errorf("Follow: %v", err)
					return
				}
				if position++; !f.isNumber(e, position) || position == 8*runs {
					return
				}
			}
		})
		group.Go(func() {
			for last := false; !last; {
				select {
				case <-done:
					last = true
				default:
				}
				position := int64(0)
				for e, err := range log.Read(f.ctx, k, 0) {
					if err != nil {
						f.Errorf("Read: %v", err)
						return
					}
					if position++; !f.isNumber(e, position) {
						return
					}
				}
				if last && position != 8*runs {
					f.Errorf("Read yields %d entries at the end, want %d", position, 8*runs)
				}
			}
		})
	}
	group.Wait()
}

func packNothing(f *fixture) {
	_, err := f.log.Pack(f.ctx, key("t"))
	fails(f, "Pack of no thread", err, store.ErrNoThread)
	f.append(key("t"), 0, custom("s"))
	if _, err := f.log.Delete(f.ctx, key("t")); err != nil {
		f.Fatal(err)
	}
	_, err = f.log.Pack(f.ctx, key("t"))
	fails(f, "Pack of a deleted thread", err, store.ErrDeleted)
}

// packSmaller packs events as agents send them.
func packSmaller(f *fixture) {
	k := key("t")
	batch := []store.Entry{started("s", "r", "")}
	for i := range 3000 {
		batch = append(batch, event("s", fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"word %d","timestamp":%d}`, i*i, 1_767_225_600_000+int64(i)*40)))
	}
	f.append(k, 0, append(batch, finished("s"), end("s"))...)
	if p := f.pack(k); p.Bytes < 10*3000 || p.Stored > p.Bytes/4 {
		f.Errorf("Pack returns %+v: less than four to one", p)
	}
}
