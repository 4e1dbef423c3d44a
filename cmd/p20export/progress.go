package main

import (
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/p20export/p20export/capture/live"
	"github.com/p20export/p20export/internal/finding"
)

// patience is how long work may take before progress is shown.
const patience = 500 * time.Millisecond

// progress shows one line about long work on a terminal, and takes it away at
// the end. Where w is no terminal it shows nothing.
type progress struct {
	w       io.Writer
	started time.Time
	shown   bool
	line    atomic.Value // string
	display *mpb.Progress
	bar     *mpb.Bar
}

func newProgress(w io.Writer) *progress {
	p := &progress{started: time.Now()}
	if isTerminal(w) {
		p.w = w
	}
	return p
}

// say sets the line, once the work has taken a while.
func (p *progress) say(format string, args ...any) {
	if p.w == nil || !p.shown && time.Since(p.started) < patience {
		return
	}
	p.line.Store(fmt.Sprintf(format, args...))
	if p.shown {
		return
	}
	p.shown = true
	p.display = mpb.New(mpb.WithOutput(p.w), mpb.WithRefreshRate(100*time.Millisecond), mpb.WithAutoRefresh())
	line := decor.Any(func(decor.Statistics) string {
		return fmt.Sprintf(" %s, %s", p.line.Load(), time.Since(p.started).Round(time.Second))
	})
	p.bar = p.display.New(0, mpb.SpinnerStyle(), mpb.BarRemoveOnComplete(), mpb.AppendDecorators(line), mpb.BarWidth(1))
}

// end takes the line away.
func (p *progress) end() {
	if p.shown {
		p.bar.Abort(true)
		p.display.Wait()
	}
}

// capturing shows how far a recording has come.
func (p *progress) capturing(now live.Progress) {
	p.say("capturing: %s, %s", plural(now.Events, "event", "events"), bytesCount(now.Bytes))
}

// reading returns a function that shows how much of a file was read.
func (p *progress) reading(path string) func(int64) {
	name := finding.Escape(filepath.Base(path))
	return func(read int64) { p.say("reading %s: %s", name, bytesCount(read)) }
}
