package service

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

const (
	// maxLiveBytes limits the memory of the events of all open exchanges that wait to be
	// appended.
	maxLiveBytes = 32 << 20
	// eventBytes is about the memory of an event beside its data.
	eventBytes = 128
	// liveSlots limits the appends of live events that are made at a time. After an append,
	// its slot rests liveRest times as long as the append took, up to maxRest. So the log
	// takes a bounded part of the time of the machine from the traffic, and under load each
	// append has more events.
	liveSlots = 4
	liveRest  = 3
	maxRest   = 100 * time.Millisecond
)

// live appends the events of an open exchange. It gives up at the first problem, because
// the capture is appended later.
type live struct {
	logger *Logger
	stream *transfer.Stream
	events *watched

	mu    sync.Mutex
	queue []event
	bytes int64 // of the queue
	over  bool  // no event follows
	lost  bool  // it has given up

	wake chan struct{}
	done chan struct{} // closed when nothing is appended any more
}

// event is an event that waits to be appended.
type event struct {
	data    []byte
	arrived time.Time
}

func (e event) size() int64 { return int64(len(e.data)) + eventBytes }

// Follow returns what appends the events of an open capture, or nil if the event log cannot
// be used. It implements the setting Follow of a proxy. The settings are those of the
// capture.
func (l *Logger) Follow(name string, s capture.Settings) proxy.Follower {
	if s.Source.Status != nil && !isSuccess(*s.Source.Status) {
		return nil
	}
	request := event{slices.Clone(s.Request), s.StartedAt}
	f := &live{
		logger: l, events: l.watch(true),
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.failing && time.Since(l.failed) < l.pause || !l.reserve(request.size()) {
		l.observer.NotLive()
		return nil
	}
	f.stream = transfer.NewStream(f.events, transfer.StreamSettings{Tenant: l.tenant, ID: name})
	l.live[name] = f
	l.writing.Go(func() {
		f.run(request)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.live, name)
	})
	return f
}

// isLive returns what appends the events of a capture, or nil if nothing does.
func (l *Logger) isLive(name string) *live {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live[name]
}

// reserve reserves memory for live events, if there is room.
func (l *Logger) reserve(n int64) bool {
	if l.queued.Add(n) > l.maxLive {
		l.queued.Add(-n)
		return false
	}
	l.observer.LogQueued(int(n))
	return true
}

// release gives back reserved memory.
func (l *Logger) release(n int64) {
	if n != 0 {
		l.queued.Add(-n)
		l.observer.LogQueued(int(-n))
	}
}

// Event implements proxy.Follower.
func (f *live) Event(data []byte, arrived time.Time) {
	e := event{data, arrived}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost {
		return
	}
	if !f.logger.reserve(e.size()) {
		f.lose()
		return
	}
	e.data = slices.Clone(data)
	f.queue = append(f.queue, e)
	f.bytes += e.size()
}

// Wake implements proxy.Follower.
func (f *live) Wake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// End implements proxy.Follower.
func (f *live) End() {
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	f.Wake()
}

// lose gives up. The caller must hold f.mu.
func (f *live) lose() {
	if !f.lost {
		f.lost = true
		f.logger.observer.NotLive()
	}
	f.logger.release(f.bytes)
	f.queue, f.bytes = nil, 0
}

// take returns the queue and its size, and whether events can follow.
func (f *live) take() (queue []event, bytes int64, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	queue, bytes = f.queue, f.bytes
	f.queue, f.bytes = nil, 0
	return queue, bytes, !f.over && !f.lost
}

// run appends the request and the events until the response ends, or until it gives up.
func (f *live) run(request event) {
	defer close(f.done)
	held := request.size()
	defer func() { f.logger.release(held) }()
	if request.data != nil {
		if err := f.stream.Input(f.logger.ctx, request.data, request.arrived); err != nil {
			f.giveUp()
			return
		}
	}
	for {
		if !f.logger.takeSlot() {
			f.giveUp()
			return
		}
		queue, bytes, more := f.take()
		held += bytes
		began := time.Now()
		err := f.append(queue)
		f.logger.freeSlot(time.Since(began))
		if parts := f.stream.Parts(); len(parts) > 0 && errors.Is(err, store.ErrRewound) {
			f.logger.rewound(store.Key{Tenant: f.logger.tenant, Thread: parts[len(parts)-1].Thread})
		}
		if err != nil {
			f.giveUp()
			return
		}
		if len(f.stream.Parts()) > 0 { // until the thread is known, the stream keeps everything
			f.logger.release(held)
			held = 0
		}
		if !more {
			return
		}
		select {
		case <-f.wake:
		case <-f.logger.ctx.Done():
			f.giveUp()
			return
		}
	}
}

// takeSlot waits for a slot. It returns false if the Logger was stopped.
func (l *Logger) takeSlot() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// freeSlot frees the slot of an append that took a time, after its rest.
func (l *Logger) freeSlot(took time.Duration) {
	time.AfterFunc(min(liveRest*took, maxRest), func() { <-l.slots })
}

// append appends events.
func (f *live) append(queue []event) error {
	for _, e := range queue {
		if err := f.stream.Event(f.logger.ctx, e.data, e.arrived); err != nil {
			return err
		}
	}
	return f.stream.Flush(f.logger.ctx)
}

func (f *live) giveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose()
}
