//go:build peer

package peer_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/project/lint/peer"
)

var (
	large   = flag.Int64("large", 1_000_000, "the size of the response of TestPeerLarge, in bytes")
	program = flag.String("program", "", "the program to measure (default: built from this repository)")
	measure = flag.Bool("measure", false, "write the measured figures to docs/peers.md")
)

// TestPeerLarge lets both programs check one large file, three times each in turn. The
// figures depend on the machine, so only -measure writes them.
func TestPeerLarge(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large.sse")
	events := writeLarge(t, file, *large)
	ours := *program
	if ours == "" {
		ours = filepath.Join(t.TempDir(), "p20export")
		if out, err := exec.Command("go", "build", "-trimpath", "-o", ours, "../../../cmd/p20export").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var a, b []usage
	for range 3 {
		a = append(a, used(t, ours, "lint", "--format", "json", file))
		b = append(b, used(t, peer.Python(t), "-m", "ag_ui_validate.cli", "--json", file))
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%d MB in %d events, as server-sent events; %d processors (%s/%s).\n\n", *large/1_000_000, events, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	table.WriteString("| program | wall (s) | CPU (s) | peak memory (MiB) |\n|---|--:|--:|--:|\n")
	table.WriteString(median(a).row("`p20export lint`") + median(b).row("`ag-ui-validate`"))
	t.Log("\n" + table.String())
	if *measure {
		*update = true
		readPage(t).compare(t, "measured", table.String())
	}
}

// writeLarge writes captured runs, one after the other, until the file has a size, and returns
// the number of events. Threads and runs have new ids, so that the runs are those of one
// thread.
func writeLarge(t *testing.T, path string, size int64) (events int) {
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var bases []stream
	for _, s := range captures(t) {
		if *s.Status == 200 && len(s.events) > 4 && strings.Contains(s.events[0], `"RUN_STARTED"`) && strings.Contains(s.events[len(s.events)-1], `"RUN_FINISHED"`) {
			bases = append(bases, s)
		}
	}
	if len(bases) < 150 {
		t.Fatalf("only %d captures can be repeated", len(bases))
	}
	for run := 0; size > 0; run++ {
		s := bases[run%len(bases)]
		var started struct{ ThreadID, RunID string }
		if err := json.Unmarshal([]byte(s.events[0]), &started); err != nil {
			t.Fatal(err)
		}
		body := bytes.ReplaceAll(s.Body, []byte(quoted(started.RunID)), []byte(fmt.Sprintf(`"run-%d"`, run)))
		body = bytes.ReplaceAll(body, []byte(quoted(started.ThreadID)), []byte(`"thread"`))
		if _, err := file.Write(body); err != nil {
			t.Fatal(err)
		}
		events += len(s.events)
		size -= int64(len(body))
	}
	return events
}

// usage is what a process used.
type usage struct {
	Wall, CPU float64 // in seconds
	Memory    float64 // in KiB
}

// meter starts a program from a small process, because a process begins with the peak of the
// one that starts it.
const meter = `import json, resource, subprocess, sys, time
start = time.monotonic()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
wall = time.monotonic() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"Wall": wall, "CPU": used.ru_utime + used.ru_stime, "Memory": used.ru_maxrss}))
sys.exit(status not in (0, 1))
`

// used runs a program whose standard output is not kept.
func used(t *testing.T, name string, args ...string) (u usage) {
	out, err := exec.Command(peer.Python(t), append([]string{"-I", "-c", meter, name}, args...)...).Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := json.Unmarshal(out, &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// median returns the medians.
func median(all []usage) usage {
	middle := func(of func(usage) float64) float64 {
		var list []float64
		for _, u := range all {
			list = append(list, of(u))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	return usage{middle(func(u usage) float64 { return u.Wall }), middle(func(u usage) float64 { return u.CPU }), middle(func(u usage) float64 { return u.Memory })}
}

func (u usage) row(name string) string {
	return fmt.Sprintf("| %s | %.1f | %.1f | %.0f |\n", name, u.Wall, u.CPU, u.Memory/1024)
}
