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

	"github.com/p20export/p20export/capture/client"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/spell"
)

// patience is how long work may take before progress is shown.
const patience = 500 * time.Millisecond

// progress shows one line about long work on a terminal, and takes it away at
// the end. Where w is no terminal it shows nothing.
type progress struct {
	w       io.Writer
	started time.Time
	done    int
	total   int // of what is counted; 0 shows no bar
	line    atomic.Pointer[string]
	timer   *time.Timer

	mu      sync.Mutex
	ended   bool
	display *mpb.Progress // nil until shown
	bar     *mpb.Bar
}

// newProgress begins to show the line after a while, until end is called.
func newProgress(w io.Writer, line string) *progress { return newBar(w, line, 0, 0) }

// newBar is newProgress with a bar of how much of a total is done.
func newBar(w io.Writer, line string, done, total int) *progress {
	p := &progress{w: w, started: time.Now(), done: done, total: total}
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
	style, width := mpb.BarFillerBuilder(mpb.SpinnerStyle()), 1
	if p.total > 0 {
		style, width = mpb.BarStyle(), 24
	}
	p.bar = p.display.New(int64(p.total), style, mpb.BarRemoveOnComplete(), mpb.AppendDecorators(line), mpb.BarWidth(width))
	p.bar.SetCurrent(int64(p.done))
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
func newCapturing(w io.Writer) (*progress, func(client.Progress)) {
	p := newProgress(w, "waiting for an answer")
	return p, func(now client.Progress) {
		p.say(fmt.Sprintf("capturing: %s, %s", plural(now.Events, "event", "events"), spell.Bytes(now.Bytes)))
	}
}

// newReading shows how much of a capture was read.
func newReading(w io.Writer, path string) (*progress, func(int64)) {
	name := "reading " + finding.Escape(filepath.Base(path))
	p := newProgress(w, name)
	return p, func(read int64) {
		p.say(name + ": " + spell.Bytes(read))
	}
}

// newImporting shows how many artifacts of an import were read.
func newImporting(w io.Writer, artifacts int) (*progress, func(int)) {
	p := newProgress(w, "importing")
	return p, func(read int) {
		p.say(fmt.Sprintf("importing: %d of %s", read, plural(artifacts, "artifact", "artifacts")))
	}
}

// discovering shows how many of the scenarios were run, and how far the present
// one has come.
type discovering struct {
	w           io.Writer
	done, total int
	now         *progress // nil between two scenarios
}

func (d *discovering) show(scenario string, now client.Progress) {
	line := fmt.Sprintf("%d of %d, %s: %s, %s", d.done+1, d.total, scenario, plural(now.Events, "event", "events"), spell.Bytes(now.Bytes))
	if d.now == nil {
		d.now = newBar(d.w, line, d.done, d.total)
	}
	d.now.say(line)
}

// next ends a scenario; its line is gone when next returns.
func (d *discovering) next() {
	if d.done++; d.now != nil {
		d.now.end()
		d.now = nil
	}
}
