package attach

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// events returns the events of a stream.
func events(stream string, data ...string) (entries []store.Entry) {
	for _, d := range data {
		entries = append(entries, event(stream, d))
	}
	return entries
}

const (
	started  = `{"type":"RUN_STARTED","threadId":"thread","runId":"r"}`
	finished = `{"type":"RUN_FINISHED","threadId":"thread","runId":"r"}`
	begin    = `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`
	one      = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a"}`
	two      = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"b"}`
	both     = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"ab"}`
	ended    = `{"type":"TEXT_MESSAGE_END","messageId":"m"}`
	failed   = `{"type":"RUN_ERROR","message":"no"}`
	state    = `{"type":"STATE_SNAPSHOT","snapshot":{}}`
)

func TestCompact(t *testing.T) {
	t.Parallel()
	raw := func(first int, data ...string) string {
		var all strings.Builder
		for i, d := range data {
			all.WriteString(sse(first+i, d))
		}
		return all.String()
	}
	run := []string{started, begin, one, two, ended, finished}
	form := sse("1.1", started, "1.2", begin, "1.3", both, "1.4", ended, 7, finished)
	for name, test := range map[string]struct {
		after   Cursor
		entries []store.Entry
		want    string
		err     error
	}{
		"ended by its stream":            {entries: append(events("a", run...), end("a")), want: form},
		"ended by the next run":          {entries: events("a", append(run, started)...), want: form + raw(8, started)},
		"followed by a request":          {entries: append(events("a", run...), input("b"), end("a")), want: form},
		"not ended":                      {entries: events("a", run...), want: raw(2, run...)},
		"ended after another stream":     {entries: append(events("a", run...), event("b", "x"), end("a")), want: raw(2, append(run, "x")...)},
		"interrupted by another stream":  {entries: append(append(events("a", run[:3]...), event("b", "x")), append(events("a", run[3:]...), end("a"))...), want: raw(2, append(append(append([]string{}, run[:3]...), "x"), run[3:]...)...)},
		"an event that is not JSON":      {entries: append(events("a", started, begin, one, two, "{", finished), end("a")), want: raw(2, started, begin, one, two, "{", finished)},
		"an error after its messages":    {entries: append(events("a", started, begin, one, two, ended, failed), end("a")), want: sse("1.1", started, "1.2", begin, "1.3", both, "1.4", ended, 7, failed)},
		"an error in a message":          {entries: append(events("a", started, begin, one, two, failed), end("a")), want: raw(2, started, begin, one, two, failed)},
		"a closing in a message":         {entries: append(events("a", started, begin, one, two), closing("a", failed), end("a")), want: raw(2, started, begin, one, two, failed)},
		"an event after an error":        {entries: append(events("a", append(run[:5:5], failed, state)...), end("a")), want: raw(2, append(run[:5:5], failed, state)...)},
		"a message that is open":         {entries: append(events("a", started, begin, one, two), end("a")), want: sse("1.1", started, "1.2", begin, 5, both)},
		"from within the run":            {after: Cursor{Position: 2}, entries: append(events("a", run...), end("a")), want: raw(3, run[1:]...)},
		"from within the form":           {after: Cursor{1, 3, 0}, entries: append(events("a", run...), end("a")), want: sse("1.4", ended, 7, finished)},
		"after the last but one":         {after: Cursor{1, 4, 0}, entries: append(events("a", run...), end("a")), want: sse(7, finished)},
		"after the run":                  {after: Cursor{Position: 7}, entries: append(events("a", run...), end("a"), event("b", "x")), want: raw(9, "x")},
		"beyond the form":                {after: Cursor{1, 5, 0}, entries: append(events("a", run...), end("a")), err: ErrCursor},
		"the form of a run that is open": {after: Cursor{1, 1, 0}, entries: events("a", run...), err: ErrCursor},
		"the form of no run":             {after: Cursor{2, 1, 0}, entries: append(events("a", run...), end("a")), err: ErrCursor},
		"after the end of the thread":    {after: Cursor{100, 1, 0}, entries: append(events("a", run...), end("a"))},
		"the form of a raw run":          {after: Cursor{1, 1, 0}, entries: append(events("a", started, "{"), end("a")), err: ErrCursor},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := memory.New()
			appendTo(t, log, append([]store.Entry{input("a")}, test.entries...)...)
			h := New(log, Settings{})
			defer h.Close()
			for range 2 { // computed and shared
				got, err := collect(h.Events(t.Context(), key(), EventOptions{View: Compact, After: test.after}))
				if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.err) {
					t.Errorf("%v\n%s", err, diff)
				}
			}
		})
	}
}

// A run that ends while a reader without Follow reads is sent as far as it was.
func TestCompactEndsMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		appendTo(t, log, event("b", "x"), event("a", started), event("a", begin))
		h := New(log, Settings{})
		defer h.Close()
		var got strings.Builder
		for text, err := range h.Events(t.Context(), key(), EventOptions{View: Compact}) {
			if err != nil {
				t.Fatal(err)
			}
			if got.Len() == 0 {
				appendTo(t, log, append(events("a", one, two, ended, finished), end("a"))...)
				synctest.Wait()
			}
			got.WriteString(plain(string(text)))
		}
		if diff := cmp.Diff(sse(1, "x", 2, started, 3, begin), got.String()); diff != "" {
			t.Error(diff)
		}
	})
}

