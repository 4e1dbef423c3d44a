// Package ordered runs work in parallel and returns the results in the order of the
// inputs.
package ordered

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
)

// window is the number of inputs in flight for each job, including results that wait for
// those of earlier inputs.
const window = 4

// Map calls work for each input, up to jobs at a time, and returns the results in the
// order of the inputs. The argument worker of work is from 0 to jobs-1; concurrent calls
// get different numbers. At most 4*jobs inputs are taken before their results are used.
//
// Map ranges over in in a single goroutine, and stops early if the consumer stops. When
// ctx is done, no more results are returned, so work and in should return early. The
// sequence ends after in and all calls of work have returned. Map re-raises their panics
// in the consumer.
func Map[I, O any](ctx context.Context, jobs int, in iter.Seq[I], work func(worker int, input I) O) iter.Seq[O] {
	if jobs <= 1 {
		return sequential(ctx, in, work)
	}
	return func(yield func(O) bool) {
		parent := ctx
		ctx, stop := context.WithCancel(parent)
		m := &mapper[I, O]{stop: stop, work: work, tasks: make(chan *task[I, O]), order: make(chan *task[I, O], window*jobs-2)}
		defer m.rethrow()
		defer m.running.Wait()
		defer stop()
		m.start(func() { m.feed(ctx, in) })
		for worker := range jobs {
			m.start(func() { m.run(parent, worker) })
		}
		for t := range m.order {
			select {
			case <-ctx.Done():
				return
			case <-t.done:
			}
			if ctx.Err() != nil || !yield(t.output) {
				return
			}
		}
	}
}

// sequential is Map with one job, in the consumer's goroutine.
func sequential[I, O any](ctx context.Context, in iter.Seq[I], work func(int, I) O) iter.Seq[O] {
	return func(yield func(O) bool) {
		for input := range in {
			if ctx.Err() != nil {
				return
			}
			output := work(0, input)
			if ctx.Err() != nil || !yield(output) {
				return
			}
		}
	}
}

// task is one input and, when done is closed, its result.
type task[I, O any] struct {
	input  I
	output O
	done   chan struct{}
}

// mapper is one iteration of Map.
type mapper[I, O any] struct {
	stop  context.CancelFunc
	work  func(int, I) O
	order chan *task[I, O] // in the order of the inputs
	tasks chan *task[I, O] // for the workers

	running sync.WaitGroup
	mu      sync.Mutex
	failure *Panic // the first panic
}

// start calls f in a goroutine. A panic of f ends the iteration.
func (m *mapper[I, O]) start(f func()) {
	m.running.Go(func() {
		completed := false
		defer func() {
			if completed {
				return
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			if value := recover(); m.failure == nil {
				m.failure = &Panic{value, debug.Stack()}
			}
			m.stop()
		}()
		f()
		completed = true
	})
}

// feed passes the inputs to the workers.
func (m *mapper[I, O]) feed(ctx context.Context, in iter.Seq[I]) {
	defer close(m.order)
	defer close(m.tasks)
	for input := range in {
		t := &task[I, O]{input: input, done: make(chan struct{})}
		select {
		case <-ctx.Done():
			return
		case m.order <- t:
		}
		select {
		case <-ctx.Done():
			return
		case m.tasks <- t:
		}
	}
}

// run does the work of one worker, until ctx is done. That is the context of Map: the one of feed
// is done a little later.
func (m *mapper[I, O]) run(ctx context.Context, worker int) {
	for t := range m.tasks {
		if ctx.Err() != nil {
			return
		}
		t.output = m.work(worker, t.input)
		close(t.done)
	}
}

// rethrow raises the first panic again.
func (m *mapper[I, O]) rethrow() {
	if m.failure != nil {
		panic(m.failure)
	}
}

// Panic is the value with which Map raises a panic of another goroutine again.
type Panic struct {
	// Value is the value of the panic, or nil if the goroutine was ended by
	// runtime.Goexit.
	Value any
	// Stack is the stack of the goroutine.
	Stack []byte
}

// Error returns the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
