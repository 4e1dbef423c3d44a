// Package storetest tests that a log keeps the contracts of store.Log and store.Leaser. A test of an adapter
// calls Run:
//
//	func TestLog(t *testing.T) {
//		storetest.Run(t, func(t testing.TB) storetest.Opened {
//			name := filepath.Join(t.TempDir(), "log")
//			log, err := open(name)
//			if err != nil {
//				t.Fatal(err)
//			}
//			again := func() (store.Log, error) { return open(name) }
//			return storetest.Opened{Log: log, Again: again, Name: name}
//		})
//	}
//
// If other processes can open the log by its name, Run also tests that. Killed tests what is
// left of an appender that is killed. Both start the test program again, so it needs:
//
//	func TestMain(m *testing.M) { storetest.Main(m, open) }
//
// The package knows the contract. It must not know an adapter.
package storetest

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/store"
)

// Opened is a new and empty log. The tests close it.
type Opened struct {
	Log store.Log
	// Again opens the log with one more handle. If it is nil, the tests that need two
	// handles do not run.
	Again func() (store.Log, error)
	// Name is the name by which other processes open the log: see Main. If it is empty, the
	// tests that need other processes do not run.
	Name string
	// Rewind copies the log, and returns a function that replaces the log by the copy, again and
	// again. Followers notice that as they notice appends of other programs. If it is nil, the
	// tests that need it do not run.
	Rewind func() (restore func())
}

// Opener opens a new and empty log.
type Opener = func(t testing.TB) Opened

// Run tests a log. It opens a new one for each test.
func Run(t *testing.T, open Opener) {
	for _, group := range []map[string]func(*fixture){
		appendTests(), byteTests(), idTests(), runTests(), queryTests(), readTests(), followTests(),
		packTests(), sealTests(), derivedTests(), deleteTests(), closeTests(), leaseTests(), modelTests(),
	} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newFixture(t, open))
			})
		}
	}
	probe := newFixture(t, open)
	if probe.again != nil {
		for name, test := range handleTests() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newFixture(t, open))
			})
		}
	}
	if probe.rewind != nil {
		for name, test := range rewindTests() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newFixture(t, open))
			})
		}
	}
	if probe.name != "" {
		for name, test := range processTests() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newFixture(t, open))
			})
		}
	}
}

// fixture is a log under test.
type fixture struct {
	*testing.T
	log    store.Log
	again  func() (store.Log, error)
	rewind func() (restore func())
	name   string
	ctx    context.Context
}

func newFixture(t *testing.T, open Opener) *fixture {
	o := open(t)
	t.Cleanup(func() {
		if err := o.Log.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &fixture{T: t, log: o.Log, again: o.Again, rewind: o.Rewind, name: o.Name, ctx: t.Context()}
}

// other opens another handle.
func (f *fixture) other() store.Log {
	f.Helper()
	log, err := f.again()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := log.Close(); err != nil {
			f.Errorf("Close: %v", err)
		}
	})
	return log
}

// key is the thread of most tests.
func key(thread string) store.Key { return store.Key{Tenant: "tenant", Thread: thread} }

// event returns an event of a stream.
func event(stream, data string) store.Entry {
	return store.Entry{Stream: stream, Kind: store.Event, Data: []byte(data)}
}

// end returns the end of a stream.
func end(stream string) store.Entry {
	return store.Entry{Stream: stream, Kind: store.End, Data: []byte("eof")}
}

// append appends entries and returns the new last position.
func (f *fixture) append(k store.Key, after int64, entries ...store.Entry) int64 {
	f.Helper()
	last, err := f.log.Append(f.ctx, k, after, entries)
	if err != nil {
		f.Fatalf("Append(%q, %d): %v", k, after, err)
	}
	if want := after + int64(len(entries)); last != want {
		f.Fatalf("Append(%q, %d) of %d entries = %d, want %d", k, after, len(entries), last, want)
	}
	return last
}

// read returns the entries of a thread after a position.
func (f *fixture) read(k store.Key, after int64) []store.Entry {
	f.Helper()
	return collect(f, f.log.Read(f.ctx, k, after))
}

// collect returns copies of the entries of an iterator.
func collect(t testing.TB, entries iter.Seq2[*store.Entry, error]) []store.Entry {
	t.Helper()
	var all []store.Entry
	for e, err := range entries {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, clone(e))
	}
	return all
}

// clone returns a copy of an entry. Its Data is not nil.
func clone(e *store.Entry) store.Entry {
	c := *e
	c.Data = append([]byte{}, e.Data...)
	return c
}

// list returns the elements of an iterator.
func list[T any](t testing.TB, found iter.Seq2[T, error]) []T {
	t.Helper()
	var all []T
	for v, err := range found {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// numbersOf checks that entries are those that numbered appended, beginning with 1, and calls
// do with each number. It returns the last number and the error, which no pair may follow.
func (f *fixture) numbersOf(entries iter.Seq2[*store.Entry, error], do func(n int64)) (n int64, err error) {
	f.Helper()
	for e, failed := range entries {
		if err != nil {
			f.Fatalf("a pair follows the error %v", err)
		}
		if err = failed; err != nil {
			continue
		}
		n++
		f.isNumber(e, n)
		do(n)
	}
	return n, err
}

// last returns the error of an iterator, and fails if a pair follows it, or if the error has
// a value.
func last[T any](t testing.TB, all iter.Seq2[T, error]) error {
	t.Helper()
	var last error
	for v, err := range all {
		if last != nil {
			t.Fatalf("a pair follows the error %v", last)
		}
		if last = err; err != nil && !reflect.ValueOf(&v).Elem().IsZero() {
			t.Errorf("the error %v has the value %v", err, v)
		}
	}
	return last
}

// thread returns what is known of a thread.
func (f *fixture) thread(k store.Key) store.Thread {
	f.Helper()
	t, err := f.log.Thread(f.ctx, k)
	if err != nil {
		f.Fatalf("Thread(%q): %v", k, err)
	}
	return t
}

// runs returns the runs that a query selects.
func (f *fixture) runs(q store.RunQuery) []store.Run {
	f.Helper()
	return list(f, f.log.Runs(f.ctx, q))
}

// reporter is a test, or a check of package rapid.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// equal reports an error if got is not want.
func equal[T any](t reporter, what string, got, want T) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return // cmp is much slower
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// fails reports an error if err is not want.
func fails(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: the error is %v, want %v", what, err, want)
	}
}

// at returns a time of arrival.
func at(micro int64) time.Time { return time.UnixMicro(1_767_225_600_000_000 + micro).UTC() }
