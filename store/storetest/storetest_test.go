package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/storetest"
)

// broken is a log with one fault.
type broken struct {
	store.Log
	mu      sync.Mutex // for faults that need several calls
	append  func(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error)
	key     func(store.Key) store.Key
	entry   func(*store.Entry)
	read    func(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error]
	follow  func(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error]
	run     func(*store.Run)
	runs    func(*store.RunQuery)
	threads func(*store.ThreadQuery)
	streams func(*store.StreamQuery)
	leases  func(store.Leases) store.Leases
	pack    func(ctx context.Context, key store.Key) (store.Packed, error)
	delete  func(ctx context.Context, key store.Key) (store.Thread, error)
	close   func() error
}

func (b *broken) Append(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
	if b.key != nil {
		key = b.key(key)
	}
	if b.append != nil {
		return b.append(ctx, key, after, entries)
	}
	return b.Log.Append(ctx, key, after, entries)
}

// change yields entries after the fault has changed them.
func (b *broken) change(entries iter.Seq2[*store.Entry, error]) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range entries {
			if e != nil && b.entry != nil {
				changed := *e
				changed.Data = bytes.Clone(e.Data)
				b.entry(&changed)
				e = &changed
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (b *broken) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	if b.key != nil {
		key = b.key(key)
	}
	if b.read != nil {
		return b.read(ctx, key, after)
	}
	return b.change(b.Log.Read(ctx, key, after))
}

func (b *broken) Follow(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	if b.key != nil {
		key = b.key(key)
	}
	if b.follow != nil {
		return b.follow(ctx, key, after)
	}
	return b.change(b.Log.Follow(ctx, key, after))
}

func (b *broken) Runs(ctx context.Context, q store.RunQuery) iter.Seq2[store.Run, error] {
	if b.runs != nil {
		b.runs(&q)
	}
	return func(yield func(store.Run, error) bool) {
		for r, err := range b.Log.Runs(ctx, q) {
			if b.run != nil && err == nil {
				b.run(&r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (b *broken) Threads(ctx context.Context, q store.ThreadQuery) iter.Seq2[store.Thread, error] {
	if b.threads != nil {
		b.threads(&q)
	}
	return b.Log.Threads(ctx, q)
}

func (b *broken) Streams(ctx context.Context, q store.StreamQuery) iter.Seq2[store.Stream, error] {
	if b.streams != nil {
		b.streams(&q)
	}
	return b.Log.Streams(ctx, q)
}

func (b *broken) Leases(ctx context.Context, lost func(string)) (store.Leases, error) {
	leases, err := b.Log.(store.Leaser).Leases(ctx, lost)
	if err == nil && b.leases != nil {
		leases = b.leases(leases)
	}
	return leases, err
}

// taking is a holder of leases with a fault.
type taking struct {
	store.Leases
	take func(ctx context.Context, name string) (bool, error)
}

func (l *taking) Take(ctx context.Context, name string) (bool, error) { return l.take(ctx, name) }

func (b *broken) Pack(ctx context.Context, key store.Key) (store.Packed, error) {
	if b.pack != nil {
		return b.pack(ctx, key)
	}
	return b.Log.Pack(ctx, key)
}

func (b *broken) Delete(ctx context.Context, key store.Key) (store.Thread, error) {
	if b.delete != nil {
		return b.delete(ctx, key)
	}
	return b.Log.Delete(ctx, key)
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Log.Close()
}

// faults are faults of logs, and a test that must notice each.
func faults() map[string]struct {
	test   string
	damage func(b *broken)
} {
	type fault = struct {
		test   string
		damage func(b *broken)
	}
	data := func(f func([]byte) []byte) func(b *broken) {
		return func(b *broken) { b.entry = func(e *store.Entry) { e.Data = f(e.Data) } }
	}
	return map[string]fault{
		"no fault": {"", func(*broken) {}},
		"appends at the end": {"append/a conflict is exact", func(b *broken) {
			b.append = func(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
				last, err := b.Log.Append(ctx, key, after, entries)
				if conflict, ok := errors.AsType[*store.ConflictError](err); ok {
					return b.Log.Append(ctx, key, conflict.Last, entries)
				}
				return last, err
			}
		}},
		"does not say the last position": {"append/a conflict is exact", func(b *broken) {
			b.append = func(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
				last, err := b.Log.Append(ctx, key, after, entries)
				if errors.Is(err, store.ErrConflict) {
					err = store.ErrConflict
				}
				return last, err
			}
		}},
		"appends entry by entry": {"append/all or none", func(b *broken) {
			b.append = func(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
				last, err := b.Log.Append(ctx, key, after, nil)
				for _, e := range entries {
					if err == nil {
						last, err = b.Log.Append(ctx, key, last, []store.Entry{e})
					}
				}
				return last, err
			}
		}},
		"shows a batch before it is whole": {"read/while others append", func(b *broken) {
			reads := make(chan struct{})
			b.read = func(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
				select {
				case reads <- struct{}{}:
				default:
				}
				return b.Log.Read(ctx, key, after)
			}
			b.append = func(ctx context.Context, key store.Key, after int64, entries []store.Entry) (int64, error) {
				last, err := b.Log.Append(ctx, key, after, entries[:1])
				if err != nil {
					return 0, err
				}
				for range 4 { // when the fourth begins, one of three readers has read it
					<-reads
				}
				return b.Log.Append(ctx, key, last, entries[1:])
			}
		}},
		"cuts data at U+0000":         {"bytes/data are exact", data(func(d []byte) []byte { d, _, _ = bytes.Cut(d, []byte{0}); return d })},
		"replaces invalid UTF-8":      {"bytes/each single byte", data(func(d []byte) []byte { return bytes.ToValidUTF8(d, []byte("\ufffd")) })},
		"trims data":                  {"bytes/data are exact", data(bytes.TrimSpace)},
		"cuts the largest entry":      {"bytes/the largest entry", data(func(d []byte) []byte { return d[:min(len(d), store.MaxEntryBytes-1)] })},
		"has times with milliseconds": {"bytes/times of arrival", func(b *broken) { b.entry = func(e *store.Entry) { e.Arrived = e.Arrived.Truncate(time.Millisecond) } }},
		"takes zero for 1970": {"bytes/times of arrival", func(b *broken) {
			b.entry = func(e *store.Entry) {
				if e.Arrived.UnixMicro() == 0 {
					e.Arrived = time.Time{}
				}
			}
		}},
		"joins tenant and thread": {"ids/tenants are apart", func(b *broken) {
			b.key = func(k store.Key) store.Key {
				if k.Check() != nil {
					return k
				}
				return store.Key{Thread: k.Tenant + k.Thread}
			}
		}},
		"ignores case": {"ids/are opaque", func(b *broken) {
			b.key = func(k store.Key) store.Key {
				return store.Key{Tenant: strings.ToLower(k.Tenant), Thread: strings.ToLower(k.Thread)}
			}
		}},
		"reads what came later": {"read/does not see later ones", func(b *broken) {
			b.read = func(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
				return func(yield func(*store.Entry, error) bool) {
					for more := true; more; {
						more = false
						for e, err := range b.Log.Read(ctx, key, after) {
							if !yield(e, err) || err != nil {
								return
							}
							after, more = e.Position, true
						}
					}
				}
			}
		}},
		"follows from the present": {"follow/from the beginning", func(b *broken) {
			b.follow = func(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
				if t, err := b.Log.Thread(ctx, key); err == nil && t.Last > after {
					return func(yield func(*store.Entry, error) bool) { yield(nil, errors.New("entries were missed")) }
				}
				return b.Log.Follow(ctx, key, after)
			}
		}},
		"stops to follow":    {"follow/from the end", func(b *broken) { b.follow = b.Log.Read }},
		"repeats an entry":   {"follow/from the middle", func(b *broken) { b.follow = twice(b.Log.Follow) }},
		"counts too few":     {"runs/of one stream", func(b *broken) { b.run = func(r *store.Run) { r.Entries-- } }},
		"cuts no runs":       {"runs/ends", func(b *broken) { b.run = func(r *store.Run) { r.End = notCut(r.End) } }},
		"loses inputs":       {"runs/inputs", func(b *broken) { b.run = func(r *store.Run) { r.Input = 0 } }},
		"ignores the parent": {"query/runs", func(b *broken) { b.runs = func(q *store.RunQuery) { q.Parent = nil } }},
		"includes the limit": {"query/runs", func(b *broken) {
			b.runs = func(q *store.RunQuery) {
				if !q.To.IsZero() {
					q.To = q.To.Add(time.Microsecond)
				}
			}
		}},
		"lists what was deleted":        {"query/threads", func(b *broken) { b.threads = func(q *store.ThreadQuery) { q.Deleted = true } }},
		"begins with the thread itself": {"query/threads in pages", func(b *broken) { b.threads = func(q *store.ThreadQuery) { q.After = store.Key{} } }},
		"lists streams that ended":      {"query/streams", func(b *broken) { b.streams = func(q *store.StreamQuery) { q.Open = false } }},
		"ignores the prefix":            {"query/streams", func(b *broken) { b.streams = func(q *store.StreamQuery) { q.Prefix = "" } }},
		"gives a lease to everybody": {"leases/of two holders", func(b *broken) {
			b.leases = func(l store.Leases) store.Leases {
				return &taking{l, func(ctx context.Context, name string) (bool, error) {
					_, err := l.Take(ctx, name)
					return true, err
				}}
			}
		}},
		"gives a lease twice": {"leases/of one holder", func(b *broken) {
			b.leases = func(l store.Leases) store.Leases {
				return &taking{l, func(ctx context.Context, name string) (bool, error) {
					l.Release(name)
					return l.Take(ctx, name)
				}}
			}
		}},
		"packs nothing": {"pack/only what has ended", func(b *broken) {
			b.pack = func(context.Context, store.Key) (store.Packed, error) { return store.Packed{}, nil }
		}},
		"packs with changes": {"pack/exact bytes", func(b *broken) {
			b.pack = func(ctx context.Context, key store.Key) (store.Packed, error) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.read = func(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
					b := &broken{entry: func(e *store.Entry) { e.Data = bytes.ReplaceAll(e.Data, []byte("\r\n"), []byte("\n")) }, Log: b.Log}
					return b.change(b.Log.Read(ctx, key, after))
				}
				return b.Log.Pack(ctx, key)
			}
		}},
		"deletes only once": {"delete/leaves a mark", func(b *broken) {
			b.delete = func(ctx context.Context, key store.Key) (store.Thread, error) {
				if t, err := b.Log.Thread(ctx, key); err == nil && !t.DeletedAt.IsZero() {
					return t, store.ErrDeleted
				}
				return b.Log.Delete(ctx, key)
			}
		}},
		"deletes nothing": {"query/threads", func(b *broken) { b.delete = b.Log.Thread }},
		"closes once": {"close/an empty log", func(b *broken) {
			b.close = func() error {
				_, err := b.Log.Stat(context.Background())
				return errors.Join(err, b.Log.Close())
			}
		}},
		"goes on after Close": {"close/use after", func(b *broken) { b.close = func() error { return nil } }},
	}
}

// notCut returns Open instead of Cut.
func notCut(end store.RunEnd) store.RunEnd {
	if end == store.Cut {
		return store.Open
	}
	return end
}

// twice yields the third entry of an iterator twice.
func twice(read func(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error]) func(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
		return func(yield func(*store.Entry, error) bool) {
			n := 0
			for e, err := range read(ctx, key, after) {
				if n++; n == 3 && !yield(e, err) {
					return
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// variable is the environment variable that names the fault of a log.
const variable = "P20EXPORT_STORETEST_FAULT"

// TestBroken runs the tests with a log that has a fault, in another process.
func TestBroken(t *testing.T) {
	if name := os.Getenv(variable); name != "" {
		storetest.Run(t, func(testing.TB) storetest.Opened {
			b := &broken{Log: memory.New()}
			faults()[name].damage(b)
			return storetest.Opened{Log: b}
		})
		return
	}
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, fault := range faults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := strings.ReplaceAll(fault.test, " ", "_")
			cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestBroken$/"+strings.ReplaceAll(test, "/", "$/^")+"$")
			cmd.Env = append(os.Environ(), variable+"="+name)
			out, err := cmd.CombinedOutput()
			if fault.test == "" {
				if err != nil {
					t.Errorf("a log without a fault does not pass: %v\n%s", err, out)
				}
				return
			}
			if _, failed := errors.AsType[*exec.ExitError](err); !failed || !slices.Contains(strings.Fields(string(out)), "TestBroken/"+test) {
				t.Errorf("the test %q does not fail: %v\n%s", fault.test, err, out)
			}
		})
	}
}
