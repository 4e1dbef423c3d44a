package restore_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

// plain is a result as text. Runs are named by their indexes.
type plain struct {
	Run                         int
	Position, Entries           int64
	Messages, State, Interrupts string
	StateKnown                  bool
	Pending                     []string
	Input                       string
	Used                        []int
	Findings                    string
}

func plainOf(r *restore.Result) plain {
	index := func(n *lineage.Node) int {
		if n == nil {
			return -1
		}
		return n.Index
	}
	p := plain{
		index(r.Run), r.Position, r.Entries, string(r.Messages), string(r.State), string(r.Interrupts), r.StateKnown, r.PendingToolCalls,
		fmt.Sprintf("%v %s", r.Input == nil, r.Input), nil, fmt.Sprintf("%+v", r.Findings),
	}
	for _, n := range r.Used {
		p.Used = append(p.Used, index(n))
	}
	return p
}

// walkTo moves a Walker, and compares the moment with Thread.At.
func walkTo(t fataler, w *restore.Walker, log store.Log, o restore.Options, position int64) *restore.Moment {
	t.Helper()
	m, err := w.Moment(context.Background(), position)
	if err != nil {
		t.Fatalf("position %d: %v", position, err)
	}
	th := reopen(t, log, o)
	want, err := th.At(context.Background(), position)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plainOf(want), plainOf(m.Result())); diff != "" {
		t.Fatalf("position %d: At -, walked +\n%s", position, diff)
	}
	if m.Last != th.Last {
		t.Fatalf("the last position is %d, want %d", m.Last, th.Last)
	}
	return m
}

// checkBefore compares what there was before a moment with Thread.At of the entry before in the
// branch.
func checkBefore(t fataler, log store.Log, o restore.Options, m *restore.Moment) {
	t.Helper()
	want, at := "[]{}", int64(0)
	n := m.Run()
	th := reopen(t, log, o)
	for e, err := range log.Read(context.Background(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Position >= m.Position() {
			break
		}
		// The last entry at which the conversation of the branch was.
		r, err := th.At(context.Background(), e.Position)
		if err != nil {
			t.Fatal(err)
		}
		isOf := func(n *lineage.Node) bool {
			return e.Run != 0 && e.Run == n.Position || e.Kind == store.Input && r.Run != nil && r.Run.Index == n.Index
		}
		if n != nil && (isOf(n) || n.Parent != nil && isOf(n.Parent) && (at < n.Position || at == 0)) {
			want, at = string(r.Messages)+string(r.State), e.Position
		}
	}
	if n != nil && at != 0 {
		if got := string(m.Before.AppendState(m.Before.AppendMessages(nil))); got != want {
			t.Fatalf("before position %d: as of position %d -, walked +\n%s", m.Position(), at, cmp.Diff(want, got))
		}
	}
}

// TestWalk moves a Walker at random over generated threads that grow, and compares each moment
// with Thread.At.
func TestWalk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := generate(shape{
			runs:   rapid.IntRange(1, 12).Draw(t, "runs"),
			inputs: rapid.SampledFrom([]string{"none", "full", "mixed"}).Draw(t, "inputs"),
			open:   rapid.IntRange(1, 3).Draw(t, "open"),
			broken: rapid.Bool().Draw(t, "broken"),
		}, rapid.Uint64().Draw(t, "seed"))
		o := restore.Options{Input: restore.Input(rapid.SampledFrom(restore.Inputs()).Draw(t, "input"))}
		walkAtRandom(t, g.entries, o, rapid.Uint64().Draw(t, "walk"), true)
	})
}

// TestWalkHostile does so with entries of any kind and content, in any order.
func TestWalkHostile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := hostile(t)
		o := restore.Options{Input: restore.Input(rapid.SampledFrom(restore.Inputs()).Draw(t, "input"))}
		if len(entries) > 0 {
			walkAtRandom(t, entries, o, rapid.Uint64().Draw(t, "walk"), false)
		}
	})
}

