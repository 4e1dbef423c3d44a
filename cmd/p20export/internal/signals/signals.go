// Package signals ends contexts by the signals a program gets.
package signals

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Ended is why a context ended: the signal.
type Ended struct{ syscall.Signal }

func (s Ended) Error() string { return s.Signal.String() }

// Is makes it the cancellation that it causes.
func (s Ended) Is(target error) bool { return target == context.Canceled }

// Context returns a context that the first SIGINT, SIGTERM or SIGHUP ends;
// the second one ends the program.
func Context(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(Ended{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// UntilSecond returns a context that a signal after the end of ctx ends,
// instead of the program; the one after that ends the program.
func UntilSecond(ctx context.Context) (context.Context, func()) {
	kill, cancel := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	awaited := 2
	if ctx.Err() != nil {
		awaited = 1
	}
	go func() {
		defer signal.Stop(signals)
		for range awaited {
			select {
			case <-signals:
			case <-kill.Done():
				return
			}
		}
		cancel()
	}()
	return kill, cancel
}

// CleanUp calls clean and ends the program at the signal of that number, counted from
// now, so that what is temporary does not stay when the first signals do not end the
// program soon enough. The function it returns ends that.
func CleanUp(number int, clean func()) func() {
	signals := make(chan os.Signal, number)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				if number--; number == 0 {
					clean()
					os.Exit(128 + int(s.(syscall.Signal)))
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
