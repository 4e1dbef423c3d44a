package proxy_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/testkit"
)

var (
	soakTime    = flag.Duration("soak", 2*time.Second, "duration of TestSoak")
	soakMiB     = flag.Int64("large", 64, "MiB of the response of TestSoakLarge")
	soakStreams = flag.Int("streams", 200, "number of streams that TestSoak keeps open")
)

// A use is what the process uses at a point in time.
type use struct {
	goroutines, files int
	heap, resident    uint64
}

// measure collects garbage first.
func measure(t *testing.T) use {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return use{runtime.NumGoroutine(), len(files), m.HeapAlloc, resident(t)}
}

// resident returns the memory of the process that is not swapped out.
func resident(t *testing.T) uint64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseUint(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

func (u use) String() string {
	return fmt.Sprintf("%5d goroutines %5d descriptors %6.1f MiB heap %6.1f MiB resident", u.goroutines, u.files, mib(u.heap), mib(u.resident))
}

func mib(n uint64) float64 { return float64(n) / (1 << 20) }

// most returns the maximum of each value.
func most(list []use) (m use) {
	for _, u := range list {
		m = use{max(m.goroutines, u.goroutines), max(m.files, u.files), max(m.heap, u.heap), max(m.resident, u.resident)}
	}
	return m
}

// total returns the number of exchanges until now.
func (l *load) total() (n int64) {
	for i := range l.counts {
		n += l.counts[i].Load()
	}
	return n
}

// TestSoak keeps many streams open for a time. What the process uses, including the
// clients and the upstream, must not grow. Every capture is checked.
func TestSoak(t *testing.T) {
	listen(t).Close() // the first listener opens descriptors of the runtime
	before := measure(t)
	const samples = 20
	pause := min(100*time.Millisecond, *soakTime/100)
	l, stop := newLoad(t, pause, 60)
	var done atomic.Bool
	var workers sync.WaitGroup
	for i := range *soakStreams {
		workers.Go(func() { l.run(i, func(int) bool { return !done.Load() }) })
	}
	began := time.Now()
	var uses []use
	for len(uses) < samples {
		// On a busy machine, exchanges take longer, and so does warming up.
		time.Sleep(time.Until(began.Add(*soakTime / samples * time.Duration(len(uses)+1))))
		for l.total() < int64(*soakStreams*(len(uses)+1)/samples*3) {
			time.Sleep(time.Millisecond)
		}
		u := measure(t)
		uses = append(uses, u)
		t.Logf("%8s %s", time.Since(began).Round(100*time.Millisecond), u)
	}
	done.Store(true)
	workers.Wait()
	stop()
	t.Logf("%d exchanges of %d streams at once: %d complete, %d clients left, %d upstreams broke off, %d errors, %d unrelated; %.1f MiB",
		l.total(), *soakStreams, l.counts[ends].Load(), l.counts[leaves].Load(), l.counts[breaks].Load(), l.counts[fails].Load(), l.counts[unrelated].Load(), mib(uint64(l.bytes.Load())))
	// The first fifth is for warming up.
	early, late := most(uses[samples/5:samples*3/5]), most(uses[samples*3/5:])
	t.Logf("  at most %s, then %s", early, late)
	if late.goroutines > early.goroutines*11/10+20 || late.files > early.files*11/10+20 ||
		late.heap > early.heap*5/4+16<<20 || late.resident > early.resident*5/4+32<<20 {
		t.Error("what the process uses grows")
	}
	testkit.RequireNames(t, l.front.captures)
	after := measure(t)
	for deadline := time.Now().Add(5 * time.Minute); (after.goroutines > before.goroutines || after.files > before.files) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond) // until what was closed is gone
		after = measure(t)
	}
	t.Logf("  before  %s, after %s", before, after)
	if after.goroutines > before.goroutines || after.files > before.files {
		b := make([]byte, 1<<20)
		t.Errorf("goroutines or descriptors are left:\n%s", b[:runtime.Stack(b, true)])
	}
}

// TestSoakLarge sends a large response as fast as the store writes it. The memory that the
// process uses must not depend on its size.
func TestSoakLarge(t *testing.T) {
	block := strings.Repeat(event(100), 8192)
	blocks := int(*soakMiB << 20 / int64(len(block)))
	before := resident(t)
	var sent digest.Digest
	var peak uint64
	began := time.Now()
	client, _, f := perform(t, play{
		client: ask(post),
		upstream: func(u *side) {
			u.whole()
			u.send(ok, "\r\n")
			h := digest.Hash()
			for range blocks {
				u.front.awaitQueue(16 << 20)
				u.send(block)
				io.WriteString(h, block)
				peak = max(peak, resident(t))
			}
			sent = digest.Sum(h)
		},
	}, true)
	size := int64(blocks) * int64(len(block))
	if len(client) != 1 || client[0].Digest != sent || client[0].Bytes != size || client[0].End != complete {
		t.Errorf("the client received %+v, want %d bytes, %s", client, size, sent)
	}
	if len(f.ended) != 1 {
		t.Fatalf("exchanges: %+v", f.ended)
	}
	x := f.ended[0]
	dir := filepath.Join(f.captures, x.Name)
	if _, err := capture.Check(t.Context(), dir); err != nil {
		t.Error(err)
	}
	m, err := capture.DecodeManifest(testkit.Read(t, filepath.Join(dir, capture.ManifestName)))
	if err != nil {
		t.Fatal(err)
	}
	if m.End != capture.EndEOF || m.Response().Digest != sent || m.Response().Bytes != size {
		t.Errorf("the capture has the end %s and %+v, want %d bytes, %s", m.End, m.Response(), size, sent)
	}
	t.Logf("%.1f MiB in %.1f s; resident memory %.1f MiB before, at most %.1f MiB", mib(uint64(size)), time.Since(began).Seconds(), mib(before), mib(peak))
	if peak > before+256<<20 {
		t.Error("the memory depends on the size of the response")
	}
}
