package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/compact"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/sqlite"
)

// frame is a server-sent event.
type frame struct{ ID, Data string }

// parse returns the events of a text.
func parse(t testing.TB, text []byte) (frames []frame) {
	for one := range bytes.SplitAfterSeq(text, []byte("\n\n")) {
		if len(one) == 0 {
			continue
		}
		rest, id := string(one), ""
		if after, ok := strings.CutPrefix(rest, "id: "); ok {
			id, rest, _ = strings.Cut(after, "\n")
		}
		data, isData := strings.CutPrefix(rest, "data: ")
		data, isWhole := strings.CutSuffix(data, "\n\n")
		if !isData || !isWhole {
			t.Errorf("%q is not an event", one)
		}
		frames = append(frames, frame{id, strings.ReplaceAll(data, "\ndata: ", "\n")})
	}
	return frames
}

// randomStream returns the entries of a stream with a few runs.
func randomStream(r *rand.Rand, id string) (entries []store.Entry) {
	if r.IntN(3) > 0 {
		entries = append(entries, input(id))
	}
	add := func(format string, args ...any) {
		e := event(id, fmt.Sprintf(format, args...))
		if r.IntN(10) == 0 {
			e.Kind = store.Closing
		}
		entries = append(entries, e)
	}
	if r.IntN(8) == 0 {
		add(`{"type":"CUSTOM","name":"before any run","value":1}`)
	}
	for n := range 1 + r.IntN(3) {
		add(`{"type":"RUN_STARTED","threadId":"thread","runId":"%s-%d"}`, id, n)
		for m := range r.IntN(4) {
			add(`{"type":"TEXT_MESSAGE_START","messageId":"%s-%d-%d","role":"assistant"}`, id, n, m)
			for range r.IntN(10) {
				add("{\"type\":\"TEXT_MESSAGE_CONTENT\",\n\"messageId\":\"%s-%d-%d\",\"delta\":%q}", id, n, m, strings.Repeat("x", r.IntN(60)))
			}
			if r.IntN(6) > 0 {
				add(`{"type":"TEXT_MESSAGE_END","messageId":"%s-%d-%d"}`, id, n, m)
			}
			switch r.IntN(12) {
			case 0:
				add("not JSON")
			case 1:
				add(`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/%d","value":%d}]}`, m, n)
			}
		}
		switch r.IntN(6) {
		case 0: // cut
		case 1:
			add(`{"type":"RUN_ERROR","message":"no"}`)
			add(`{"type":"CUSTOM","name":"after the end","value":1}`)
		default:
			add(`{"type":"RUN_FINISHED","threadId":"thread","runId":"%s-%d"}`, id, n)
		}
	}
	if r.IntN(6) > 0 {
		entries = append(entries, end(id))
	}
	return entries
}

