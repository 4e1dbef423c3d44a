package proxy

import (
	"runtime"

	"github.com/p20export/p20export/capture"
)

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
