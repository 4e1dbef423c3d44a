package proxy

import (
	"cmp"
	"errors"
	"io/fs"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// gather is the longest time for which a recording collects what arrives before it writes
// again. It is followGather if the recording is followed.
const (
	gather       = 50 * time.Millisecond
	followGather = 10 * time.Millisecond
)

// run writes the capture and, when the exchange is over, tells the observer.
func (g *Recording) run() {
	r := g.recorder
	x := Exchange{Events: -1, Recorded: true}
	if g.abandoned != nil {
		g.fail(g.abandoned)
	} else {
		g.store(&x)
	}
	g.request.release()
	r.queued.Add(-recordingBytes)
	r.open.Add(-1)
	<-g.over
	x.Status, x.Bytes, x.Duration = g.exchange.Status, g.exchange.Bytes, g.exchange.Duration
	x.End = cmp.Or(x.End, g.exchange.End)
	if x.Stored {
		r.settings.Log.Info("exchange stored", "capture", x.Name, "digest", x.Digest, "end", x.End, "status", x.Status,
			"bytes", x.Bytes, "events", x.Events, "duration", x.Duration)
	} else {
		r.settings.Log.Error("exchange not stored", "capture", x.Name, "end", x.End, "status", x.Status, "bytes", x.Bytes, "duration", x.Duration)
	}
	r.settings.Observer.Ended(x)
	r.closing.Done()
}

// store creates the capture, writes to it until the response ends, and closes it. It adds
// what is known of the capture to x.
func (g *Recording) store(x *Exchange) {
	w, err := g.create(x)
	if err != nil {
		g.fail(err)
		return
	}
	err = g.copy(w)
	x.Events = g.events.end()
	if err == nil {
		err = g.storeRequest(w, true)
	}
	if err != nil {
		g.fail(err)
	}
	manifest, err := w.Close(g.end)
	if err != nil {
		g.fail(err)
		f, _ := finding.FromError(err)
		x.Findings = append(x.Findings, f)
	}
	for _, path := range w.Leftovers() {
		x.Findings = append(x.Findings, finding.Leftover(path))
	}
	if manifest == nil {
		return
	}
	x.End, x.Stored = manifest.End, err == nil
	if b, err := manifest.Encode(); err == nil {
		x.Digest = digest.Of(b)
	}
}

// create creates the capture and sets its name in x.
func (g *Recording) create(x *Exchange) (w storage, err error) {
	body, complete := g.request.known()
	if complete {
		g.settings.Request = body
	}
	for range 3 {
		x.Name = newName(g.settings.StartedAt)
		w, err = g.recorder.begin(x.Name, g.settings)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		x.Name = ""
		return nil, err
	}
	g.events = newCounter(g.settings, g.recorder.events)
	if complete || g.request == nil {
		g.events.follow(x.Name, g.settings, g.recorder.settings.Follow)
	}
	if complete {
		g.requestDone()
	}
	return w, nil
}

// storeRequest stores the request if it arrived completely, or, at the end, what arrived
// of it.
func (g *Recording) storeRequest(w storage, atEnd bool) error {
	if g.request == nil {
		return nil
	}
	if g.request.dropped() {
		g.requestDone()
		return errRequest
	}
	body, complete := g.request.known()
	if !complete && !atEnd {
		return nil
	}
	defer g.requestDone()
	if len(body) == 0 {
		return nil
	}
	return w.SetRequest(body)
}

// requestDone frees the memory of the request.
func (g *Recording) requestDone() {
	g.request.release()
	g.request, g.settings.Request = nil, nil
}

// fail ends the capture because it cannot be written. Even if the response has ended, the
// capture lacks some of it.
func (g *Recording) fail(err error) {
	g.stop(capture.EndStorage)
	g.mu.Lock()
	g.end = capture.EndStorage
	g.mu.Unlock()
	g.discard(g.take(nil))
	g.failed(err)
	g.recorder.report(err)
}

// discard frees what is queued.
func (g *Recording) discard(q queue) {
	for i, b := range q {
		g.recorder.release(b.size())
		g.recorder.spare.put(b)
		q[i] = nil
	}
}

// copy writes what is queued until the response has ended.
func (g *Recording) copy(w storage) error {
	policy := g.recorder.settings.Sync
	pause := gather
	if g.events.follower != nil {
		pause = followGather
	}
	if policy > 0 {
		pause = min(pause, time.Duration(policy))
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var q queue
	synced, dirty := time.Now(), false
	for ended := false; ; {
		q = g.take(q)
		for i, b := range q {
			if _, err := w.WriteArrived(b.bytes, b.arrivals); err != nil {
				g.discard(q[i:])
				return err
			}
			g.events.feed(b)
			g.recorder.release(b.size())
			g.recorder.spare.put(b)
			q[i], dirty = nil, true
		}
		if ended {
			return nil
		}
		g.events.wake()
		if err := g.storeRequest(w, false); err != nil {
			return err
		}
		if dirty && (policy == SyncEach || policy > 0 && time.Since(synced) >= time.Duration(policy)) {
			if err := w.Sync(); err != nil {
				return err
			}
			synced, dirty = time.Now(), false
		}
		if policy != SyncEach {
			timer.Reset(pause)
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
