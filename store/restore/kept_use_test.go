package restore_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/restore"
)

// watched is a log that counts the entries that are read, and calls a function before anything that
// is kept is read.
type watched struct {
	store.Log
	entries int
	before  func()
}

func (l *watched) Select(ctx context.Context, key store.Key, s store.Selection) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range l.Log.Select(ctx, key, s) {
			l.entries++
			if !yield(e, err) {
				return
			}
		}
	}
}

func (l *watched) Kept(ctx context.Context, key store.Key, kind string, from, to int64, data bool) ([]store.Derived, error) {
	if l.before != nil {
		l.before()
	}
	return l.Log.Kept(ctx, key, kind, from, to, data)
}

// keptThread returns a thread of about 2,000 entries with a checkpoint after each 100, and the result
// at its end.
func keptThread(t *testing.T) (log *watched, o restore.Options, want *restore.Result) {
	t.Helper()
	entries := longThread(1, 2000)
	log, o = &watched{Log: memory.New()}, restore.Options{}.WithSpacing(100)
	if _, err := log.Append(t.Context(), key, 0, entries); err != nil {
		t.Fatal(err)
	}
	var err error
	if want, err = open(t, entries, restore.Options{}).At(t.Context(), int64(len(entries))); err != nil {
		t.Fatal(err)
	}
	keepAll(t, log, o)
	return log, o, want
}

func keepAll(t *testing.T, log store.Log, o restore.Options) {
	t.Helper()
	th := reopen(t, log, o)
	if err := th.KeepCheckpoints(t.Context(), th.Last); err != nil {
		t.Fatal(err)
	}
}

// checkEnd restores the end of the thread, and returns how many entries that read.
func checkEnd(t *testing.T, log *watched, o restore.Options, want *restore.Result) int {
	t.Helper()
	th := reopen(t, log, o)
	log.entries = 0
	got, err := th.At(t.Context(), th.Last)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plainOf(want), plainOf(got)); diff != "" {
		t.Fatalf("without checkpoints -, with +\n%s", diff)
	}
	return log.entries
}

// TestKeptRequest keeps checkpoints after a large request that has the whole conversation. The first one
// is that of RUN_STARTED, because what a request repeats depends on the position.
func TestKeptRequest(t *testing.T) {
	t.Parallel()
	log, o := &watched{Log: memory.New()}, restore.Options{Input: restore.Full}.WithSpacing(1)
	entries := conversation(20, restore.Full)
	if _, err := log.Append(t.Context(), key, 0, entries); err != nil {
		t.Fatal(err)
	}
	keepAll(t, log, o)
	want, err := open(t, entries, restore.Options{Input: restore.Full}).At(t.Context(), int64(len(entries)))
	if err != nil {
		t.Fatal(err)
	}
	if n := checkEnd(t, log, o, want); n > 6 {
		t.Errorf("%d entries were read", n)
	}
}

