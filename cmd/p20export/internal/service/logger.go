package service

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// The results of appending a capture to an event log.
const (
	// LogComplete means that the event log has the whole stream.
	LogComplete = "complete"
	// LogNone means that the capture has nothing to append: it has no event, it is a failed
	// request, nothing names its thread, or the thread was deleted.
	LogNone = "none"
	// LogFailed means that the capture could not be appended, although the event log can
	// be used: the capture is damaged or cannot be read, or the log has other entries.
	LogFailed = "failed"
	// logUnreadable is LogFailed for a capture that cannot be read now.
	logUnreadable = "unreadable"
)

// LogObserver receives what a Logger does. Its methods are called concurrently and must
// not block.
type LogObserver interface {
	// LogAppended is called when n entries were appended: while they arrived, or from a
	// closed capture.
	LogAppended(n int, live bool)
	// LogFailed is called when the event log could not be read or written.
	LogFailed()
	// LogRewound is called when a thread of the event log has lost entries.
	LogRewound()
	// Logged is called with the result for a closed capture, unless the event log had all
	// of it before. A capture that cannot be read counts again when it is tried again.
	Logged(result string)
	// NotLive is called for each exchange that could not be appended completely while it
	// was open.
	NotLive()
	// LogQueued is called when the memory of events that wait changes by delta bytes.
	LogQueued(delta int)
}

// Logger appends what a proxy records to an event log. While an exchange is open, it
// appends each event. When the capture is closed, it appends what is missing. First it does
// so for the captures that are in the store.
//
// The captures are what counts: an event log that fails delays nothing, and is completed
// from them. Nothing is appended twice, because the log knows the stream of each capture.
type Logger struct {
	captures *Store
	events   store.Log
	tenant   string
	log      *slog.Logger
	observer LogObserver

	deleted  sync.Once // says that a thread was deleted
	unknown  sync.Once // says that the thread of a capture is not known
	backlog  *backlog
	queued   atomic.Int64 // bytes of live events
	appended atomic.Int64 // number of appends that succeeded

	mu      sync.Mutex
	over    bool // no exchange is followed any more
	live    map[string]*live
	failing bool      // whether the log says that the event log cannot be used
	failed  time.Time // the last time that it could not be used
	sealer  *Sealer   // of the event log, or nil
	// known has the last positions that the event log has had, of up to maxKnown threads.
	known map[store.Key]int64

	slots   chan struct{} // of live appends
	wake    chan struct{} // something was added
	last    chan struct{} // closed by Finish
	ctx     context.Context
	stop    context.CancelFunc
	ended   chan struct{}
	writing sync.WaitGroup // live

	// These are different in tests.
	pause   time.Duration // before the first retry
	timeout time.Duration // of a call of the event log
	grace   time.Duration // for what is interrupted at the end
	maxLive int64
}

const (
	// firstPause and maxPause are the shortest and the longest time between two tries to
	// use an event log that fails.
	firstPause = time.Second
	maxPause   = 30 * time.Second
	// maxTryPause is the longest time between two tries to append the same capture.
	maxTryPause = 10 * time.Minute
	// callTimeout limits a call of the event log, so that one that hangs is noticed.
	callTimeout = 30 * time.Second
	// finishTime is the time for what is interrupted at the end.
	finishTime = 5 * time.Second
)

// NewLogger returns a Logger that appends the captures of a store to a log. The Logger
// closes the log.
func NewLogger(captures *Store, events store.Log, tenant string, log *slog.Logger, o LogObserver) *Logger {
	l := &Logger{
		captures: captures, events: events, tenant: tenant, log: log, observer: o,
		backlog: newBacklog(captures, log), live: make(map[string]*live), known: make(map[store.Key]int64),
		slots: make(chan struct{}, liveSlots), wake: make(chan struct{}, 1), last: make(chan struct{}), ended: make(chan struct{}),
		pause: firstPause, timeout: callTimeout, grace: finishTime, maxLive: maxLiveBytes,
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// SealWith makes Finish wait for the Sealer of the event log before it closes that.
func (l *Logger) SealWith(s *Sealer) { l.sealer = s }

// Add adds a closed capture. It never blocks. After Finish it may have no effect.
func (l *Logger) Add(name string) {
	l.backlog.add(name)
	l.awake()
}

// awake makes the Logger look at the backlog.
func (l *Logger) awake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Behind returns the number of closed captures that are known to wait, and the time for
// which the first of all that the event log may lack has waited.
func (l *Logger) Behind() (captures int, behind time.Duration) {
	captures, since := l.backlog.size()
	if since.IsZero() {
		return 0, 0
	}
	return captures, time.Since(since)
}

// Start starts the work on closed captures in the background.
func (l *Logger) Start() { go l.run() }

func (l *Logger) run() {
	defer close(l.ended)
	defer l.backlog.close()
	pause := l.pause
	last := l.last
	for l.ctx.Err() == nil {
		p, later := l.backlog.next()
		if p != nil {
			available := l.complete(p)
			if available {
				pause = l.pause
				continue
			}
			if last == nil {
				return // the next start tries again
			}
			later = time.Now().Add(pause)
			pause = min(2*pause, maxPause)
		} else if last == nil {
			return
		}
		last = l.wait(later, p == nil, last)
	}
}

// wait waits for a time, or for what is added if the time is zero or adding is set, or for
// Finish. It returns last, or nil after Finish.
func (l *Logger) wait(until time.Time, adding bool, last chan struct{}) chan struct{} {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timer = t.C
	}
	wake := l.wake
	if !adding {
		wake = nil
	}
	select {
	case <-l.ctx.Done():
	case <-timer:
	case <-wake:
	case <-last:
		return nil
	}
	return last
}

// Finish waits until the event log has everything, until it cannot be used, or until ctx is
// done, and closes it. It must be called once, after Start, when no exchange is open.
func (l *Logger) Finish(ctx context.Context) {
	close(l.last)
	select {
	case <-l.ended:
	case <-ctx.Done():
	}
	l.stop()
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		<-l.ended
		l.writing.Wait()
	}()
	hangs := true
	if within(l.ctx, appended, l.grace) {
		closed := make(chan struct{})
		if l.sealer != nil {
			l.sealer.Finish(ctx)
		}
		go func() {
			defer close(closed)
			if err := l.events.Close(); err != nil {
				l.log.Error("the event log cannot be closed", "error", err)
			}
		}()
		hangs = !within(l.ctx, closed, l.grace)
	}
	if hangs {
		l.log.Error("the event log hangs; it was not closed")
	}
	if _, since := l.backlog.size(); !since.IsZero() {
		l.log.Warn("the event log may lack some captures; the next start appends them")
	}
}