func walkAtRandom(t fataler, entries []store.Entry, o restore.Options, seed uint64, before bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	log := memory.New()
	limit := []int64{0, 1 << 14, 1 << 17, 1 << 30}[random.IntN(4)]
	w := restore.NewWalker(log, key, o, limit)
	last, at := int64(0), int64(0)
	var moments []*restore.Moment
	var texts []string
	for range 40 {
		if n := min(random.IntN(1+len(entries)), random.IntN(1+len(entries))); last == 0 || random.IntN(4) == 0 {
			n = max(n, int(last)+1)
			if n > len(entries) {
				n = len(entries)
			}
			if int64(n) > last {
				if _, err := log.Append(context.Background(), key, last, entries[last:n]); err != nil {
					t.Fatal(err)
				}
				last = int64(n)
			}
		}
		switch random.IntN(4) {
		case 0:
			at = 1 + random.Int64N(last)
		case 1:
			at = max(1, at-1)
		default:
			at = min(last, at+1)
		}
		m := walkTo(t, w, log, o, at)
		texts = append(texts, viewText(m))
		if before && random.IntN(8) == 0 {
			checkBefore(t, log, o, m)
		}
		moments = append(moments, m)
	}
	for i, m := range moments {
		if text := viewText(m); text != texts[i] {
			t.Fatalf("the moment at position %d changed\n%s", m.Position(), cmp.Diff(texts[i], text))
		}
	}
}

func viewText(m *restore.Moment) string {
	return string(m.Before.AppendState(m.Before.AppendMessages(m.View.AppendState(m.View.AppendMessages(nil)))))
}

// TestWalkCaptures walks over every event of all committed captures, forwards and backwards.
func TestWalkCaptures(t *testing.T) {
	t.Parallel()
	threads := captured(t)
	events := 0
	for _, path := range slices.Sorted(maps.Keys(threads)) {
		log := memory.New()
		if _, err := log.Append(t.Context(), key, 0, threads[path]); err != nil {
			t.Fatal(err)
		}
		th, w := reopen(t, log, restore.Options{}), restore.NewWalker(log, key, restore.Options{}, 1<<30)
		wants := replayAll(threads[path])
		for i := range 2 * len(wants) {
			at := min(i, 2*len(wants)-1-i)
			m, err := w.Moment(t.Context(), int64(at+1))
			if err != nil {
				t.Fatal(err)
			}
			got := m.Result()
			if len(wants) > 500 && at%64 != 0 && string(got.Messages)+string(got.State) == wants[at] {
				continue // At takes long in a long thread
			}
			want, err := th.At(t.Context(), int64(at+1))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := plainOf(got), plainOf(want); !reflect.DeepEqual(want, got) {
				t.Fatalf("%s: position %d: At -, walked +\n%s", path, at+1, cmp.Diff(want, got))
			}
		}
		events += len(wants)
	}
	if events < 1000 {
		t.Errorf("the captures have only %d entries", events)
	}
}

// replayAll returns the messages and the state after each entry of a capture, from one Reducer.
func replayAll(entries []store.Entry) []string {
	texts, r := make([]string, len(entries)), reduce.New(reduce.Options{})
	for i, e := range entries {
		switch e.Kind {
		case store.Input:
			r.Seed(e.Data)
		case store.Event:
			apply(r, string(e.Data))
		}
		texts[i] = string(r.AppendState(r.AppendMessages(nil)))
	}
	return texts
}

// TestWalkErrors checks the errors of a thread that does not exist, is deleted, or rewound.
func TestWalkErrors(t *testing.T) {
	t.Parallel()
	ctx, log := t.Context(), memory.New()
	w := restore.NewWalker(log, key, restore.Options{}, 1<<20)
	if _, err := w.Moment(ctx, 1); !errors.Is(err, store.ErrNoThread) {
		t.Errorf("no thread: %v", err)
	}
	entries := conversation(3, restore.Auto)
	if _, err := log.Append(ctx, key, 0, entries); err != nil {
		t.Fatal(err)
	}
	for _, position := range []int64{-1, 0, int64(len(entries)) + 1} {
		if _, err := w.Moment(ctx, position); !errors.Is(err, restore.ErrPosition) {
			t.Errorf("position %d: %v", position, err)
		}
	}
	walkTo(t, w, log, restore.Options{}, 5)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := w.Moment(cancelled, 30); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	walkTo(t, w, log, restore.Options{}, 30)
	if _, err := log.Delete(ctx, key); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Moment(ctx, 5); !errors.Is(err, store.ErrDeleted) {
		t.Errorf("deleted: %v", err)
	}
}

