package ordered

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// count returns the numbers from 0 to n-1, and records how many were taken.
func count(n int, taken *atomic.Int64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			taken.Add(1)
			if !yield(i) {
				return
			}
		}
	}
}

// Results are in the order of the inputs, at most jobs calls are made at the same time,
// with different workers, and only a few inputs are taken ahead. A consumer may stop at
// any result.
func TestMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := rapid.IntRange(0, 9).Draw(t, "jobs")
		n := rapid.IntRange(0, 60).Draw(t, "inputs")
		stopAt := rapid.IntRange(0, 70).Draw(t, "stop")
		var taken, atWork atomic.Int64
		busy := make([]atomic.Bool, max(jobs, 1))
		var got []int
		for output := range Map(context.Background(), jobs, count(n, &taken), func(worker, i int) int {
			if now := atWork.Add(1); now > int64(max(jobs, 1)) {
				t.Errorf("%d at work with %d jobs", now, jobs)
			}
			if busy[worker].Swap(true) {
				t.Errorf("worker %d is used twice", worker)
			}
			for range i * 7 % 5 {
				runtime.Gosched()
			}
			busy[worker].Store(false)
			atWork.Add(-1)
			return i * i
		}) {
			if ahead := int(taken.Load()) - len(got); ahead > max(jobs, 1)*window {
				t.Errorf("%d inputs were taken ahead with %d jobs", ahead, jobs)
			}
			if got = append(got, output); len(got) == stopAt {
				break
			}
		}
		if atWork.Load() != 0 {
			t.Errorf("%d are still at work", atWork.Load())
		}
		want := n
		if stopAt > 0 && stopAt < n {
			want = stopAt
		}
		if len(got) != want {
			t.Fatalf("%d results, want %d", len(got), want)
		}
		for i, output := range got {
			if output != i*i {
				t.Fatalf("result %d is %d", i, output)
			}
		}
	})
}

// All jobs work at the same time, and a slow input does not stop those after it.
func TestMapInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var taken atomic.Int64
		started := time.Now()
		got := slices.Collect(Map(t.Context(), 4, count(12, &taken), func(_, i int) int {
			if i == 0 {
				time.Sleep(3 * time.Hour)
			} else {
				time.Sleep(time.Hour)
			}
			return i
		}))
		// The first job needs three hours; the others do 11 hours of work in 4.
		if took := time.Since(started); took > 4*time.Hour || len(got) != 12 || !slices.IsSorted(got) {
			t.Errorf("%v for %v", took, got)
		}
	})
}

// When the context is done, the sequence ends without further results, after all calls
// have returned.
func TestMapCancelled(t *testing.T) {
	for _, jobs := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var taken, returned atomic.Int64
			results := 0
			for range Map(ctx, jobs, count(1000, &taken), func(_, i int) int {
				defer returned.Add(1)
				if i < 5 {
					return i
				}
				<-ctx.Done()
				return -1
			}) {
				if results++; results == 5 {
					go func() { time.Sleep(time.Second); cancel() }()
				}
			}
			if n := returned.Load(); results != 5 || n < 6 || n > int64(5+jobs) {
				t.Errorf("%d jobs: %d results, %d calls", jobs, results, n)
			}
		})
	}
}

// A panic of the work or of the inputs is raised again in the consumer, after everything
// else has ended.
func TestMapPanic(t *testing.T) {
	cause := errors.New("the cause")
	for name, test := range map[string]struct {
		in   iter.Seq[int]
		work func(int, int) int
	}{
		"work": {count(100, new(atomic.Int64)), func(_, i int) int {
			if i == 7 {
				panic(cause)
			}
			return i
		}},
		"in":     {func(yield func(int) bool) { yield(1); panic(cause) }, func(_, i int) int { return i }},
		"goexit": {count(100, new(atomic.Int64)), func(_, i int) int { runtime.Goexit(); return i }},
	} {
		synctest.Test(t, func(t *testing.T) { // fails if a goroutine remains
			var raised *Panic
			func() {
				defer func() { raised, _ = recover().(*Panic) }()
				for range Map(t.Context(), 3, test.in, test.work) {
				}
			}()
			if raised == nil || name != "goexit" && !errors.Is(raised, cause) || !strings.Contains(raised.Error(), "ordered") {
				t.Errorf("%s: raised %v", name, raised)
			}
		})
	}
}

// A panic of the consumer ends everything.
func TestMapConsumerPanic(t *testing.T) {
	var taken, atWork atomic.Int64
	var once sync.Once
	defer func() {
		if recover() != "consumer" || atWork.Load() != 0 {
			t.Errorf("%d at work", atWork.Load())
		}
	}()
	for range Map(t.Context(), 3, count(100, &taken), func(_, i int) int {
		atWork.Add(1)
		defer atWork.Add(-1)
		runtime.Gosched()
		return i
	}) {
		once.Do(func() { panic("consumer") })
	}
}
