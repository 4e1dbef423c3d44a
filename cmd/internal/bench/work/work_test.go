//go:build work

package work

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/p20export/p20export/cmd/internal/bench/captures"
)

var update = flag.Bool("update", false, "write the counts to testdata/statements.tsv")

// counted are the packages whose statements are counted: all of the program, and the JSON
// library. The standard library is not, because its statements change with the release of Go.
const counted = "github.com/p20export/p20export/...,github.com/go-json-experiment/json/..."

const (
	counts    = "testdata/statements.tsv"
	tolerance = 0.03
)

// A measurement is one run of the program.
type measurement struct {
	name string
	args []string
}

// The program executes about as many statements for each of six fixed inputs as when the
// counts were written. If it executes more, say why in the commit that writes new counts
// (go test -tags work ./cmd/internal/bench/work -update); if fewer, write them as well, so that
// the gain is kept.
func TestWork(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "p20export")
	build := exec.Command("go", "build", "-cover", "-covermode=atomic", "-coverpkg="+counted, "-o", program, "../../../p20export")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got []string
	want := readCounts(t)
	for _, m := range inputs(t, dir) {
		n := statements(t, program, m.args)
		got = append(got, fmt.Sprintf("%s\t%d\n", m.name, n))
		before, ok := want[m.name]
		switch change := float64(n)/float64(before) - 1; {
		case *update:
			t.Logf("%s: %d statements, %d before", m.name, n, before)
		case !ok:
			t.Errorf("%s: %s has no count", m.name, counts)
		case change > tolerance || change < -tolerance:
			t.Errorf("%s: %d statements, %d before: %+.1f %%", m.name, n, before, 100*change)
		default:
			t.Logf("%s: %d statements, %+.2f %%", m.name, n, 100*change)
		}
	}
	if len(want) != len(got) && !*update {
		t.Errorf("%s has %d counts, and there are %d inputs", counts, len(want), len(got))
	}
	if *update {
		if err := os.WriteFile(counts, []byte(strings.Join(got, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// inputs makes the inputs, and returns what the program does with them.
func inputs(t *testing.T, dir string) []measurement {
	var list []measurement
	for _, shape := range []captures.Shape{captures.ADK, captures.LangGraph, captures.Dense} {
		path := filepath.Join(dir, string(shape)+".sse")
		if err := captures.File(path, shape, 4_000_000, 1); err != nil {
			t.Fatal(err)
		}
		list = append(list, measurement{"freeze " + string(shape), []string{"freeze", "--inline", "--format", "json", "--started-at", "2026-01-31T12:00:00Z", path}})
	}
	small := filepath.Join(dir, "small")
	if err := captures.Small(small, captures.Timestamped, 500, 4_000); err != nil {
		t.Fatal(err)
	}
	adk, log := filepath.Join(dir, "adk.sse"), "sqlite:"+filepath.Join(dir, "log.db")
	return append(list,
		measurement{"freeze 500 small", []string{"freeze", "--inline", "--format", "json", "--jobs", "1", "--from-list", small + ".list"}},
		measurement{"lint adk", []string{"lint", "--format", "json", adk}},
		measurement{"log import adk", []string{"log", "import", "--store", log, "--thread", "t", adk}})
}

// statements runs the program, which must end with status 0 or, for lint, 1, and returns the number of
// statements that it executed.
func statements(t *testing.T, program string, args []string) int64 {
	counters := t.TempDir()
	run := exec.Command(program, args...)
	run.Env = append(os.Environ(), "GOCOVERDIR="+counters, "GOMAXPROCS=2")
	var stderr bytes.Buffer
	run.Stderr = &stderr
	if err := run.Run(); err != nil && (args[0] != "lint" || run.ProcessState.ExitCode() != 1) {
		t.Fatalf("%v: %v\n%s", args, err, stderr.Bytes())
	}
	profile := filepath.Join(t.TempDir(), "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i", counters, "-o", profile).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	total := int64(0)
	lines := bufio.NewScanner(file)
	lines.Scan() // the mode
	for lines.Scan() {
		// FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT
		fields := strings.Fields(lines.Text())
		statements, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		count, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += statements * count
	}
	if lines.Err() != nil || total == 0 {
		t.Fatalf("%d statements, %v", total, lines.Err())
	}
	return total
}

// readCounts returns the counts by the name of the input.
func readCounts(t *testing.T) map[string]int64 {
	data, err := os.ReadFile(counts)
	if err != nil && !*update {
		t.Fatal(err)
	}
	list := make(map[string]int64)
	for line := range strings.Lines(string(data)) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if list[name], err = strconv.ParseInt(count, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return list
}
