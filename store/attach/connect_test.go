package attach

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

// connector is a client that connects again and again, without a place to go on from.
type connector struct {
	hub         *Hub
	rand        *rand.Rand
	connections []connection
}

// connection is what a connector got at once.
type connection struct {
	follow, dropped bool
	frames          []frame
}

// read connects until it got the last event of the thread, or ctx is done.
func (c *connector) read(t *testing.T, ctx context.Context) error {
	for {
		one, stay := connection{follow: len(c.connections) > 20 || c.rand.IntN(2) == 0}, c.rand.IntN(20)
		for text, err := range c.hub.Connect(ctx, key(), one.follow) {
			if err != nil {
				one.dropped = true
				if !errors.Is(err, errInjected) {
					c.connections = append(c.connections, one)
					return err
				}
				break
			}
			one.frames = append(one.frames, parse(t, text)...)
			if strings.Contains(one.frames[len(one.frames)-1].Data, lastEvent) {
				one.dropped = one.follow
				c.connections = append(c.connections, one)
				return nil
			}
			if stay--; stay < 0 {
				one.dropped = true
				break
			}
		}
		c.connections = append(c.connections, one)
	}
}

// check compares each connection with the preludes of logs that end where the preludes were
// made, followed by the events of the run.
func (c *connector) check(t *testing.T, entries []store.Entry) {
	for _, got := range c.connections {
		var want []frame
		for len(want) < len(got.frames) {
			segment := got.frames[len(want):]
			position := int64(0)
			for _, f := range segment {
				if f.ID != "" {
					position = parsePosition(t, f.ID)
					break
				}
			}
			if position == 0 && got.dropped {
				want = append(want, segment...) // a part of a prelude says too little
				break
			}
			want = append(want, expected(t, entries, segment[0].Data, position)...)
		}
		if got.dropped && len(got.frames) < len(want) {
			want = want[:len(got.frames)]
		}
		if diff := cmp.Diff(want, got.frames); diff != "" {
			t.Errorf("a connection (follow %v, dropped %v):\n%s", got.follow, got.dropped, diff)
		}
	}
}

func parsePosition(t *testing.T, id string) int64 {
	c, err := ParseCursor(id)
	if err != nil || c.Compacted != 0 {
		t.Errorf("the id %q is not a position: %v", id, err)
	}
	return c.Position
}

// expected returns what a reader gets that joins the run with a RUN_STARTED as of a position:
// the prelude and the rest of the run.
func expected(t *testing.T, entries []store.Entry, started string, position int64) (want []frame) {
	log := memory.New()
	appendTo(t, log, entries[:position]...)
	thread, err := restore.Open(t.Context(), log, key(), restore.Options{Dialect: reduce.Client})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range thread.Graph.Nodes {
		if string(entries[n.Position-1].Data) != started {
			continue
		}
		live, err := thread.Live(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		prelude, err := live.Prelude()
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range prelude {
			want = append(want, frame{"", string(data)})
		}
		want[len(want)-1].ID = CursorOf(&entries[position-1]).String()
		if live.Ended() {
			return want
		}
		for _, e := range entries[position:] {
			if e.Run == n.Position {
				if want = append(want, frame{CursorOf(&e).String(), string(e.Data)}); isTerminal(e.Type) {
					return want
				}
			}
		}
		return append(want, frame{"", cut})
	}
	t.Errorf("no run begins with %s before position %d", started, position)
	return append(want, frame{})
}

// connected returns what a reader that connects to the thread gets, without ids.
func connected(t *testing.T, h *Hub) (data []string) {
	t.Helper()
	for text, err := range h.Connect(t.Context(), key(), false) {
		if err != nil {
			t.Fatal(err)
		}
		for one := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
			_, event, _ := strings.Cut(one, "data: ")
			data = append(data, event)
		}
	}
	return data
}

// run returns the events of a run with one message.
func run(stream string) (entries []store.Entry) {
	return events(stream, fmt.Sprintf(`{"type":"RUN_STARTED","threadId":"thread","runId":%q}`, stream),
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":%q,"role":"assistant"}`, stream),
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":%q,"delta":"text"}`, stream),
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_END","messageId":%q}`, stream),
		fmt.Sprintf(`{"type":"RUN_FINISHED","threadId":"thread","runId":%q}`, stream))
}

