// Package signals cancels contexts when the program receives signals.
package signals

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Ended is the cause of a context that a signal canceled.
type Ended struct{ syscall.Signal }

func (s Ended) Error() string { return s.Signal.String() }

// Name returns the name of the signal, such as SIGINT.
func (s Ended) Name() string {
	switch s.Signal {
	case syscall.SIGHUP:
		return "SIGHUP"
	case syscall.SIGINT:
		return "SIGINT"
	}
	return "SIGTERM"
}

// Is reports whether target is context.Canceled.
func (s Ended) Is(target error) bool { return target == context.Canceled }

// Context returns a context that the first SIGINT, SIGTERM or SIGHUP cancels. The
// second signal ends the program.
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

// Together is a time in which servers count several signals as one. Some programs send a
// signal twice at once: GNU timeout sends it to the process and to its group.
const Together = 500 * time.Millisecond

// UntilSecond returns a context that the first signal after the cancellation of ctx
// cancels, instead of ending the program. Signals that arrive less than grace after the
// first one count as one with it. The signal after the second ends the program.
func UntilSecond(ctx context.Context, grace time.Duration) (context.Context, func()) {
	kill, cancel := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	first := ctx.Err() != nil
	go func() {
		defer signal.Stop(signals)
		if awaitSecond(signals, kill.Done(), first, grace) {
			cancel()
		}
	}()
	return kill, cancel
}

// awaitSecond waits for the second signal, and reports whether there was one before done.
// If first is set, the first one arrived just now.
func awaitSecond(signals <-chan os.Signal, done <-chan struct{}, first bool, grace time.Duration) bool {
	began := time.Now()
	for {
		select {
		case <-done:
			return false
		case <-signals:
			switch {
			case !first:
				first, began = true, time.Now()
			case time.Since(began) >= grace:
				return true
			}
		}
	}
}

// CleanUp calls clean and ends the program when it receives its number-th signal from
// now on, so that temporary files are removed even if the program does not react to
// the first signals in time. The returned function turns this off.
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
