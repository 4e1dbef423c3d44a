package proxy

import (
	"sync"
	"time"

	"github.com/p20export/p20export/capture"
)

// Recording records one exchange. Write and End never wait for the disk: a goroutine
// writes what is queued.
type Recording struct {
	recorder *Recorder
	settings capture.Settings
	request  *RequestBody
	failed   func(error)

	mu       sync.Mutex
	queue    queue
	accepted int64       // bytes that were ever queued
	end      capture.End // "" while the capture is open

	wake  chan struct{} // something is queued
	full  chan struct{} // a lot is queued
	ended chan struct{} // closed when end is set
	over  chan struct{} // closed when the exchange is over

	events    *counter // of the capture, once it was created
	abandoned error    // why nothing is stored, or nil
	exchange  Exchange // valid when over is closed
}

// Write queues p, which arrived at the given time. It returns ErrStorage if the capture
// ended because it could not be stored. Once Settings.MaxBytes is reached, Write discards p
// and returns nil.
func (g *Recording) Write(p []byte, at time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end != "" {
		if g.end == capture.EndStorage {
			return ErrStorage
		}
		return nil
	}
	limited := false
	if limit := g.recorder.settings.MaxBytes; limit > 0 && g.accepted+int64(len(p)) > limit {
		p, limited = p[:limit-g.accepted], true
	}
	if len(p) > 0 {
		if !g.recorder.reserve(int64(len(p)) + arrivalBytes) {
			g.stopLocked(capture.EndStorage)
			g.recorder.closing.Go(func() { g.recorder.report(errQueueFull) }) // which may write to a log
			return ErrStorage
		}
		g.accepted += int64(len(p))
		g.queue.add(p, at, &g.recorder.spare)
		if len(g.queue) > 1 {
			signal(g.full)
		}
	}
	if limited {
		g.stopLocked(capture.EndLimit)
	}
	return nil
}

// Wake makes the recording write what is queued. A caller can pass the bytes on between
// Write and Wake.
func (g *Recording) Wake() { signal(g.wake) }

// stop ends the capture, unless it has ended.
func (g *Recording) stop(end capture.End) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopLocked(end)
}

func (g *Recording) stopLocked(end capture.End) {
	if g.end == "" {
		g.end = end
		close(g.ended)
	}
}

// End ends the response. The recording closes its capture.
func (g *Recording) End(end capture.End) { g.stop(end) }

// Finish must be called once, after End, when the exchange is over. The observer receives
// x with what is known of the capture.
func (g *Recording) Finish(x Exchange) {
	g.exchange = x
	close(g.over)
}

// take returns what is queued. The recording uses the given list for what comes next.
func (g *Recording) take(empty queue) queue {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queue
	g.queue = empty[:0]
	return q
}

// signal sends to a channel with a buffer of one, unless it is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
