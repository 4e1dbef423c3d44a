package index

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/store"
)

// entry returns an event.
func entry(stream, data string) store.Entry {
	return store.Entry{Stream: stream, Kind: store.Event, Data: []byte(data)}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", store.MaxIDBytes)
	for _, tt := range []struct {
		data string
		want event
	}{
		{``, event{}},
		{`null`, event{}},
		{`["RUN_STARTED"]`, event{}},
		{`{}`, event{}},
		{`{"type":7}`, event{}},
		{`{"type":"CUSTOM"`, event{}},
		{`{"type":"CUSTOM"} x`, event{}},
		{`{"type":"CUSTOM","type":"RAW"}`, event{}},
		{"{\"type\":\"CUSTOM\",\"a\":\"\xff\"}", event{}},
		{"\xef\xbb\xbf{\"type\":\"CUSTOM\"}", event{}},
		{` { "a" : [ 1 ] , "type" : "CUSTOM" } `, event{name: "CUSTOM"}},
		{`{"\u0074ype":"CU\u0053TOM"}`, event{name: "CUSTOM"}},
		{`{"type":"NEWER"}`, event{name: "NEWER"}},
		{`{"type":"A\u0000"}`, event{}},
		{`{"type":"A\ud800"}`, event{}},
		{`{"type":"` + long + `"}`, event{name: long}},
		{`{"type":"` + long + `x"}`, event{}},
		{`{"type":"` + strings.Repeat(`\u0078`, store.MaxIDBytes) + `"}`, event{name: long}},
		{`{"type":"` + strings.Repeat(`\u00e9`, store.MaxIDBytes) + `"}`, event{}},
		{`{"type":"RUN_STARTED"}`, event{name: "RUN_STARTED"}},
		{`{"type":"RUN_STARTED","runId":"r","parentRunId":"p","input":{"runId":"q"}}`, event{name: "RUN_STARTED", run: "r", parent: "p"}},
		{`{"type":"RUN_STARTED","runId":1,"parentRunId":null}`, event{name: "RUN_STARTED"}},
		{`{"type":"RUN_STARTED","runId":"\ud83d\ude00","parentRunId":"\ud83d"}`, event{name: "RUN_STARTED", run: "😀"}},
		{`{"type":"RUN_STARTED","runId":"` + long + `x","parentRunId":"a\u0000"}`, event{name: "RUN_STARTED"}},
		{`{"type":"RUN_FINISHED","runId":"r"}`, event{name: "RUN_FINISHED", end: store.Finished}},
		{`{"type":"RUN_FINISHED","outcome":null}`, event{name: "RUN_FINISHED", end: store.Finished}},
		{`{"type":"RUN_FINISHED","outcome":"success"}`, event{name: "RUN_FINISHED", end: store.Finished}},
		{`{"type":"RUN_FINISHED","outcome":{"type":"success"}}`, event{name: "RUN_FINISHED", end: store.Finished}},
		{`{"type":"RUN_FINISHED","outcome":"interrupt"}`, event{name: "RUN_FINISHED", end: store.Interrupted}},
		{`{"type":"RUN_FINISHED","outcome":{"interrupts":[{"id":"i"}],"type":"interrupt"}}`, event{name: "RUN_FINISHED", end: store.Interrupted}},
		{`{"type":"RUN_FINISHED","outcome":"cancelled"}`, event{name: "RUN_FINISHED", end: store.Cancelled}},
		{`{"type":"RUN_FINISHED","outcome":{"type":"cancelled"}}`, event{name: "RUN_FINISHED", end: store.Cancelled}},
		{`{"type":"RUN_ERROR","outcome":"interrupt"}`, event{name: "RUN_ERROR"}},
	} {
		// The same text again fits a template of the reader.
		b, err := New([]store.Entry{entry("s", tt.data), entry("s", tt.data), entry("s", tt.data)})
		if err != nil {
			t.Errorf("%.80s: %v", tt.data, err)
			continue
		}
		for i, got := range b.events {
			if got != tt.want {
				t.Errorf("%.80s, read %d times: %+v, want %+v", tt.data, i+1, got, tt.want)
			}
		}
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		``: "", `[]`: "", `{}`: "", `{"parentRunId":null}`: "", `{"parentRunId":7}`: "", `{"parentRunId":"p"`: "",
		`{"parentRunId":"p","parentRunId":"p"}`: "", `{"messages":[{"parentRunId":"q"}],"parentRunId":"p"}`: "p",
		`{"type":"RUN_STARTED","runId":"r","parentRunId":"p"}`: "p", `{"parentRunId":"` + strings.Repeat("p", store.MaxIDBytes+1) + `"}`: "",
	} {
		b, err := New([]store.Entry{{Stream: "s", Kind: store.Input, Data: []byte(data)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.events[0]; got != (event{parent: want}) {
			t.Errorf("%s: %+v, want the parent %q", data, got, want)
		}
	}
}

func TestEntriesThatAreNotValid(t *testing.T) {
	t.Parallel()
	good := entry("s", `{"type":"CUSTOM"}`)
	large := store.Entry{Stream: "s", Kind: store.Input, Data: make([]byte, store.MaxEntryBytes)}
	if _, err := New([]store.Entry{large}); err != nil {
		t.Errorf("an entry of the maximum size: %v", err)
	}
	large.Data = make([]byte, store.MaxEntryBytes+1)
	first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
	for _, arrived := range []time.Time{first, last, {}} {
		if _, err := New([]store.Entry{{Stream: "s", Kind: store.End, Arrived: arrived}}); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		entry store.Entry
		want  error
		text  string
	}{
		{store.Entry{Stream: "s"}, store.ErrEntry, `entry 2 of 3: the entry is not valid: its kind is ""`},
		{store.Entry{Stream: "s", Kind: "Event"}, store.ErrEntry, `entry 2 of 3: the entry is not valid: its kind is "Event"`},
		{store.Entry{Kind: store.Event}, store.ErrKey, `entry 2 of 3: the stream: the id is not valid: it is empty`},
		{entry("a\x00", "{}"), store.ErrKey, `entry 2 of 3: the stream: the id is not valid: it contains U+0000`},
		{large, store.ErrEntry, `entry 2 of 3: the entry is not valid: it has 67108865 bytes and may have 67108864`},
		{store.Entry{Stream: "s", Kind: store.Event, Arrived: first.Add(-1)}, store.ErrEntry, `entry 2 of 3: the entry is not valid: it arrived in the year -1`},
		{store.Entry{Stream: "s", Kind: store.Event, Arrived: last.Add(1)}, store.ErrEntry, `entry 2 of 3: the entry is not valid: it arrived in the year 10000`},
	} {
		_, err := New([]store.Entry{good, tt.entry, good})
		if !errors.Is(err, tt.want) || err.Error() != tt.text {
			t.Errorf("%v, want %s", err, tt.text)
		}
	}
}

// TestPlace follows two streams that are open at the same time.
func TestPlace(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	entries := []store.Entry{
		{Stream: "a", Kind: store.Input, Data: []byte("{}"), Arrived: at(1)},
		{Stream: "b", Kind: store.Event, Data: []byte(`{"type":"RUN_ERROR"}`)}, // before any run
		{Stream: "a", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","runId":"r"}`), Arrived: at(2)},
		{Stream: "b", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","runId":"q","parentRunId":"r"}`)},
		{Stream: "a", Kind: store.Input, Data: []byte(`{"parentRunId":"r"}`)},
		{Stream: "a", Kind: store.Event, Data: []byte("torn {")},
		{Stream: "a", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","runId":"r"}`), Arrived: at(3)}, // 7: cuts the run at 3
		{Stream: "b", Kind: store.Closing, Data: []byte(`{"type":"RUN_ERROR"}`), Arrived: at(4)},
		{Stream: "b", Kind: store.Event, Data: []byte(`{"type":"RUN_FINISHED"}`)}, // after the end of the run
		{Stream: "b", Kind: store.End, Data: []byte("eof")},
		{Stream: "a", Kind: store.End, Data: []byte("error")}, // 11: cuts the run at 7
	}
	rows := []Row{
		{0, 1, ""}, {0, 2, "RUN_ERROR"}, {3, 1, "RUN_STARTED"}, {4, 2, "RUN_STARTED"}, {0, 1, ""}, {3, 1, ""},
		{7, 1, "RUN_STARTED"}, {4, 2, "RUN_ERROR"}, {4, 2, "RUN_FINISHED"}, {0, 2, ""}, {0, 1, ""},
	}
	runs := map[int64]Run{
		3: {store.Run{ID: "r", Stream: "a", Input: 1, Start: 3, Last: 6, Entries: 2, Bytes: 40, StartedAt: at(2), End: store.Cut}, 1},
		4: {store.Run{ID: "q", Parent: "r", Stream: "b", Start: 4, Last: 9, Entries: 3, Bytes: 95, End: store.Failed}, 2},
		7: {store.Run{ID: "r", Parent: "r", Stream: "a", Input: 5, Start: 7, Last: 7, Entries: 1, Bytes: 34, StartedAt: at(3), LastAt: at(3), End: store.Cut}, 1},
	}
	streams := []Stream{
		{Stream: store.Stream{ID: "a", Entries: 6, First: 1, Last: 11, Ended: true}, Number: 1, Run: runs[7]},
		{Stream: store.Stream{ID: "b", Entries: 5, First: 2, Last: 10, Ended: true}, Number: 2, Run: runs[4]},
	}
	// Any division into batches gives the same rows.
	rapid.Check(t, func(t *rapid.T) {
		var thread Thread
		state := make(map[string]Stream)
		gotRuns := make(map[int64]Run)
		var gotRows []Row
		for rest := entries; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			b, err := New(rest[:n])
			if err != nil {
				t.Fatal(err)
			}
			before := make([]Stream, len(b.StreamIDs()))
			for i, id := range b.StreamIDs() {
				before[i] = state[id]
			}
			for range 2 { // Place keeps nothing from call to call
				if err := b.Place(thread, before); err != nil {
					t.Fatal(err)
				}
			}
			seen := make(map[int64]bool)
			for _, r := range b.Runs {
				if seen[r.Start] {
					t.Fatalf("the run at %d is changed twice", r.Start)
				}
				seen[r.Start], gotRuns[r.Start] = true, r
			}
			for i, id := range b.StreamIDs() {
				state[id] = b.Streams[i]
			}
			gotRows = append(gotRows, b.Rows...)
			thread, rest = b.Thread, rest[n:]
		}
		if diff := cmp.Diff(rows, gotRows); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(runs, gotRuns); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(streams, []Stream{state["a"], state["b"]}); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(Thread{Last: 11, Runs: 3, Streams: 2, Bytes: 218}, thread); diff != "" {
			t.Error(diff)
		}
	})
}

func TestEndedStream(t *testing.T) {
	t.Parallel()
	end := store.Entry{Stream: "s", Kind: store.End}
	for _, kind := range []store.Kind{store.Event, store.Input, store.Closing, store.End} {
		late := store.Entry{Stream: "s", Kind: kind}
		b, err := New([]store.Entry{entry("s", "{}"), end, late})
		if err != nil {
			t.Fatal(err)
		}
		want := `entry 3 of 3: the entry is not valid: stream "s" ended at position 6`
		if err := b.Place(Thread{Last: 4}, make([]Stream, 1)); !errors.Is(err, store.ErrEntry) || err.Error() != want {
			t.Errorf("%s: %v, want %s", kind, err, want)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			entries := make([]store.Entry, size)
			bytes := 0
			for i := range entries {
				entries[i] = entry("s", fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"%s","timestamp":%d}`, strings.Repeat("word ", 20), 1e12+int64(i)))
				bytes += len(entries[i].Data)
			}
			b.SetBytes(int64(bytes))
			b.ReportAllocs()
			for b.Loop() {
				batch, err := New(entries)
				if err != nil {
					b.Fatal(err)
				}
				if err := batch.Place(Thread{}, make([]Stream, 1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
