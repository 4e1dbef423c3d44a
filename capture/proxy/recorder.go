package proxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/internal/exchange"
)

// Recorder records exchanges as captures in one directory. It is safe for concurrent use.
type Recorder struct {
	settings *Settings
	queued   atomic.Int64 // bytes that wait to be written, and the memory of recordings
	open     atomic.Int64 // recordings that are not closed
	closing  sync.WaitGroup
	spare    blocks
	events   *memory
	slots    *slots
	create   func(root *os.Root, name string, s capture.Settings) (storage, error)
}

// ErrStorage reports that a capture ended because it could not be stored.
var ErrStorage = errors.New("the capture cannot be stored")

// The reasons for which a capture ends although no write failed.
var (
	errQueueFull = fmt.Errorf("%w: the queue is full", ErrStorage)
	errRequest   = fmt.Errorf("%w: the request is too large for what is left of the queue", ErrStorage)
	errTooMany   = fmt.Errorf("%w: too many earlier captures are not closed", ErrStorage)
)

// NewRecorder returns a Recorder. It uses only the settings about captures, and fails if no
// capture can be created with them.
func NewRecorder(s Settings) (*Recorder, error) {
	if err := s.normalize(); err != nil {
		return nil, err
	}
	// The largest capture.json that an exchange can cause.
	err := capture.CheckCreate(filepath.Join(s.Captures.Name(), newName(time.Now())), capture.Settings{
		Source: capture.Source{
			Kind: capture.KindProxy, Method: http.MethodPost, URL: "http://localhost/" + strings.Repeat("x", 3*exchange.HeaderBytes), Status: new(999),
			ContentType: strings.Repeat("\x00", exchange.HeaderBytes), // six bytes each in JSON
		},
		Labels: s.Labels, Tool: s.Tool,
	})
	if err != nil {
		return nil, err
	}
	return &Recorder{
		settings: &s,
		events:   &memory{most: s.QueueBytes},
		slots:    newSlots(),
		create: func(root *os.Root, name string, s capture.Settings) (storage, error) {
			return capture.CreateIn(root, name, s)
		},
	}, nil
}

// reserve reserves n bytes of the queue, if there is room.
func (r *Recorder) reserve(n int64) bool {
	if r.queued.Add(n) > r.settings.QueueBytes {
		r.queued.Add(-n)
		return false
	}
	r.settings.Observer.Queued(int(n))
	return true
}

// release gives back n reserved bytes.
func (r *Recorder) release(n int64) {
	if n != 0 {
		r.queued.Add(-n)
		r.settings.Observer.Queued(int(-n))
	}
}

// report reports that something could not be stored.
func (r *Recorder) report(err error) {
	r.settings.Log.Error("storing failed", "error", err)
	r.settings.Observer.StoreFailed(err)
}

// Begin begins to record a response. The name of the capture directory consists of the
// time of the request and random characters. The settings have the source, the framing,
// the start and labels in addition to those of all captures. request is the request body, as far as it was read, or nil. failed is
// called if the capture cannot be written.
func (r *Recorder) Begin(s capture.Settings, request *RequestBody, failed func(error)) *Recording {
	labels := maps.Clone(r.settings.Labels)
	if labels == nil {
		labels = s.Labels
	} else {
		maps.Copy(labels, s.Labels)
	}
	s.Labels, s.Tool, s.Arrivals = labels, r.settings.Tool, true
	g := &Recording{
		recorder: r, settings: s, request: request, failed: failed,
		wake: make(chan struct{}, 1), full: make(chan struct{}, 1), ended: make(chan struct{}), over: make(chan struct{}),
	}
	if request != nil && request.dropped() {
		g.stop(capture.EndStorage)
	}
	r.closing.Add(1)
	// Recordings of ended exchanges pile up if the disk hangs.
	full := r.queued.Load() >= r.settings.QueueBytes
	r.queued.Add(recordingBytes)
	switch many := r.open.Add(1) > 2*int64(r.settings.MaxExchanges); {
	case full:
		g.abandoned = errQueueFull
	case many:
		g.abandoned = errTooMany
	}
	if g.abandoned != nil {
		g.stop(capture.EndStorage)
	}
	go g.run()
	return g
}

// Wait waits until all recordings are closed, or until ctx is done and another grace has
// passed. It returns the number of those that are not closed. Begin must not be called
// any more.
func (r *Recorder) Wait(ctx context.Context, grace time.Duration) int {
	done := make(chan struct{})
	go func() {
		r.closing.Wait()
		close(done)
	}()
	select {
	case <-done:
		return 0
	case <-ctx.Done():
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-done:
		return 0
	case <-t.C:
		return int(r.open.Load())
	}
}

// newName returns the name of a capture directory for a request that arrived at the given
// time.
func newName(at time.Time) string { return timeInName(at) + "-" + strings.ToLower(rand.Text()[:10]) }

// storage is a *capture.Writer.
type storage interface {
	WriteArrived(p []byte, arrivals []capture.Arrival) (int, error)
	Sync() error
	SetRequest(body []byte) error
	Close(end capture.End) (*capture.Manifest, error)
	Leftovers() []string
}

// slots limit the file calls that are made at a time. Each keeps a thread of the system
// until it returns, which may take long or for ever if the disk is slow or hangs. What has
// no slot waits in memory.
type slots struct {
	writing chan struct{} // for calls that only write
	syncing chan struct{} // for Sync
	storing chan struct{} // for calls that create or close a capture, with syncs
}

// The numbers of slots, apart from those for Sync. Many captures can be created and closed
// at a time because file systems do their syncs together.
const (
	writeSlots = 8
	storeSlots = 16
)

// newSlots returns free slots. A goroutine in a system call keeps its processor for up to
// 10 ms, until the runtime takes it back. So one processor is left for passing bytes on
// while captures are synced.
func newSlots() *slots {
	return &slots{
		writing: make(chan struct{}, writeSlots),
		syncing: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		storing: make(chan struct{}, storeSlots),
	}
}

// take waits for a slot and returns a function that frees it.
func take(slot chan struct{}) (free func()) {
	slot <- struct{}{}
	return func() { <-slot }
}

// begin creates a capture whose calls wait for slots.
func (r *Recorder) begin(name string, s capture.Settings) (storage, error) {
	defer take(r.slots.storing)()
	w, err := r.create(r.settings.Captures, name, s)
	if err != nil {
		return nil, err
	}
	return &slotted{w, r.slots}, nil
}

// slotted is a storage whose calls wait for slots.
type slotted struct {
	storage
	*slots
}

func (w *slotted) WriteArrived(p []byte, arrivals []capture.Arrival) (int, error) {
	defer take(w.writing)()
	return w.storage.WriteArrived(p, arrivals)
}

func (w *slotted) Sync() error {
	defer take(w.syncing)()
	return w.storage.Sync()
}

func (w *slotted) SetRequest(body []byte) error {
	defer take(w.storing)()
	return w.storage.SetRequest(body)
}

func (w *slotted) Close(end capture.End) (*capture.Manifest, error) {
	defer take(w.storing)()
	return w.storage.Close(end)
}