// TestWalkRewound puts other entries in the places of those that a Walker has read: the thread is
// shorter, as long, or longer. The Walker notices, and then begins again.
func TestWalkRewound(t *testing.T) {
	t.Parallel()
	entries := conversation(40, restore.Normalized)
	other := slices.Clone(entries)
	for i := range other {
		if i >= 600 {
			other[i].Arrived = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		}
	}
	for name, c := range map[string]struct{ first, then []store.Entry }{
		"shorter": {entries, other[:700]}, "as long": {entries, other}, "longer": {entries[:900], other},
	} {
		log := &replaced{Log: memory.New()}
		fill := func(entries []store.Entry) {
			log.Log = memory.New()
			if _, err := log.Append(t.Context(), key, 0, entries); err != nil {
				t.Fatal(err)
			}
		}
		fill(c.first)
		w := restore.NewWalker(log, key, restore.Options{Input: restore.Normalized}, 1<<30)
		if _, err := w.Moment(t.Context(), 690); err != nil {
			t.Fatal(err)
		}
		fill(c.then)
		if _, err := w.Moment(t.Context(), 692); !errors.Is(err, store.ErrRewound) {
			t.Errorf("%s: %v", name, err)
		}
		walkTo(t, w, log, restore.Options{Input: restore.Normalized}, 692)
		walkTo(t, w, log, restore.Options{Input: restore.Normalized}, 10)
	}
}

// replaced is a log that can be replaced by an older copy.
type replaced struct{ store.Log }

// counting counts the entries that are read.
type counting struct {
	store.Log
	read int
}

func (c *counting) Select(ctx context.Context, key store.Key, s store.Selection) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range c.Log.Select(ctx, key, s) {
			if c.read++; !yield(e, err) {
				return
			}
		}
	}
}

// TestWalkCosts counts the entries that steps read in a long thread, and what its checkpoints
// take. With little memory there are fewer of them, and the results stay the same.
func TestWalkCosts(t *testing.T) {
	t.Parallel()
	for _, runs := range []int{1, 200} {
		for _, c := range []struct{ limit, most int64 }{{64 << 20, 530}, {4 << 20, 9000}, {0, 30_000}} {
			log := &counting{Log: memory.New()}
			entries := longThread(runs, 20_000)
			if _, err := log.Append(t.Context(), key, 0, entries); err != nil {
				t.Fatal(err)
			}
			w := restore.NewWalker(log, key, restore.Options{}, c.limit)
			last := int64(len(entries))
			step := func(at, most int64) {
				t.Helper()
				log.read = 0
				m, err := w.Moment(t.Context(), at)
				if err != nil || m.Position() != at {
					t.Fatal(err)
				}
				if int64(log.read) > most {
					t.Errorf("%d runs, limit %d: %d entries were read for position %d, at most %d expected", runs, c.limit, log.read, at, most)
				}
			}
			step(last, last+300)
			step(last/2, c.most)
			for i := range int64(20) {
				step(last/2+1+i, 8)
			}
			for i := range int64(20) {
				step(last/2-i*100, c.most)
			}
			walkTo(t, w, log, restore.Options{}, last/3)
			if bytes, most := w.Bytes(), c.limit+4<<20; bytes > most {
				t.Errorf("%d runs, limit %d: the Walker takes %d bytes", runs, c.limit, bytes)
			}
		}
	}
}

// TestWalkInterleaved has a request before the last events of the run that it continues. They
// precede it once the run has begun, and not as of the request itself.
func TestWalkInterleaved(t *testing.T) {
	t.Parallel()
	text := func(stream, id string) store.Entry {
		return store.Entry{Stream: stream, Kind: store.Event, Data: fmt.Appendf(nil, `{"type":"TEXT_MESSAGE_CHUNK","messageId":%q,"role":"assistant","delta":"x"}`, id)}
	}
	log := memory.New()
	if _, err := log.Append(t.Context(), key, 0, []store.Entry{
		{Stream: "a", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"a"}`)},
		text("a", "m1"),
		{Stream: "b", Kind: store.Input, Data: []byte(`{"runId":"b","parentRunId":"a","messages":[{"id":"u","role":"user","content":"y"}]}`)},
		text("a", "m2"),
		{Stream: "b", Kind: store.Event, Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"b","parentRunId":"a"}`)},
		text("a", "m3"),
		text("b", "m4"),
	}); err != nil {
		t.Fatal(err)
	}
	for _, input := range restore.Inputs() {
		o := restore.Options{Input: restore.Input(input)}
		for from := range int64(7) {
			for to := range int64(7) {
				w := restore.NewWalker(log, key, o, 1<<20)
				walkTo(t, w, log, o, from+1)
				walkTo(t, w, log, o, to+1)
			}
		}
	}
}
