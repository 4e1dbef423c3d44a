package attach

import (
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// arrived sets the times of arrival of entries, a second after each other.
func arrived(at int64, entries ...store.Entry) []store.Entry {
	for i := range entries {
		entries[i].Arrived = time.Unix(at+int64(i), 0).UTC()
	}
	return entries
}

// A client that comes back after the log was rewound, and has grown again, is told so, and not
// only if the log lacks its position. A client that sends plain positions is not.
func TestCursorRewound(t *testing.T) {
	t.Parallel()
	had := func() []store.Entry {
		return arrived(1000, append(append([]store.Entry{input("a")}, events("a", started, begin, one, two, ended, finished)...), end("a"))...)
	}
	before := memory.New()
	appendTo(t, before, had()...)
	h := New(before, Settings{})
	defer h.Close()
	ids := make(map[string]View)
	collect := func(view View, texts iter.Seq2[[]byte, error]) {
		for text, err := range texts {
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range parse(t, text) {
				if f.ID != "" {
					ids[f.ID] = view
				}
			}
		}
	}
	collect(Raw, h.Connect(t.Context(), key(), false)) // the id is that of the end of the stream
	collect(Raw, h.Events(t.Context(), key(), EventOptions{}))
	collect(Compact, h.Events(t.Context(), key(), EventOptions{View: Compact}))
	if len(ids) != 6+1+4 {
		t.Fatalf("the ids are %v", ids)
	}
	for name, now := range map[string][]store.Entry{
		"the same":          had(),
		"more":              append(had(), arrived(2000, run("b")...)...),
		"other times":       append(had()[:4], arrived(2000, had()[4:]...)...),
		"another stream":    append(arrived(2000, run("b")...), arrived(3000, run("c")...)...),
		"closed":            append(had()[:4], arrived(2000, closing("a", failed), end("a"), input("b"), event("b", started), event("b", finished))...),
		"other bytes":       append(had()[:6], arrived(1006, event("a", failed), end("a"))...),
		"the run goes on":   had()[:6],
		"a part of it":      had()[:4],
		"nothing but input": had()[:1],
		"none":              nil,
	} {
		log, told := memory.New(), 0
		if len(now) > 0 {
			appendTo(t, log, now...)
		}
		h := New(log, Settings{Rewound: func(store.Key) { told++ }})
		want := 0
		for id, view := range ids {
			after, err := ParseCursor(id)
			if err != nil {
				t.Fatal(err)
			}
			at := after.Position
			if after.Compacted > 0 {
				at = 7 // the end of the run
			}
			lost := at > int64(len(now)) || cmp.Diff(had()[at-1], now[at-1]) != ""
			_, err = drain(h.Events(t.Context(), key(), EventOptions{View: view, After: after}))
			if errors.Is(err, store.ErrRewound) != lost || !lost && err != nil {
				t.Errorf("%s: after %s, it is lost: %t, but the error is %v", name, id, lost, err)
			}
			if lost {
				want++
			}
			if after.Check = 0; after.Compacted == 0 {
				if n, err := drain(h.Events(t.Context(), key(), EventOptions{View: view, After: after})); err != nil {
					t.Errorf("%s: after %s: %d bytes, %v", name, after, n, err)
				}
			}
		}
		if told != want {
			t.Errorf("%s: it was told %d times, want %d", name, told, want)
		}
		h.Close()
	}
}

// drain returns the number of bytes that an iteration yields, and its error.
func drain(texts iter.Seq2[[]byte, error]) (n int, err error) {
	var text []byte
	for text, err = range texts {
		n += len(text)
	}
	return n, err
}

func TestVerify(t *testing.T) {
	t.Parallel()
	log := memory.New()
	appendTo(t, log, run("a")...)
	h := New(log, Settings{})
	defer h.Close()
	is := CursorOf(&entriesOf(t, log)[2])
	for after, want := range map[Cursor]error{
		{}: nil, {Position: 3}: nil, {Position: 9}: nil, is: nil,
		{Position: 3, Check: is.Check + 1}: store.ErrRewound, {Position: 2, Check: is.Check}: store.ErrRewound, {Position: 9, Check: 1}: store.ErrRewound,
	} {
		if err := h.Verify(t.Context(), key(), after); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", after, err, want)
		}
	}
	h.Close()
	if s := h.Stats(); s != (Stats{}) {
		t.Errorf("afterwards: %+v", s)
	}
}
