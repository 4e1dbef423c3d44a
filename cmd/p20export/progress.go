package main

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/p20export/p20export/capture/live"
)

// newProgress shows how far a recording has come while w is a terminal. done
// takes the display away again.
func newProgress(w io.Writer) (show func(live.Progress), done func()) {
	if !isTerminal(w) {
		return nil, func() {}
	}
	started := time.Now()
	var latest atomic.Pointer[live.Progress]
	latest.Store(&live.Progress{})
	display := mpb.New(mpb.WithOutput(w), mpb.WithRefreshRate(100*time.Millisecond), mpb.WithAutoRefresh())
	line := func(decor.Statistics) string {
		now := latest.Load()
		return fmt.Sprintf(" capturing: %s, %s, %s", plural(now.Events, "event", "events"), bytesCount(now.Bytes), time.Since(started).Round(time.Second))
	}
	bar := display.New(0, mpb.SpinnerStyle(), mpb.BarRemoveOnComplete(), mpb.AppendDecorators(decor.Any(line)), mpb.BarWidth(1))
	return func(p live.Progress) { latest.Store(&p) }, func() {
		bar.Abort(true)
		display.Wait()
	}
}
