package storetest

import (
	"errors"
	"fmt"
	"iter"

	"github.com/p20export/p20export/store"
)

func rewindTests() map[string]func(*fixture) {
	return map[string]func(*fixture){
		"rewind/entries are lost":       func(f *fixture) { followRewound(f, 3, 0) },
		"rewind/the thread is lost":     func(f *fixture) { followRewound(f, 0, 0) },
		"rewind/another thread":         func(f *fixture) { followRewound(f, 0, 3) },
		"rewind/other entries":          func(f *fixture) { followRewound(f, 3, 3) },
		"rewind/more other entries":     func(f *fixture) { followRewound(f, 3, 300) },
		"rewind/fewer other entries":    func(f *fixture) { followRewound(f, 3, 1) },
		"rewind/what was read is there": followUnaffected,
		"rewind/append":                 appendRewound,
		"rewind/while it is read":       readRewound,
		"rewind/streams":                followStreams,
	}
}

// others appends entries to a thread of another history: their data differs.
func (f *fixture) others(log store.Log, k store.Key, after int64, n int) {
	f.Helper()
	var entries []store.Entry
	for i := range n {
		entries = append(entries, event("s", fmt.Sprintf(`{"type":"CUSTOM","name":"other","value":%d}`, i)))
	}
	if n == 0 {
		return
	}
	if _, err := log.Append(f.ctx, k, after, entries); err != nil {
		f.Fatal(err)
	}
}

// followRewound follows a thread that loses all entries but some, and gets others.
func followRewound(f *fixture, kept, others int) {
	const most = 6
	k := key("t")
	f.numbered(f.log, key("before"), 0, 1)
	f.numbered(f.log, k, 0, kept)
	restore := f.rewind()
	f.numbered(f.log, k, int64(kept), most-kept)
	pull, stop := iter.Pull2(f.log.Follow(f.ctx, k, 0))
	defer stop()
	for want := range int64(most) {
		f.isNumber(next(f, pull), want+1)
	}
	later, stop := iter.Pull2(f.log.Follow(f.ctx, k, most-1)) // has not read what comes before
	defer stop()
	f.isNumber(next(f, later), most)
	restore()
	f.others(f.other(), k, int64(kept), others)
	for _, pull := range []func() (*store.Entry, error, bool){pull, later} {
		if e, err, _ := pull(); !errors.Is(err, store.ErrRewound) {
			f.Errorf("the follower gets %v and the error %v, want %v", e, err, store.ErrRewound)
		}
	}
	// A follower that begins again gets what is there now.
	if n := kept + others; n > 0 {
		again, stop := iter.Pull2(f.log.Follow(f.ctx, k, 0))
		defer stop()
		for i := range n {
			if e := next(f, again); i < kept {
				f.isNumber(e, int64(i)+1)
			}
		}
	}
}

// followUnaffected follows a thread that loses nothing of what the follower got.
func followUnaffected(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 3)
	restore := f.rewind()
	pull, stop := iter.Pull2(f.log.Follow(f.ctx, k, 0))
	defer stop()
	for want := range int64(3) {
		f.isNumber(next(f, pull), want+1)
	}
	f.numbered(f.log, key("other"), 0, 5)
	restore()
	f.numbered(f.other(), k, 3, 2)
	for want := range int64(2) {
		f.isNumber(next(f, pull), want+4)
	}
}

// readRewound reads a thread that is lost in the meantime. The first of another tenant takes its
// place in the database.
func readRewound(f *fixture) {
	k := key("t")
	restore := f.rewind()
	for name, read := range map[string]func() iter.Seq2[*store.Entry, error]{
		"Read":   func() iter.Seq2[*store.Entry, error] { return f.log.Read(f.ctx, k, 0) },
		"Select": func() iter.Seq2[*store.Entry, error] { return f.log.Select(f.ctx, k, store.Selection{}) },
		"Select of a kind": func() iter.Seq2[*store.Entry, error] {
			return f.log.Select(f.ctx, k, store.Selection{Kinds: []store.Kind{store.Event}})
		},
		"Follow": func() iter.Seq2[*store.Entry, error] { return f.log.Follow(f.ctx, k, 0) },
	} {
		f.numbered(f.log, k, 0, 2000)
		var err error
		n := int64(0)
		for e, failed := range read() {
			if err = failed; err != nil {
				break
			}
			if n++; n == 1 {
				restore()
				f.others(f.other(), store.Key{Tenant: "another", Thread: "u"}, 0, 2100)
			}
			f.isNumber(e, n)
		}
		if !errors.Is(err, store.ErrRewound) {
			f.Errorf("%s: %d entries and the error %v, want %v", name, n, err, store.ErrRewound)
		}
		restore()
	}
}

// followStreams follows a thread that loses a stream before the follower reads any of it. The next
// new stream gets its number.
func followStreams(f *fixture) {
	k, other := key("t"), f.other()
	f.numbered(other, k, 0, 10)
	pull, stop := iter.Pull2(f.log.Follow(f.ctx, k, 0))
	defer stop()
	for range 10 {
		next(f, pull)
	}
	f.numbered(other, k, 10, 2000)
	add := func(log store.Log, after int64, stream string) {
		f.Helper()
		if _, err := log.Append(f.ctx, k, after, []store.Entry{event(stream, "{}")}); err != nil {
			f.Fatal(err)
		}
	}
	add(other, 2010, "second")
	restore := f.rewind()
	next(f, pull)
	add(other, 2011, "lost")
	for range 2000 {
		next(f, pull)
	}
	restore()
	add(f.other(), 2011, "third")
	if e := next(f, pull); e.Stream != "third" {
		f.Errorf("entry %d of stream %q, want one of the third", e.Position, e.Stream)
	}
}

// appendRewound appends to a thread that has as many entries as the log knows, but others.
func appendRewound(f *fixture) {
	k := key("t")
	f.numbered(f.log, k, 0, 3)
	restore := f.rewind()
	f.numbered(f.log, k, 3, 3)
	restore()
	other := f.other()
	f.others(other, k, 3, 3)
	entries := []store.Entry{event("s", `{"type":"CUSTOM"}`)}
	if _, err := f.log.Append(f.ctx, k, 6, entries); !errors.Is(err, store.ErrRewound) {
		f.Errorf("Append after entries that are lost: %v, want %v", err, store.ErrRewound)
	}
	if n := len(f.read(k, 0)); n != 6 {
		f.Errorf("the thread has %d entries, want 6", n)
	}
	f.append(k, 6, entries...) // the caller knows now
	restore()
	if _, err := f.log.Append(f.ctx, k, 7, entries); !errors.Is(err, store.ErrRewound) {
		f.Errorf("Append to a thread that lost entries: %v, want %v", err, store.ErrRewound)
	}
}