// complete appends what the event log lacks of a capture, and reports whether the event log
// could be used.
func (l *Logger) complete(p *pending) (available bool) {
	if live := l.isLive(p.name); live != nil {
		select {
		case <-live.done:
		case <-l.ctx.Done():
		}
	}
	events := l.watch(false)
	result, about := l.append(events, p.name)
	switch {
	case l.ctx.Err() != nil:
		l.backlog.again(p, 0)
		return true
	case events.failed != nil:
		pause := time.Duration(0)
		if appended := l.appended.Load(); p.failed && appended > p.appended {
			pause = l.tryPause(p) // others can be appended, and go first
		}
		p.failed, p.appended = true, l.appended.Load()
		l.backlog.again(p, pause)
		return false
	case result == "":
		l.backlog.done()
	case result == logUnreadable:
		l.report(p, LogFailed, about)
		l.backlog.again(p, l.tryPause(p))
	default:
		l.report(p, result, about)
		l.backlog.done()
	}
	return true
}

// tryPause returns the time until a capture is tried again, and counts the try.
func (l *Logger) tryPause(p *pending) time.Duration {
	p.tries++
	return min(l.pause<<min(p.tries, 20), maxTryPause)
}

// report counts and logs a result. That a capture fails again is not logged again.
func (l *Logger) report(p *pending, result string, about []any) {
	l.observer.Logged(result)
	attrs := append([]any{"capture", p.name}, about...)
	switch {
	case result == LogNone:
		l.log.Debug("nothing to append to the event log", attrs...)
	case result == LogComplete:
		l.log.Debug("appended to the event log", attrs...)
	case p.tries == 0:
		l.log.Warn("not appended to the event log", attrs...)
	}
}

// append appends what the log lacks of a capture. The result is "" if it lacked nothing.
func (l *Logger) append(events *watched, name string) (result string, about []any) {
	in, settings := inputs.File(filepath.Join(l.captures.Path, name)), transfer.ImportSettings{Tenant: l.tenant}
	have, err := transfer.Find(l.ctx, events, in, settings)
	switch {
	case events.failed != nil, have.Ended, errors.Is(err, fs.ErrNotExist): // somebody may have removed it
		return "", nil
	}
	if l.empty(in) && have.Entries == 0 { // a crash can take all events from a capture, but not from the log
		return LogNone, nil
	}
	row := transfer.Import(l.ctx, events, in, settings)
	for _, f := range row.Findings {
		if f.Severity == finding.Error {
			about = []any{"code", string(f.Code)} // its message may quote content
			break
		}
	}
	var appended int64
	for _, part := range row.Parts {
		appended += part.Appended
	}
	switch {
	case finding.Has(row.Findings, finding.LogThreadDeleted):
		l.deleted.Do(func() {
			l.log.Warn("captures of deleted threads are not appended to the event log", "capture", name)
		})
		return LogNone, about
	case finding.Has(row.Findings, finding.StreamThreadUnknown):
		l.unknown.Do(func() {
			l.log.Warn("captures without a thread are not appended to the event log", "capture", name)
		})
		return LogNone, about
	case row.Nothing():
		return LogNone, about
	case row.Verdict == project.Failed:
		return logUnreadable, about
	case row.Verdict != project.Written:
		return LogFailed, about
	case appended == 0:
		return "", nil
	}
	return LogComplete, []any{"entries", appended}
}

// empty reports whether a capture has no event or is that of a failed request.
func (l *Logger) empty(in *inputs.Input) bool {
	c, err := in.Open(l.ctx)
	if err != nil {
		return false // Import says what is wrong
	}
	defer c.Close()
	if m := c.Manifest(); m.Source.Status != nil && !isSuccess(*m.Source.Status) {
		return true
	}
	_, err = c.Next()
	return err == io.EOF || c.CodingCut()
}

// isSuccess reports whether a response with the status contains events of an agent.
func isSuccess(status int) bool { return status >= 200 && status < 300 }
