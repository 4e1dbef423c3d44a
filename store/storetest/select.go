package storetest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/p20export/p20export/store"
)

// readSelections compares selections with all entries of a thread, parts of which are packed.
func readSelections(f *fixture) {
	k := key("t")
	fails(f, "Select of a key that is not valid", last(f, f.log.Select(f.ctx, store.Key{}, store.Selection{})), store.ErrKey)
	if got := collect(f, f.log.Select(f.ctx, k, store.At(1))); len(got) != 0 {
		f.Errorf("no thread has %d entries", len(got))
	}
	after := int64(0)
	for part := range 4 {
		var batch []store.Entry
		for i := range 100 {
			s := fmt.Sprintf("s%d-%d", part, i)
			empty := input(s)
			empty.Data = nil
			closing := custom(s)
			closing.Kind = store.Closing
			batch = append(batch, input(s), empty, started(s, s, ""), event(s, "torn {"), closing, finished(s))
			if i%10 == 0 {
				batch = append(batch, event(s, string(bytes.Repeat([]byte("x"), 100<<10))))
			}
			if i != 50 { // this stream is not packed
				batch = append(batch, end(s))
			}
		}
		after = f.append(k, after, spread(batch...)...)
		if part%2 == 0 {
			f.pack(k)
		}
	}
	all := f.read(k, 0)
	kinds := [][]store.Kind{nil, {store.Input}, {store.End, store.Closing}, {store.Event, store.Closing}, store.Kinds()}
	for _, s := range []store.Selection{{}, {After: -3}, {To: -1}, {After: 5, To: 5}, {After: 9, To: 3}, store.At(after), store.At(after + 1), store.At(1), {After: 100, To: 1000}, {After: 700}, {After: after - 3, To: after + 9}} {
		for _, s.Kinds = range kinds {
			for _, s.Bare = range kinds {
				for _, s.Types = range [][]string{nil, {"RUN_STARTED"}, {"", "CUSTOM"}} {
					equal(f, fmt.Sprintf("the entries of %+v", s), collect(f, f.log.Select(f.ctx, k, s)), selected(all, s))
				}
			}
		}
	}
}

// selected returns the entries that a selection selects, by the rules of store.Selection.
func selected(all []store.Entry, s store.Selection) []store.Entry {
	var list []store.Entry
	for _, e := range all {
		switch {
		case e.Position <= s.After, s.To != 0 && e.Position > s.To:
			continue
		case len(s.Kinds) > 0 && !slices.Contains(s.Kinds, e.Kind), len(s.Types) > 0 && !slices.Contains(s.Types, e.Type):
			continue
		case slices.Contains(s.Bare, e.Kind):
			e.Data, e.Size = []byte{}, int64(len(e.Data)) // as clone leaves it
		}
		list = append(list, e)
	}
	return list
}
