package render

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
	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/store"
)

// progressDelay is how long work runs before its progress is shown.
const progressDelay = 500 * time.Millisecond

// Progress shows one line about long work on a terminal, and removes it at the end. If w
// is not a terminal, or one without control sequences, it shows nothing.
type Progress struct {
	w       io.Writer
	started time.Time
	line    atomic.Pointer[string]
	timer   *time.Timer

	// text returns the text after the bar, and position what the bar shows. If total is
	// 0, there is no bar.
	text     func() string
	position func() (done, total int64)

	mu      sync.Mutex
	ended   bool
	display *mpb.Progress // nil until shown
	bar     *mpb.Bar
}

// NewProgress shows the line after a short delay, until End is called.
func NewProgress(w io.Writer, line string) *Progress { return newBar(w, line, 0, 0) }

// newBar is like NewProgress, with a bar that shows how much of a total is done.
func newBar(w io.Writer, line string, done, total int) *Progress {
	p := &Progress{w: w, started: time.Now()}
	p.line.Store(&line)
	p.position = func() (int64, int64) { return int64(done), int64(total) }
	p.text = func() string {
		return fmt.Sprintf("%s, %s", *p.line.Load(), time.Since(p.started).Round(time.Second))
	}
	p.start()
	return p
}

// start shows the line after a short delay.
func (p *Progress) start() {
	if text.HasControls(p.w) {
		p.timer = time.AfterFunc(progressDelay, p.show)
	}
}

func (p *Progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.display = mpb.New(mpb.WithOutput(p.w), mpb.WithRefreshRate(100*time.Millisecond), mpb.WithAutoRefresh())
	line := decor.Any(func(decor.Statistics) string { return " " + p.text() })
	style, width := mpb.BarFillerBuilder(mpb.SpinnerStyle()), 1
	done, total := p.position()
	if total > 0 {
		style, width = mpb.BarStyle(), 24
	}
	p.bar = p.display.New(total, style, mpb.BarRemoveOnComplete(), mpb.AppendDecorators(line), mpb.BarWidth(width))
	p.bar.SetCurrent(done)
}

// SetLine changes the line.
func (p *Progress) SetLine(line string) { p.line.Store(&line) }

// End removes the line. It may be called more than once.
func (p *Progress) End() { p.end() }

// end is End. It reports whether the line was shown until now.
func (p *Progress) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.display == nil {
		return false
	}
	p.bar.Abort(true)
	p.display.Wait()
	return true
}

// NewCaptureProgress shows how much of a response was captured.
func NewCaptureProgress(w io.Writer) (*Progress, func(client.Progress)) {
	p := NewProgress(w, "waiting for a response")
	return p, func(now client.Progress) {
		p.SetLine(fmt.Sprintf("capturing: %s%s", events(now.Events), humanize.Bytes(now.Bytes)))
	}
}

// NewReadingProgress shows how much of a capture was read. The returned function reports the
// number of bytes read so far.
func NewReadingProgress(w io.Writer, path string) (*Progress, func(int64)) {
	name := "reading " + finding.Escape(filepath.Base(path))
	p := NewProgress(w, name)
	return p, func(read int64) {
		p.SetLine(name + ": " + humanize.Bytes(read))
	}
}

// SetWriting changes the line to say how much of a number of things was written to path, or
// was checked there. The doing word is for example "writing".
func (p *Progress) SetWriting(doing, path string, done, total int, one, many string) {
	p.SetLine(fmt.Sprintf("%s %s: %s of %s", doing, finding.Escape(filepath.Base(path)), humanize.Grouped(int64(done)), Plural(total, one, many)))
}

// SetWritingBytes changes the line to say how many bytes were written to path.
func (p *Progress) SetWritingBytes(path string, bytes int64) {
	p.SetLine("writing " + finding.Escape(filepath.Base(path)) + ": " + humanize.Bytes(bytes))
}

// NewImportProgress shows how many artifacts of an import were read.
func NewImportProgress(w io.Writer, artifacts int) (*Progress, func(int)) {
	p := NewProgress(w, "importing")
	return p, func(read int) {
		p.SetLine(fmt.Sprintf("importing: %d of %s", read, Plural(artifacts, "artifact", "artifacts")))
	}
}

// NewExportProgress shows how many of a number of entries were written to file, or to out if that
// is -. The returned function reports the number written so far; there can be more, if a log grows
// meanwhile. If the entries appear on a terminal themselves, the line is not shown.
func NewExportProgress(w, out io.Writer, file string, entries int64) (*Progress, func(int64)) {
	name := "writing " + finding.Escape(filepath.Base(file))
	if file == "-" {
		name = "writing standard output"
	}
	p, progress := newEntryProgress(w, name, entries)
	if file != "-" || !text.IsTerminal(out) {
		p.start()
	}
	return p, progress
}

// NewVerifyProgress shows how many of the entries of a thread were read.
func NewVerifyProgress(w io.Writer, t store.Thread) (*Progress, func(int64)) {
	p, progress := newEntryProgress(w, "verifying "+finding.Escape(t.Thread), t.Last)
	p.start()
	return p, progress
}

// newEntryProgress returns a progress that is not shown yet.
func newEntryProgress(w io.Writer, name string, entries int64) (*Progress, func(int64)) {
	var read atomic.Int64
	p := &Progress{w: w, started: time.Now()}
	p.position = func() (int64, int64) { return 0, 0 }
	p.text = func() string { // entries are many, so that a line is only made when it is shown
		done := read.Load()
		total := humanize.Grouped(max(done, entries))
		return fmt.Sprintf("%s: %s of %s entries, %s", name, humanize.Grouped(done), total, time.Since(p.started).Round(time.Second))
	}
	return p, read.Store
}

// DiscoveryProgress shows how many scenarios have ended, and how much of the current
// response was captured.
type DiscoveryProgress struct {
	w           io.Writer
	done, total int
	current     *Progress // nil between two scenarios
}

// NewDiscoveryProgress returns the progress of total scenarios.
func NewDiscoveryProgress(w io.Writer, total int) *DiscoveryProgress {
	return &DiscoveryProgress{w: w, total: total}
}

// Update shows how much of the response to a scenario was captured.
func (d *DiscoveryProgress) Update(scenario string, now client.Progress) {
	line := fmt.Sprintf("%d of %d, %s: %s%s", d.done+1, d.total, scenario, events(now.Events), humanize.Bytes(now.Bytes))
	if d.current == nil {
		d.current = newBar(d.w, line, d.done, d.total)
	}
	d.current.SetLine(line)
}

// Done ends a scenario and removes its line.
func (d *DiscoveryProgress) Done() {
	if d.done++; d.current != nil {
		d.current.End()
		d.current = nil
	}
}
