package attach

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// key is the thread of most tests.
func key() store.Key { return store.Key{Tenant: "tenant", Thread: "thread"} }

// event returns an event of a stream.
func event(stream, data string) store.Entry {
	return store.Entry{Stream: stream, Kind: store.Event, Data: []byte(data)}
}

// closing returns an event of a stream that the program itself added.
func closing(stream, data string) store.Entry {
	return store.Entry{Stream: stream, Kind: store.Closing, Data: []byte(data)}
}

// input returns a request.
func input(stream string) store.Entry {
	return store.Entry{Stream: stream, Kind: store.Input, Data: []byte("{}")}
}

// end returns the end of a stream.
func end(stream string) store.Entry {
	return store.Entry{Stream: stream, Kind: store.End, Data: []byte(`{"kind":"complete"}`)}
}

// appendTo appends entries to the thread of a log.
func appendTo(t testing.TB, log store.Log, entries ...store.Entry) {
	t.Helper()
	about, err := log.Thread(context.Background(), key())
	if ignoreNoThread(err) != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(context.Background(), key(), about.Last, entries); err != nil {
		t.Fatal(err)
	}
}

// plain returns a text without the checks of its ids.
func plain(text string) string {
	return regexp.MustCompile(`(?m)^(id: [0-9.]+)-[0-9a-f]{8}$`).ReplaceAllString(text, "$1")
}

// collect returns what an iteration yields, without the checks of ids, and its error.
func collect(texts func(func([]byte, error) bool)) (string, error) {
	var all strings.Builder
	for text, err := range texts {
		if err != nil {
			return plain(all.String()), err
		}
		all.Write(text)
	}
	return plain(all.String()), nil
}

// sse returns events with their ids.
func sse(idsAndData ...any) string {
	var all strings.Builder
	for pair := range slices.Chunk(idsAndData, 2) {
		fmt.Fprintf(&all, "id: %v\ndata: %v\n\n", pair[0], pair[1])
	}
	return all.String()
}

func TestEvents(t *testing.T) {
	t.Parallel()
	log := memory.New()
	h := New(log, Settings{})
	defer h.Close()
	if got, err := collect(h.Events(t.Context(), key(), EventOptions{})); got != "" || err != nil {
		t.Errorf("the thread that does not exist has %q, %v", got, err)
	}
	appendTo(t, log, input("a"), event("a", "1"), event("b", "2"), closing("a", "3"), end("a"), event("b", "4"), end("b"))
	for _, test := range []struct {
		after int64
		want  string
	}{
		{0, sse(2, 1, 3, 2, 4, 3, 6, 4)},
		{1, sse(2, 1, 3, 2, 4, 3, 6, 4)},
		{3, sse(4, 3, 6, 4)},
		{4, sse(6, 4)},
		{6, ""},
		{7, ""},
		{100, ""},
	} {
		got, err := collect(h.Events(t.Context(), key(), EventOptions{After: Cursor{Position: test.after}}))
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("after %d: %v\n%s", test.after, err, diff)
		}
	}
	for stream, want := range map[string]string{"a": sse(2, 1, 4, 3), "b": sse(3, 2, 6, 4)} {
		got, err := collect(h.Stream(t.Context(), key(), stream, 0))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("stream %s: %v\n%s", stream, err, diff)
		}
	}
	if got, err := collect(h.Stream(t.Context(), key(), "a", 5)); got != "" || err != nil {
		t.Errorf("after the end of the stream: %q, %v", got, err)
	}
	if _, err := collect(h.Events(t.Context(), key(), EventOptions{After: Cursor{Position: 1, Compacted: 1}})); !errors.Is(err, ErrCursor) {
		t.Errorf("a cursor of the other view: %v", err)
	}
	if _, err := collect(h.Events(t.Context(), store.Key{}, EventOptions{})); !errors.Is(err, store.ErrKey) {
		t.Errorf("no thread id: %v", err)
	}
}

// A reader waits for a thread that does not exist, gets its events and an empty text when
// nothing happens, and the end of the thread.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		h := New(log, Settings{Idle: time.Minute})
		defer h.Close()
		var got []string
		var failed error
		go func() {
			for text, err := range h.Events(t.Context(), key(), EventOptions{Follow: true}) {
				if failed = err; err == nil {
					got = append(got, plain(string(text)))
				}
			}
		}()
		synctest.Wait()
		appendTo(t, log, input("a"), event("a", "1"))
		time.Sleep(50 * time.Second)
		appendTo(t, log, event("a", "2"))
		time.Sleep(61 * time.Second)
		appendTo(t, log, end("a"))
		time.Sleep(time.Minute)
		if _, err := log.Delete(t.Context(), key()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{sse(2, 1), sse(3, 2), "", ""}, got); diff != "" || !errors.Is(failed, store.ErrDeleted) {
			t.Errorf("%v\n%s", failed, diff)
		}
		if s := h.Stats(); s != (Stats{}) {
			t.Errorf("without readers: %+v", s)
		}
	})
}

// A reader of a stream that is open gets its events until it ends.
func TestStreamFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		h := New(log, Settings{})
		defer h.Close()
		var got string
		var failed error
		ended := make(chan struct{})
		go func() {
			got, failed = collect(h.Stream(t.Context(), key(), "a", 0))
			close(ended)
		}()
		synctest.Wait()
		appendTo(t, log, event("b", "1"), input("a"), event("a", "2"), event("b", "3"))
		synctest.Wait()
		appendTo(t, log, event("a", "4"), end("b"), event("a", "5"), end("a"), event("c", "6"))
		<-ended
		if diff := cmp.Diff(sse(3, 2, 5, 4, 7, 5), got); diff != "" || failed != nil {
			t.Errorf("%v\n%s", failed, diff)
		}
	})
}

func TestParseCursor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Cursor{"0": {}, "7": {Position: 7}, "7.2": {7, 2, 0}, "9223372036854775807.1": {1<<63 - 1, 1, 0}, "7-0000000a": {7, 0, 10}, "0.2-ffffffff": {0, 2, 1<<32 - 1}} {
		if got, err := ParseCursor(text); got != want || err != nil || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " 1", "01", "+1", "-1", "1.", "1.0", "1.-1", ".1", "1.2.3", "9223372036854775808", "x",
		"7-", "7-a", "7-00000000", "7-0000000A", "7-00000000a", "0-0000000a", "-0000000a", "7-0000000a.1", "7-0000000a-0000000a"} {
		if got, err := ParseCursor(text); !errors.Is(err, ErrCursor) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
