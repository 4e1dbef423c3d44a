package proxy

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// gather is the time for which a recording collects what arrives before it writes again.
const gather = 10 * time.Millisecond

// run writes the capture and, when the exchange is over, tells the observer.
func (g *Recording) run() {
	r := g.recorder
	var x Exchange
	var manifest *capture.Manifest
	err := ErrStorage
	if !g.abandoned {
		x.Name, x.Events, manifest, err = g.store()
	}
	if err != nil {
		r.settings.Observer.StoreFailed(err)
	}
	g.request.release()
	r.open.Add(-1)
	<-g.over
	passed := g.exchange
	x.End, x.Status, x.Bytes, x.Duration = passed.End, passed.Status, passed.Bytes, passed.Duration
	if manifest != nil {
		x.End = manifest.End
		if b, err := manifest.Encode(); err == nil {
			x.Digest = digest.Of(b)
		}
	}
	x.Stored = err == nil
	if err != nil {
		f, _ := finding.FromError(err)
		x.Findings = append(x.Findings, f)
	}
	if x.Stored {
		r.settings.Log.Info("exchange stored", "capture", x.Name, "digest", x.Digest, "end", x.End, "status", x.Status,
			"bytes", x.Bytes, "events", x.Events, "duration", x.Duration)
	} else {
		r.settings.Log.Error("exchange not stored", "capture", x.Name, "error", err)
	}
	r.settings.Observer.Ended(x)
	r.closing.Done()
}

// store creates the capture, writes to it until the response ends, and closes it. After
// an error the capture may be closed nevertheless; then the manifest is not nil.
func (g *Recording) store() (name string, events int, manifest *capture.Manifest, err error) {
	var w *capture.Writer
	for range 3 {
		name = newName(g.settings.StartedAt)
		if body, complete := g.request.known(); complete {
			g.settings.Request = body
		}
		if w, err = createIn(g.recorder.settings.Captures, name, g.settings); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		g.fail(err)
		return "", 0, nil, err
	}
	var count *capture.Counter
	if coding := g.settings.Source.Headers["content-encoding"]; coding == "" || strings.EqualFold(coding, "identity") {
		count = capture.NewCounter(g.settings.Framing)
	}
	failure := g.copy(w, count)
	if failure != nil {
		g.fail(failure)
	}
	events = -1
	if count != nil {
		count.Finish()
		events = count.Events()
	}
	if body, _ := g.request.known(); failure == nil && g.settings.Request == nil && len(body) > 0 {
		if err := setRequest(w, body); err != nil {
			failure = err
			g.fail(err)
		}
	}
	manifest, err = closeWriter(w, g.end)
	if err != nil && failure == nil {
		g.fail(err)
	}
	return name, events, manifest, err
}

// fail ends the capture because it cannot be written.
func (g *Recording) fail(err error) {
	g.stop(endStorage)
	bytes, arrivals := g.take(nil, nil)
	g.recorder.release(int64(len(bytes)) + arrivalBytes*int64(len(arrivals)))
	g.failed(err)
}

// copy writes what is queued until the response has ended.
func (g *Recording) copy(w *capture.Writer, count *capture.Counter) error {
	policy := g.recorder.settings.Sync
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var bytes []byte
	var arrivals []arrival
	synced, dirty := time.Now(), false
	for ended := false; ; {
		bytes, arrivals = g.take(bytes, arrivals)
		if len(bytes) > 0 {
			_, err := writeArrived(w, bytes, arrivals)
			g.recorder.release(int64(len(bytes)) + arrivalBytes*int64(len(arrivals)))
			if err != nil {
				return err
			}
			if count != nil {
				count.Feed(bytes)
			}
			dirty = true
			if cap(bytes) > fullBytes {
				bytes, arrivals = nil, nil
			}
		}
		if ended {
			return nil
		}
		if dirty && (policy == SyncEach || policy > 0 && time.Since(synced) >= time.Duration(policy)) {
			if err := syncWriter(w); err != nil {
				return err
			}
			synced, dirty = time.Now(), false
		}
		if policy != SyncEach {
			timer.Reset(gather)
			select {
			case <-timer.C:
			case <-g.full:
				continue
			case <-g.ended:
			}
		}
		wait := (<-chan time.Time)(nil)
		if dirty && policy > 0 {
			timer.Reset(max(0, time.Duration(policy)-time.Since(synced)))
			wait = timer.C
		}
		select {
		case <-g.wake:
		case <-g.full:
		case <-wait:
		case <-g.ended:
			ended = true
		}
	}
}