// write appends entries in batches, while others append to the same thread.
func write(ctx context.Context, log store.Log, r *rand.Rand, entries []store.Entry) error {
	for len(entries) > 0 {
		n := min(1+r.IntN(8), len(entries))
		about, err := log.Thread(ctx, key())
		if err = ignoreNoThread(err); err == nil {
			_, err = log.Append(ctx, key(), about.Last, entries[:n])
		}
		switch {
		case err == nil:
			entries = entries[n:]
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
	return nil
}

// client is a reader that is interrupted and goes on after the last event that it got.
type client struct {
	name   string
	hub    *Hub
	rand   *rand.Rand
	join   func(ctx context.Context, after Cursor) iter.Seq2[[]byte, error]
	frames []frame
	joins  int
}

// lastEvent is in the last event of a thread.
const lastEvent = "the last event"

// read reads until the last event, or until the iteration ends.
func (c *client) read(t *testing.T, ctx context.Context) {
	var after Cursor
	for c.joins = 1; ; c.joins++ {
		stay, ended := c.rand.IntN(30), true
		for text, err := range c.join(ctx, after) {
			if err != nil {
				if !errors.Is(err, errInjected) {
					t.Errorf("%s after %s: %v", c.name, after, err)
					return
				}
				ended = false
				break
			}
			checkPages(t, c.hub)
			frames := parse(t, text)
			if stay--; stay < 0 && len(frames) > 0 {
				frames = frames[:c.rand.IntN(len(frames)+1)] // the rest is lost
			}
			c.frames = append(c.frames, frames...)
			if n := len(frames); n > 0 {
				last := frames[n-1]
				if after, err = ParseCursor(last.ID); err != nil {
					t.Error(err)
					return
				}
				if strings.Contains(last.Data, lastEvent) {
					return
				}
			}
			if stay < 0 {
				ended = false
				break
			}
		}
		if ended {
			return
		}
	}
}

// errInjected is an error of a log that fails.
var errInjected = errors.New("injected")

// failing is a log whose readers and followers sometimes fail.
type failing struct {
	store.Log
	mu   sync.Mutex
	rand *rand.Rand
}

func (f *failing) fail(seq iter.Seq2[*store.Entry, error]) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range seq {
			f.mu.Lock()
			fails := f.rand.IntN(40) == 0
			f.mu.Unlock()
			if fails {
				yield(nil, errInjected)
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (f *failing) Select(ctx context.Context, key store.Key, s store.Selection) iter.Seq2[*store.Entry, error] {
	return f.fail(f.Log.Select(ctx, key, s))
}

func (f *failing) Follow(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return f.fail(f.Log.Follow(ctx, key, after))
}

// trial writes several streams to a log at once, while clients read the thread in all views,
// and checks that each got every event once and in order.
func trial(t *testing.T, log store.Log, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 21))
	behind := log
	if r.IntN(3) == 0 {
		behind = &failing{Log: log, rand: rand.New(rand.NewPCG(seed, 1))}
	}
	h := New(behind, Settings{WindowBytes: []int{1, 2000, 20000, 0}[r.IntN(4)], MemoryBytes: []int64{1 << 20, 0}[r.IntN(2)]})
	defer func() {
		h.Close()
		if s := h.Stats(); s != (Stats{}) {
			t.Errorf("at the end: %+v", s)
		}
	}()
	early := r.IntN(4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var streams [][]store.Entry
	for n := range 1 + r.IntN(6) {
		streams = append(streams, randomStream(r, fmt.Sprintf("s%d", n)))
	}
	var clients []*client
	add := func(name string, join func(context.Context, Cursor) iter.Seq2[[]byte, error]) {
		clients = append(clients, &client{name: name, hub: h, rand: rand.New(rand.NewPCG(seed, uint64(len(clients)+100))), join: join})
	}
	for range r.IntN(4) {
		for _, view := range []View{Raw, Compact} {
			add(string(view), func(ctx context.Context, after Cursor) iter.Seq2[[]byte, error] {
				return h.Events(ctx, key(), EventOptions{After: after, View: view, Follow: true})
			})
		}
	}
	for _, entries := range streams {
		if id := entries[0].Stream; entries[len(entries)-1].Kind == store.End {
			add(id, func(ctx context.Context, after Cursor) iter.Seq2[[]byte, error] {
				return h.Stream(ctx, key(), id, after.Position)
			})
		}
	}
	var writing, reading sync.WaitGroup
	writers := make([][]store.Entry, 1+r.IntN(2))
	for i, entries := range streams {
		writers[i%len(writers)] = append(writers[i%len(writers)], entries...)
	}
	for i, entries := range writers {
		n := len(entries) * early / 4
		appendTo(t, log, entries[:n]...)
		writers[i] = entries[n:]
	}
	for _, c := range clients {
		reading.Go(func() { c.read(t, ctx) })
	}
	connecting := &connector{hub: h, rand: rand.New(rand.NewPCG(seed, 99))}
	joining, stopJoining := context.WithCancel(ctx)
	defer stopJoining()
	joined := make(chan error, 1)
	go func() { joined <- connecting.read(t, joining) }()
	for i, entries := range writers {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		writing.Go(func() {
			if err := write(ctx, log, r, entries); err != nil {
				t.Error(err)
				cancel()
			}
		})
	}
	writing.Wait()
	appendTo(t, log, events("last", `{"type":"RUN_STARTED","threadId":"thread","runId":"last"}`,
		fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":"thread","runId":"last","result":%q}`, lastEvent))...)
	reading.Wait()
	checkPages(t, h)
	stopJoining() // it may wait for a run that never ends
	if err := <-joined; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := connecting.read(t, ctx); err != nil {
		t.Error(err)
	}
	for _, view := range []View{Raw, Compact} { // the whole thread at once
		c := &client{name: string(view) + " afterwards", hub: h, rand: r, join: func(ctx context.Context, after Cursor) iter.Seq2[[]byte, error] {
			return h.Events(ctx, key(), EventOptions{After: after, View: view})
		}}
		c.read(t, ctx)
		clients = append(clients, c)
	}
	entries, forms := entriesOf(t, log), compactedForms(t, log)
	connecting.check(t, entries)
	for _, c := range clients {
		switch name, afterwards := strings.CutSuffix(c.name, " afterwards"); name {
		case string(Raw):
			c.check(t, rawFrames(entries, ""))
		case string(Compact):
			c.check(t, compactFrames(entries, forms, c.frames, afterwards))
		default:
			c.check(t, rawFrames(entries, c.name))
		}
	}
}

func (c *client) check(t *testing.T, want []frame) {
	if diff := cmp.Diff(want, c.frames); diff != "" {
		t.Errorf("client %s, which joined %d times:\n%s", c.name, c.joins, diff)
	}
}

// checkPages checks the pages of all feeds.
func checkPages(t *testing.T, h *Hub) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.feeds {
		f.checkPages(t)
	}
}

// checkPages checks that pages are in order and do not overlap, and that their memory is
// counted and limited.
func (f *feed) checkPages(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	bytes := 0
	for i, p := range f.pages {
		bytes += p.size()
		if len(p.entries) == 0 || i > 0 && f.pages[i-1].last() > p.after || p.last() > f.last {
			t.Errorf("page %d of %d has the entries after %d to %d; the page before it ends at %d, the thread at %d",
				i, len(f.pages), p.after, p.last(), f.pages[max(i-1, 0)].last(), f.last)
		}
	}
	if bytes != f.bytes || bytes > f.limit && len(f.pages) > 1 {
		t.Errorf("%d pages have %d bytes; counted are %d, and the limit is %d", len(f.pages), bytes, f.bytes, f.limit)
	}
	bytes = 0
	for _, c := range f.runs {
		bytes += c.size()
	}
	if bytes != f.runBytes || bytes > f.limit && len(f.runs) > 1 {
		t.Errorf("%d runs have %d bytes; counted are %d, and the limit is %d", len(f.runs), bytes, f.runBytes, f.limit)
	}
}

// entriesOf returns the entries of the thread.
func entriesOf(t *testing.T, log store.Log) (entries []store.Entry) {
	for e, err := range log.Read(t.Context(), key(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		clone := *e
		clone.Data = bytes.Clone(e.Data)
		entries = append(entries, clone)
	}
	return entries
}

// isEvent reports whether readers get an entry.
func isEvent(e *store.Entry) bool { return e.Kind == store.Event || e.Kind == store.Closing }

// rawFrames returns the events of a stream, or of all.
func rawFrames(entries []store.Entry, stream string) (frames []frame) {
	for _, e := range entries {
		if isEvent(&e) && (stream == "" || e.Stream == stream) {
			frames = append(frames, frame{CursorOf(&e).String(), string(e.Data)})
		}
	}
	return frames
}

// accepted reports whether the reference client accepts a stream.
func accepted(t *testing.T, events [][]byte) bool {
	c, found := sequence.New(sequence.Options{Client: true}), 0
	for _, data := range events {
		e, err := envelope.ReadEvent(data)
		if err != nil {
			t.Fatal(err)
		}
		found += len(c.Event(e))
	}
	return found == 0
}

// form is the compacted form of a run.
type form struct {
	last   int64
	frames []frame
}

// compactedForms returns the compacted forms of the runs that the view Compact compacts, by
// start. It uses what the log knows of runs, and compacts each run as a whole.
func compactedForms(t *testing.T, log store.Log) map[int64]form {
	entries, forms := entriesOf(t, log), make(map[int64]form)
	for run, err := range log.Runs(t.Context(), store.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		var settled int64
		for _, e := range entries[run.Last:] {
			if e.Stream == run.Stream && e.Kind != store.Input {
				settled = e.Position
				break
			}
		}
		if settled == 0 {
			continue
		}
		whole := true
		var events [][]byte
		c := compact.New(compact.Options{Mode: compact.ModeClient}, func(data []byte) error {
			events = append(events, bytes.Clone(data))
			return nil
		})
		for _, e := range entries[run.Start-1 : settled-1] {
			if e.Run != run.Start {
				whole = whole && !isEvent(&e)
				continue
			}
			ev, err := envelope.ReadEvent(e.Data)
			if err != nil {
				whole = false
				break
			}
			if err := c.Event(ev); err != nil {
				t.Fatal(err)
			}
		}
		if !whole {
			continue
		}
		if err := c.End(); err != nil {
			t.Fatal(err)
		}
		if !accepted(t, events) {
			continue
		}
		f := form{last: run.Last}
		for i, data := range events {
			id, last := Cursor{run.Start - 1, int64(i) + 1, 0}, CursorOf(&entries[run.Last-1])
			if id.Check = last.Check; i == len(events)-1 {
				id = last
			}
			f.frames = append(f.frames, frame{id.String(), string(data)})
		}
		forms[run.Start] = f
	}
	return forms
}

// compactFrames returns what a client should have got. If all is set, every run that can be
// compacted should be. Otherwise that depends on when the client came to it.
func compactFrames(entries []store.Entry, forms map[int64]form, got []frame, all bool) (want []frame) {
	for i := int64(0); i < int64(len(entries)); i++ {
		e := &entries[i]
		if !isEvent(e) {
			continue
		}
		raw := frame{CursorOf(e).String(), string(e.Data)}
		if f, ok := forms[e.Position]; ok && (all || len(want) < len(got) && got[len(want)] != raw) {
			want = append(want, f.frames...)
			i = f.last - 1
			continue
		}
		want = append(want, raw)
	}
	return want
}

func TestTrialsInMemory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		log := memory.New()
		trial(t, log, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestSQLiteTrials(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		log, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "log.db"), true)
		if err != nil {
			t.Fatal(err)
		}
		trial(t, log, seed)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
