package floors

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// initialization is what a package does before main: how often it allocates memory, how many
// bytes, and for how long it runs.
type initialization struct {
	allocs, bytes int
	milliseconds  float64
}

// The limits for a package of this module, and for one of another module or of Go. A regular
// expression of a few characters already needs more than the limits for ours. The allocations
// are the same on every machine.
func initLimit(name string) initialization {
	if name == "main" || strings.HasPrefix(name, module) {
		return initialization{allocs: 15, bytes: 1000, milliseconds: 0.1}
	}
	return initialization{allocs: 50, bytes: 10_000, milliseconds: 0.1}
}

// costly has the packages that need more than initLimit, with their limits and the reason. Every
// command pays for them, because a program initializes all of its packages when it starts.
var costly = map[string]struct {
	limit initialization
	why   string
}{
	"github.com/prometheus/procfs":                              {initialization{900, 97_000, 1}, "client_golang imports it; it compiles regular expressions"},
	"github.com/prometheus/client_golang/prometheus":            {initialization{260, 66_000, 1}, "registers the metrics of the process in a registry that the program does not use"},
	"github.com/prometheus/client_golang/prometheus/collectors": {initialization{105, 11_500, 0.1}, "compiles regular expressions for names of metrics"},
	"github.com/prometheus/common/model":                        {initialization{80, 5600, 0.1}, "client_golang imports it; it compiles regular expressions"},
	"github.com/prometheus/client_model/go":                     {initialization{30, 14_000, 0.1}, "client_golang describes its metrics in protobuf"},
	"runtime/metrics":                                           {initialization{100, 15_500, 0.2}, "client_golang imports it"},
	"github.com/klauspost/compress/internal/snapref":            {initialization{5, 9300, 1}, "computes a table of CRC-32C for Snappy, which the decoder of Zstandard can convert"},
	"github.com/klauspost/compress/flate":                       {initialization{20, 27_000, 0.1}, "computes the codes of deflate, for bundles"},
	"github.com/pressly/goose/v3":                               {initialization{130, 12_000, 0.1}, "compiles regular expressions; the event logs need it"},
	"modernc.org/libc":                                          {initialization{15, 1000, 0.5}, "fills the tables of a C library"},
	"modernc.org/sqlite/lib":                                    {initialization{0, 0, 0.5}, "fills the tables of SQLite"},
	"github.com/dustin/go-humanize":                             {initialization{125, 9500, 0.1}, "modernc.org/libc imports it; it computes large numbers"},
	"github.com/acarl005/stripansi":                             {initialization{105, 11_000, 0.1}, "mpb imports it; it compiles a regular expression"},
	"encoding/xml":                                              {initialization{10, 19_000, 0.1}, "fills a table of the entities of HTML"},
	"unicode":                                                   {initialization{20, 11_500, 0.1}, "fills the tables of its categories and scripts"},
}

// initAllocs is the limit for the allocations of all packages together.
const initAllocs = 2850

// The program is started at least inits times, and up to maxInits times until no package takes
// longer than its limit. The least of each figure counts, because other programs on the machine only
// add to it.
const inits, maxInits = 20, 500

// traceInits starts the program, and returns what each package did before main.
func traceInits(t *testing.T, program string) map[string]initialization {
	t.Helper()
	cmd := exec.Command(program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("version: %v\n%s", err, trace.String())
	}
	line := regexp.MustCompile(`(?m)^init (\S+) @\S+ ms, (\S+) ms clock, (\d+) bytes, (\d+) allocs$`)
	packages := map[string]initialization{}
	for _, found := range line.FindAllStringSubmatch(trace.String(), -1) {
		milliseconds, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		bytes, _ := strconv.Atoi(found[3])
		allocs, _ := strconv.Atoi(found[4])
		packages[found[1]] = initialization{allocs, bytes, milliseconds}
	}
	if len(packages) < 50 {
		t.Fatalf("only %d packages are in the trace:\n%s", len(packages), trace.String())
	}
	return packages
}

// slow reports whether a package takes longer than its limit.
func slow(packages map[string]initialization) bool {
	for name, p := range packages {
		if p.milliseconds > max(initLimit(name).milliseconds, costly[name].limit.milliseconds) {
			return true
		}
	}
	return false
}

// TestInit checks what the packages of the program do before main, which is the same for every
// command. TestNothingAtStartUp reads only the files of this module.
func TestInit(t *testing.T) {
	program := filepath.Join(t.TempDir(), "p20export")
	build := exec.Command("go", "build", "-trimpath", "-o", program, module+"/cmd/p20export")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	least := traceInits(t, program)
	for i := 1; i < inits || i < maxInits && slow(least); i++ {
		for name, p := range traceInits(t, program) {
			l, ok := least[name]
			if !ok {
				l = p
			}
			least[name] = initialization{min(l.allocs, p.allocs), min(l.bytes, p.bytes), min(l.milliseconds, p.milliseconds)}
		}
	}
	var sum initialization
	for _, name := range slices.Sorted(maps.Keys(least)) {
		p := least[name]
		sum.allocs, sum.bytes, sum.milliseconds = sum.allocs+p.allocs, sum.bytes+p.bytes, sum.milliseconds+p.milliseconds
		limit := initLimit(name)
		if c, ok := costly[name]; ok {
			if p.allocs <= limit.allocs && p.bytes <= limit.bytes && c.limit.milliseconds <= limit.milliseconds {
				t.Errorf("before main, %s allocates only %d times and %d bytes: remove it from the table", name, p.allocs, p.bytes)
			}
			limit = c.limit
		}
		if p.allocs > limit.allocs || p.bytes > limit.bytes || p.milliseconds > limit.milliseconds {
			t.Errorf("before main, %s allocates %d times and %d bytes, and takes %.3f ms; its limits are %d, %d and %.1f ms", name, p.allocs, p.bytes, p.milliseconds, limit.allocs, limit.bytes, limit.milliseconds)
		}
	}
	for name := range costly {
		if _, ok := least[name]; !ok {
			t.Errorf("%s is not in the program: remove it from the table", name)
		}
	}
	if sum.allocs > initAllocs {
		t.Errorf("before main, all packages together allocate %d times; the limit is %d: GODEBUG=inittrace=1 lists them", sum.allocs, initAllocs)
	}
	t.Logf("%d packages: %d allocations, %d bytes, %.2f ms", len(least), sum.allocs, sum.bytes, sum.milliseconds)
}
