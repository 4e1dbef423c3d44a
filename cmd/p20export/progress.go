package main

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
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
	line    atomic.Pointer[string]
	timer   *time.Timer

	mu      sync.Mutex
	ended   bool
	display *mpb.Progress // nil until shown
	bar     *mpb.Bar
}

// newProgress begins to show the line after a while, until end is called.
func newProgress(w io.Writer, line string) *progress {
	p := &progress{w: w, started: time.Now()}
	p.line.Store(&line)
	if isTerminal(w) {
		p.timer = time.AfterFunc(patience, p.show)
	}
	return p
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.display = mpb.New(mpb.WithOutput(p.w), mpb.WithRefreshRate(100*time.Millisecond), mpb.WithAutoRefresh())
	line := decor.Any(func(decor.Statistics) string {
		return fmt.Sprintf(" %s, %s", *p.line.Load(), time.Since(p.started).Round(time.Second))
	})
	p.bar = p.display.New(0, mpb.SpinnerStyle(), mpb.BarRemoveOnComplete(), mpb.AppendDecorators(line), mpb.BarWidth(1))
}

// say changes the line.
func (p *progress) say(line string) { p.line.Store(&line) }

// end takes the line away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.display != nil {
		p.bar.Abort(true)
		p.display.Wait()
	}
}

// newCapturing shows how far a recording has come.
func newCapturing(w io.Writer) (*progress, func(live.Progress)) {
	p := newProgress(w, "waiting for an answer")
	return p, func(now live.Progress) {
		p.say(fmt.Sprintf("capturing: %s, %s", plural(now.Events, "event", "events"), bytesCount(now.Bytes)))
	}
}

// newReading shows how much of a capture was read.
func newReading(w io.Writer, path string) (*progress, func(int64)) {
	name := "reading " + finding.Escape(filepath.Base(path))
	p := newProgress(w, name)
	return p, func(read int64) {
		p.say(name + ": " + bytesCount(read))
	}
}

// newImporting shows how many artifacts of an import were read.
func newImporting(w io.Writer, artifacts int) (*progress, func(int)) {
	p := newProgress(w, "importing")
	return p, func(read int) {
		p.say(fmt.Sprintf("importing: %d of %s", read, plural(artifacts, "artifact", "artifacts")))
	}
}