// TestKeptDamaged changes each byte of what is kept in turn. The result is the same, from a checkpoint
// before the one that was changed.
func TestKeptDamaged(t *testing.T) {
	t.Parallel()
	log, o, want := keptThread(t)
	if n := checkEnd(t, log, o, want); n > 110 {
		t.Fatalf("%d entries were read", n)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range o.Kinds() {
		list, err := log.Kept(t.Context(), key, kind, 1, 1<<40, true)
		if err != nil || len(list) < 10 {
			t.Fatalf("%d checkpoints, %v", len(list), err)
		}
		for n := range 300 {
			i := len(list) - 1 - n%3
			changed := list[i]
			text := &changed.Data
			if n%2 == 0 && len(changed.Head) > 0 {
				text = &changed.Head
			}
			*text = slices.Clone(*text)
			(*text)[random.IntN(len(*text))] ^= byte(1 << random.IntN(8))
			if err := log.Keep(t.Context(), key, kind, []store.Derived{changed}); err != nil {
				t.Fatal(err)
			}
			if read := checkEnd(t, log, o, want); read > 110+100*(n%3+1) {
				t.Errorf("%s: after a change of the checkpoint at %d, %d entries were read", kind, changed.Position, read)
			}
			if err := log.Keep(t.Context(), key, kind, list[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Whoever keeps checkpoints next drops a damaged one.
	last, err := log.Kept(t.Context(), key, o.Kinds()[1], 1, 1<<40, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Keep(t.Context(), key, o.Kinds()[1], []store.Derived{{Position: last[2].Position}}); err != nil {
		t.Fatal(err)
	}
	if n := checkEnd(t, log, o, want); n < 1000 {
		t.Errorf("%d entries were read", n)
	}
	keepAll(t, log, o)
	if n := checkEnd(t, log, o, want); n > 110 {
		t.Errorf("%d entries were read after the checkpoints were made again", n)
	}
}

// TestKeptForeign gives a thread the checkpoints of another one, whose last entries are the same.
func TestKeptForeign(t *testing.T) {
	t.Parallel()
	log, o, want := keptThread(t)
	other := store.Key{Tenant: "other", Thread: key.Thread}
	entries := longThread(1, 2000)
	for i := range 50 {
		entries[i+3].Data = []byte(`{"type":"CUSTOM","name":"other","value":1}`)
	}
	if _, err := log.Append(t.Context(), other, 0, entries); err != nil {
		t.Fatal(err)
	}
	th, err := restore.Open(t.Context(), log, other, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := th.KeepCheckpoints(t.Context(), th.Last); err != nil {
		t.Fatal(err)
	}
	for _, kind := range o.Kinds() {
		list, err := log.Kept(t.Context(), other, kind, 1, th.Last, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Keep(t.Context(), key, kind, list); err != nil {
			t.Fatal(err)
		}
	}
	if n := checkEnd(t, log, o, want); n < 1000 {
		t.Errorf("%d entries were read", n)
	}
}

// TestKeptBehind keeps checkpoints whenever a reader needs them. The same reader then needs no more.
func TestKeptBehind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		input   restore.Input
		entries []store.Entry
		least   int
	}{
		"normalized": {restore.Normalized, longThread(5, 3000), 8},
		"full":       {restore.Full, longThread(5, 3000), 5}, // joins read only their run
	} {
		log, o := memory.New(), restore.Options{Input: c.input, Dialect: reduce.Client}.WithSpacing(100)
		if _, err := log.Append(t.Context(), key, 0, c.entries); err != nil {
			t.Fatal(err)
		}
		needed, again := 0, false
		o.Behind = func(key store.Key, o restore.Options, position int64) {
			if needed++; again {
				t.Errorf("%s: checkpoints of the run at %d were needed again", name, position)
			}
			if err := reopen(t, log, o).KeepCheckpoints(t.Context(), position); err != nil {
				t.Error(err)
			}
		}
		th := reopen(t, log, o)
		for i := len(th.Graph.Nodes) - 1; i >= 0; i-- {
			for _, read := range []func() error{
				func() error { _, err := th.Run(t.Context(), th.Graph.Nodes[i]); return err },
				func() error { _, err := th.Live(t.Context(), th.Graph.Nodes[i]); return err },
				func() error {
					_, err := restore.NewWalker(log, key, o, 0).Moment(t.Context(), th.Graph.Nodes[i].Position+500)
					return err
				},
			} {
				for _, again = range []bool{false, true} {
					if err := read(); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if needed == 0 || needed > c.least {
			t.Errorf("%s: checkpoints were needed %d times", name, needed)
		}
	}
}

// TestKeptDropped drops checkpoints while a reader uses them.
func TestKeptDropped(t *testing.T) {
	t.Parallel()
	for drop := range 4 {
		log, o, want := keptThread(t)
		calls := 0
		log.before = func() {
			if calls++; calls != drop {
				return
			}
			for _, kind := range o.Kinds() {
				if err := log.Forget(t.Context(), key, kind); err != nil {
					t.Error(err)
				}
			}
		}
		if n := checkEnd(t, log, o, want); drop > 0 && n < 1000 {
			t.Errorf("dropped before call %d: %d entries were read", drop, n)
		}
		if calls != 3 && drop == 0 {
			t.Errorf("checkpoints were read %d times", calls)
		}
	}
}

// TestKeptTogether keeps, drops and uses checkpoints at the same time.
func TestKeptTogether(t *testing.T) {
	t.Parallel()
	log, o, want := keptThread(t)
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			for n := range 20 {
				switch i {
				case 0:
					th := reopen(t, log.Log, o)
					if err := th.KeepCheckpoints(t.Context(), th.Last); err != nil {
						t.Error(err)
					}
				case 1:
					if err := log.Forget(t.Context(), key, o.Kinds()[n%2]); err != nil {
						t.Error(err)
					}
				default:
					checkEnd(t, &watched{Log: log.Log}, o, want)
				}
			}
		})
	}
	all.Wait()
}

// TestKeptOtherVersion has checkpoints of an earlier and of a later program. Neither are used. Those of
// an earlier one are replaced, and those of a later one stay.
func TestKeptOtherVersion(t *testing.T) {
	t.Parallel()
	for _, by := range []int64{-1, 1} {
		log, o, want := keptThread(t)
		if err := reopen(t, log, o).SetVersion(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if n := checkEnd(t, log, o, want); n > 110 {
			t.Fatalf("%d entries were read before the version was changed", n)
		}
		if err := reopen(t, log, o).SetVersion(t.Context(), by); err != nil {
			t.Fatal(err)
		}
		if n := checkEnd(t, log, o, want); n < 2000 {
			t.Errorf("version %+d: %d entries were read", by, n)
		}
		keepAll(t, log, o)
		if n := checkEnd(t, log, o, want); (n > 110) != (by > 0) {
			t.Errorf("version %+d: %d entries were read after checkpoints were kept", by, n)
		}
	}
}

// keptContent is the digest of what the checkpoints of some generated threads have. If it differs, they
// may mean something else than those that are in logs: raise keptVersion, and then set the new one.
const keptContent = "91c742433619cd4a3004c0b389eeecd916aa422b4efea8adf66c2ac5ea305a8a"

// TestKeptContent notices that checkpoints have changed, so that keptVersion does too.
func TestKeptContent(t *testing.T) {
	t.Parallel()
	h := sha256.New()
	for seed := range uint64(100) {
		log, o := memory.New(), restore.Options{}.WithSpacing(5)
		if _, err := log.Append(t.Context(), key, 0, streams(rand.New(rand.NewPCG(seed, 1)), 1+int(seed)%3)); err != nil {
			t.Fatal(err)
		}
		keepAll(t, log, o)
		all, err := reopen(t, log, o).Unpacked(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%d ", len(all))
		h.Write(all)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != keptContent {
		t.Errorf("the checkpoints have changed: raise keptVersion, and set keptContent to %s", got)
	}
}