// Long compacted runs are sent in texts that are not longer than others.
func TestCompactLong(t *testing.T) {
	t.Parallel()
	log := memory.New()
	custom := func(n int) string {
		return fmt.Sprintf(`{"type":"CUSTOM","name":"%d","value":%q}`, n, strings.Repeat("x", 5000))
	}
	entries := events("a", started)
	want := []frame{{"0.1", started}}
	for n := range 100 {
		entries = append(entries, event("a", custom(n)))
		want = append(want, frame{fmt.Sprintf("0.%d", n+2), custom(n)})
	}
	appendTo(t, log, append(entries, event("a", finished), end("a"))...)
	want = append(want, frame{"102", finished})
	h := New(log, Settings{})
	defer h.Close()
	for skip := 0; skip < 102; skip += 7 {
		var got []frame
		for text, err := range h.Events(t.Context(), key(), EventOptions{View: Compact, After: Cursor{0, int64(skip), 0}}) {
			if err != nil {
				t.Fatal(err)
			}
			if len(text) > maxPageBytes {
				t.Errorf("a text has %d bytes", len(text))
			}
			got = append(got, parse(t, []byte(plain(string(text))))...)
		}
		if diff := cmp.Diff(want[skip:], got); diff != "" {
			t.Fatalf("after %d:\n%s", skip, diff)
		}
	}
}

// Runs that are too long, and those whose compacted form is, are sent as they are.
func TestCompactLimits(t *testing.T) {
	t.Parallel()
	double := `{"type":"STATE_DELTA","delta":[{"op":"copy","from":"/a","path":"/b/l"},{"op":"copy","from":"/a","path":"/b/r"},{"op":"move","from":"/b","path":"/a"},{"op":"add","path":"/b","value":{}}]}`
	copies := []string{started, `{"type":"STATE_SNAPSHOT","snapshot":{"a":{"text":"` + strings.Repeat("x", 1000) + `"},"b":{}}}`}
	for range 11 {
		copies = append(copies, double)
	}
	long := []string{started}
	for n := range 9 {
		long = append(long, fmt.Sprintf(`{"type":"CUSTOM","name":"%d","value":%q}`, n, strings.Repeat("x", 1<<20)))
	}
	states := []string{started}
	for n := range 10 {
		states = append(states, fmt.Sprintf(`{"type":"STATE_SNAPSHOT","snapshot":"%d%s"}`, n, strings.Repeat("x", 900<<10)))
	}
	for name, data := range map[string][]string{
		"long": append(long, finished), "copies": append(copies, finished), "states": append(states, finished),
	} {
		log := memory.New()
		appendTo(t, log, append(events("a", data...), end("a"))...)
		h := New(log, Settings{})
		var got []frame
		for text, err := range h.Events(t.Context(), key(), EventOptions{View: Compact}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, parse(t, text)...)
		}
		if diff := cmp.Diff(rawFrames(entriesOf(t, log), ""), got); diff != "" {
			t.Errorf("%s:\n%.2000s", name, diff)
		}
		h.Close()
	}
}

// late is a log whose followers get nothing until a channel is closed.
type late struct {
	store.Log
	c chan struct{}
}

func (l *late) Follow(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		select {
		case <-l.c:
		case <-ctx.Done():
		}
		l.Log.Follow(ctx, key, after)(yield)
	}
}

// A cursor of another process is valid although the follower of this one has not got the run
// that it is in.
func TestCompactBehind(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1, 4} { // entries that the follower has
		synctest.Test(t, func(t *testing.T) {
			log := &late{memory.New(), make(chan struct{})}
			entries := append(events("a", started, begin, one, two, ended, finished), end("a"))
			appendTo(t, log, entries[:before]...)
			h := New(log, Settings{})
			defer h.Close()
			read(h.Events(t.Context(), key(), EventOptions{Follow: true}))
			synctest.Wait()
			appendTo(t, log, entries[before:]...)
			r := read(h.Events(t.Context(), key(), EventOptions{View: Compact, After: Cursor{0, 3, 0}}))
			gone, cancel := context.WithCancel(t.Context())
			other := read(h.Events(gone, key(), EventOptions{View: Compact, After: Cursor{0, 3, 0}}))
			synctest.Wait()
			cancel()
			synctest.Wait()
			if r.done || !other.done || other.err != context.Canceled {
				t.Errorf("before the follower has the run: %v, %v; %v, %v", r.done, r.err, other.done, other.err)
			}
			close(log.c)
			synctest.Wait()
			if diff := cmp.Diff(sse("0.4", ended, 6, finished), r.text.String()); diff != "" || !r.done || r.err != nil {
				t.Errorf("ended: %v, %v\n%s", r.done, r.err, diff)
			}
		})
	}
}
