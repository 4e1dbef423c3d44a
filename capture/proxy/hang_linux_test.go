package proxy

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/p20export/p20export/capture"
)

// hang makes calls of the writers wait in the system, as for a disk that hangs, until the
// returned function is called.
func hang(t *testing.T, f *fixture, at string) (free func()) {
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(pipe[0]) })
	wait := func() { syscall.Read(pipe[0], make([]byte, 1)) }
	create := f.proxy.recorder.create
	f.proxy.recorder.create = func(root *os.Root, name string, s capture.Settings) (storage, error) {
		if at == "create" {
			wait()
		}
		w, err := create(root, name, s)
		return &hanging{w, at, wait}, err
	}
	free = sync.OnceFunc(func() { syscall.Close(pipe[1]) })
	t.Cleanup(free)
	return free
}

type hanging struct {
	storage
	at   string
	wait func()
}

func (h *hanging) WriteArrived(p []byte, arrivals []capture.Arrival) (int, error) {
	if h.at == "write" {
		h.wait()
	}
	return h.storage.WriteArrived(p, arrivals)
}

func (h *hanging) Close(end capture.End) (*capture.Manifest, error) {
	if h.at == "close" {
		h.wait()
	}
	return h.storage.Close(end)
}

// threads returns the number of threads of this process.
func threads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}

// A store that hangs needs few threads, however many exchanges there are. The clients
// receive everything. Afterwards, everything that fitted into the queue is stored, and the
// rest is reported. This test must not run in parallel, because it counts the threads of the process.
func TestHangingStore(t *testing.T) {
	const exchanges, limit = 500, 64 // some are of package net and of the runtime
	before := threads(t)
	for _, at := range []string{"create", "write", "close"} {
		for name, queue := range map[string]int64{"room": 0, "full": exchanges / 2 * recordingBytes} {
			if name == "full" && at != "create" {
				continue
			}
			t.Run(at+"/"+name, func(t *testing.T) {
				upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", "text/event-stream")
					io.WriteString(w, twoEvents)
				})
				f := start(t, upstream, func(s *Settings) { s.QueueBytes = queue })
				free := hang(t, f, at)
				var clients sync.WaitGroup
				for range exchanges {
					clients.Go(func() {
						response, err := http.Post(f.front.URL, "application/json", strings.NewReader("{}"))
						if err != nil {
							t.Error(err)
							return
						}
						defer response.Body.Close()
						if b, err := io.ReadAll(response.Body); err != nil || string(b) != twoEvents {
							t.Errorf("%q, %v", b, err)
						}
					})
				}
				clients.Wait()
				if n := threads(t); n > before+limit {
					t.Errorf("%d threads, and %d before", n, before)
				}
				free()
				stored, whole := 0, 0
				for range exchanges {
					x := <-f.ended
					if x.Stored {
						stored++
					}
					if x.Stored && x.End == capture.EndEOF {
						whole++
					}
				}
				switch {
				case name == "room" && whole != exchanges:
					t.Errorf("%d stored, %d of them whole", stored, whole)
				case name == "full" && (whole == 0 || stored >= exchanges):
					t.Errorf("%d stored, %d of them whole", stored, whole)
				}
				f.mu.Lock()
				defer f.mu.Unlock()
				if f.queued != 0 || f.proxy.recorder.queued.Load() != 0 || len(f.failed) < exchanges-whole {
					t.Errorf("%d bytes are queued, %d failures", f.queued, len(f.failed))
				}
				for _, err := range f.failed {
					if !errors.Is(err, errQueueFull) && !errors.Is(err, errRequest) { // or a request before it
						t.Error(err)
					}
				}
			})
		}
	}
}