// A client joins the run that started last, and gets an end of it.
func TestConnectChooses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		entries     []store.Entry
		first, last string // of the events; empty if there are none
	}{
		"no thread":      {nil, "", ""},
		"no runs":        {[]store.Entry{input("a"), event("a", "1"), end("a")}, "", ""},
		"ended":          {append(run("a"), run("b")...), `"b"`, `RUN_FINISHED","threadId":"thread","runId":"b"`},
		"cut by its end": {append(run("a")[:3], end("a")), `"a"`, "p20export.cut"},
		"closed":         {append(run("a")[:3], closing("a", `{"type":"RUN_ERROR","message":"closed","code":"x"}`), end("a")), `"a"`, "closed"},
		"an event after": {append(run("a"), event("a", `{"type":"CUSTOM","name":"late","value":1}`), end("a")), `"a"`, "RUN_FINISHED"},
		"another open":   {append(run("b")[:3], run("a")...), `"a"`, `RUN_FINISHED","threadId":"thread","runId":"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := memory.New()
			appendTo(t, log, test.entries...)
			h := New(log, Settings{})
			defer h.Close()
			for range 2 {
				got := connected(t, h)
				if test.first == "" {
					if len(got) > 0 {
						t.Errorf("%q", got)
					}
					continue
				}
				if len(got) == 0 || !strings.Contains(got[0], test.first) || !strings.Contains(got[len(got)-1], test.last) {
					t.Errorf("%q", got)
				}
			}
		})
	}
}

// A reader stays with the run that it joined until that ends, and the next one joins the run
// that started last.
func TestConnectStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		appendTo(t, log, run("a")[:3]...)
		h := New(log, Settings{})
		defer h.Close()
		r := read(h.Connect(t.Context(), key(), false))
		synctest.Wait()
		appendTo(t, log, append(run("b"), run("a")[3])...)
		synctest.Wait()
		if got := r.text.String(); r.done || !strings.HasSuffix(got, sse(9, string(run("a")[3].Data))) || strings.Contains(got, `"runId":"b"`) {
			t.Errorf("ended: %v\n%s", r.done, got)
		}
		if got := connected(t, h); !strings.Contains(got[0], `"runId":"b"`) {
			t.Errorf("%q", got)
		}
		appendTo(t, log, run("a")[4])
		synctest.Wait()
		if got := r.text.String(); !r.done || r.err != nil || !strings.HasSuffix(got, sse(10, string(run("a")[4].Data))) {
			t.Errorf("ended: %v, %v\n%s", r.done, r.err, got)
		}
	})
}

// With follow, a reader gets run after run, also after it had to wait for the first one.
func TestConnectFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := memory.New()
		h := New(log, Settings{})
		defer h.Close()
		r := read(h.Connect(t.Context(), key(), true))
		synctest.Wait()
		appendTo(t, log, input("a"))
		synctest.Wait()
		if r.text.Len() > 0 {
			t.Errorf("before the first run: %q", r.text.String())
		}
		for _, stream := range []string{"a", "b", "c"} {
			before := r.text.Len()
			for _, e := range run(stream)[:3] {
				appendTo(t, log, e)
				synctest.Wait()
			}
			if got := r.text.String()[before:]; !strings.Contains(got, `"runId":"`+stream+`"`) || !strings.Contains(got, `"delta":"text"`) || r.done {
				t.Errorf("run %s, ended: %v\n%s", stream, r.done, got)
			}
			if stream == "b" {
				appendTo(t, log, end(stream))
			} else {
				appendTo(t, log, run(stream)[3:]...)
			}
			synctest.Wait()
			got := r.text.String()[before:]
			if want := map[bool]string{true: "p20export.cut", false: "RUN_FINISHED"}[stream == "b"]; strings.Count(got, "RUN_STARTED") != 1 || !strings.Contains(got, want) {
				t.Errorf("run %s:\n%s", stream, got)
			}
		}
		appendTo(t, log, append(run("d"), run("e")...)...)
		synctest.Wait()
		if got := r.text.String(); strings.Contains(got, `"runId":"d"`) || strings.Count(got, `"runId":"e"`) != 2 || r.done {
			t.Errorf("after two runs at once:\n%s", got)
		}
	})
}

// A thousand readers that connect read the history once, and what was added once for all that
// connect at the same time. They join at the end of the thread: a prelude from before what a
// client has already received would take its conversation back.
func TestConnectShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &broken{Log: memory.New()}
		for range 50 {
			appendTo(t, log, run("a")...)
		}
		appendTo(t, log, run("a")[:2]...)
		h := New(log, Settings{})
		defer h.Close()
		var readers []*reading
		reads, last := 0, int64(252)
		for n := range 10 {
			for range 100 {
				readers = append(readers, read(h.Connect(t.Context(), key(), false)))
			}
			synctest.Wait()
			first := parse(t, readers[len(readers)-1].parts[0])
			if at := parsePosition(t, first[len(first)-1].ID); at != last {
				t.Errorf("a reader joins at position %d of %d", at, last)
			}
			if n == 0 {
				reads = log.reads
			}
			for range 50 {
				appendTo(t, log, run("a")[2])
			}
			last += 50
			synctest.Wait()
		}
		if more := log.reads - reads; reads > 5 || more > 9 {
			t.Errorf("the log was read %d times, and then %d times", reads, more)
		}
		appendTo(t, log, run("a")[3:]...)
		synctest.Wait()
		for i, r := range readers {
			if got := r.text.String(); !r.done || r.err != nil || !strings.HasSuffix(got, sse(last+2, string(run("a")[4].Data))) {
				t.Fatalf("reader %d ended: %v, %v\n%s", i, r.done, r.err, got)
			}
		}
	})
}

// A run that ends after it was joined ends for those that join later, however long it was.
func TestConnectLater(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rest []store.Entry
		last string
	}{
		"finished":            {run("a")[3:], "RUN_FINISHED"},
		"cut by its end":      {[]store.Entry{end("a")}, "p20export.cut"},
		"cut by the next run": {run("a"), "RUN_FINISHED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := memory.New()
				appendTo(t, log, run("a")[:3]...)
				h := New(log, Settings{})
				defer h.Close()
				first := read(h.Connect(t.Context(), key(), false))
				keep := read(h.Events(t.Context(), key(), EventOptions{Follow: true}))
				synctest.Wait()
				for range 200 {
					appendTo(t, log, run("a")[2])
				}
				appendTo(t, log, test.rest...)
				synctest.Wait()
				got := connected(t, h)
				if !first.done || first.err != nil || keep.done || len(got) == 0 || len(got) > 10 || !strings.Contains(got[len(got)-1], test.last) {
					t.Errorf("the first reader ended: %v, %v; the next one got %q", first.done, first.err, got)
				}
				if strings.HasPrefix(name, "cut") && !strings.HasSuffix(first.text.String(), "data: "+cut+"\n\n") {
					t.Errorf("the first reader got\n%s", first.text.String())
				}
			})
		})
	}
}

// A reader joins the run that the log has, although the follower does not have it yet.
func TestConnectBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &late{memory.New(), make(chan struct{})}
		appendTo(t, log, run("a")...)
		h := New(log, Settings{})
		defer h.Close()
		first := read(h.Connect(t.Context(), key(), true))
		synctest.Wait()
		appendTo(t, log, run("b")...)
		r := read(h.Connect(t.Context(), key(), false))
		synctest.Wait()
		if r.done || first.done || strings.Contains(first.text.String(), `"b"`) {
			t.Errorf("before the follower has the run: %v, %v", r.done, first.done)
		}
		close(log.c)
		synctest.Wait()
		if got := r.text.String(); !r.done || r.err != nil || !strings.HasSuffix(got, sse(10, string(run("b")[4].Data))) {
			t.Errorf("ended: %v, %v\n%s", r.done, r.err, got)
		}
		if got := first.text.String(); !strings.HasSuffix(got, sse(10, string(run("b")[4].Data))) {
			t.Errorf("%s", got)
		}
	})
}

// A run that is too large to be joined is restored once, and the next run can be joined.
func TestConnectTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &broken{Log: memory.New()}
		appendTo(t, log, run("a")[0])
		for n := range 17 { // more ids than are remembered of a run
			appendTo(t, log, event("a", fmt.Sprintf(`{"type":"TEXT_MESSAGE_START","messageId":"%d%s","role":"assistant"}`, n, strings.Repeat("x", 1<<20))))
		}
		appendTo(t, log, end("a"))
		h := New(log, Settings{})
		defer h.Close()
		read(h.Events(t.Context(), key(), EventOptions{Follow: true, After: Cursor{Position: 19}}))
		synctest.Wait()
		reads := 0
		for n := range 3 {
			if got, err := collect(h.Connect(t.Context(), key(), true)); got != "" || !errors.Is(err, restore.ErrTooLarge) {
				t.Fatalf("%.200q, %v", got, err)
			}
			if n > 0 && log.reads != reads {
				t.Errorf("the log was read %d times, and then %d times", reads, log.reads-reads)
			}
			reads = log.reads
		}
		appendTo(t, log, append(events("b", `{"type":"RUN_STARTED","threadId":"thread","runId":"b","parentRunId":"none"}`), run("b")[4])...)
		synctest.Wait()
		if got := connected(t, h); !strings.Contains(got[0], `"b"`) {
			t.Errorf("%.200q", got)
		}
	})
}
