package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/captures"
	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// startedAt is the time of the runs whose events have none.
const startedAt = "2026-01-31T12:00:00Z"

// suites measures the tables of the page. Each function returns the text of one.
var suites = map[string]func(*settings) (string, error){
	"one":       (*settings).one,
	"sizes":     (*settings).sizes,
	"commands":  (*settings).commands,
	"scripts":   (*settings).scriptsTable,
	"many":      (*settings).many,
	"unchecked": (*settings).unchecked,
	"machine":   (*settings).machine,
}

// suiteNames lists the tables in the order in which they are measured.
func suiteNames() []string {
	return []string{"one", "sizes", "commands", "scripts", "many", "unchecked", "machine"}
}

// one compares the largest captures of every shape with hashing them.
func (s *settings) one() (string, error) {
	t := newTable("capture", "openssl", false)
	for _, shape := range captures.Shapes() {
		path, err := s.capture(shape, s.large)
		if err != nil {
			return "", err
		}
		label := fmt.Sprintf("%s, %s", shape, bytesOf(s.large))
		openssl, freeze := []string{"openssl", "dgst", "-sha256", path}, s.freeze(path)
		for _, pinned := range []bool{false, true} {
			reference := &contender{name: "openssl dgst -sha256", command: fixed(openssl...)}
			all := []*contender{reference, {name: "p20export freeze", command: freeze}}
			where := label
			if pinned {
				where += ", on one core"
				for _, c := range all {
					c.command = pin(c.command)
				}
			} else {
				all = slices.Insert(all, 1, &contender{name: "Go: open, read, hash", command: fixed(s.bin("hash"), path)})
			}
			if err := s.measure(all); err != nil {
				return "", err
			}
			t.group(where, all)
		}
	}
	return t.String() + page.Measured(s.rounds), nil
}

// sizes compares captures of growing size with hashing them.
func (s *settings) sizes() (string, error) {
	t := newTable("capture", "openssl", false)
	for _, size := range slices.Compact(slices.Sorted(slices.Values([]int64{1_000, 64_000, 1_000_000, 16_000_000, s.slow}))) {
		path, err := s.capture(captures.ADK, size)
		if err != nil {
			return "", err
		}
		all := []*contender{
			{name: "openssl dgst -sha256", command: fixed("openssl", "dgst", "-sha256", path)},
			{name: "p20export freeze", command: s.freeze(path)},
		}
		if err := s.measure(all); err != nil {
			return "", err
		}
		t.group("adk, "+bytesOf(size), all)
	}
	return t.String() + page.Measured(s.rounds), nil
}

// commands compares other commands with freeze.
func (s *settings) commands() (string, error) {
	path, err := s.capture(captures.Timestamped, s.large)
	if err != nil {
		return "", err
	}
	freeze := s.freeze(path)
	argv, err := freeze()
	if err != nil {
		return "", err
	}
	if _, err := s.run(0, argv...); err != nil {
		return "", err
	}
	frozen := filepath.Join(argv[slices.Index(argv, "-o")+1], strings.TrimSuffix(filepath.Base(path), ".sse"))
	html := filepath.Join(s.dir, "out", "report.html")
	report := func() ([]string, error) {
		err := os.RemoveAll(html)
		return []string{s.program, "report", path, "-o", html}, err
	}
	all := []*contender{
		{name: "p20export freeze", command: freeze},
		{name: "p20export inspect", command: fixed(s.program, "inspect", path)},
		{name: "p20export compare", command: fixed(s.program, "compare", path), status: 1}, // the snapshot may lack older messages
		{name: "p20export verify", command: fixed(s.program, "verify", frozen+".artifact.json", "--record", frozen+".record.json", "--capture", path)},
		{name: "p20export report", command: report},
	}
	if err := s.measure(all); err != nil {
		return "", err
	}
	t := newTable("capture", "freeze", false)
	t.group("timestamped, "+bytesOf(s.large), all)
	return t.String() + page.Measured(s.rounds), nil
}

// scriptsTable compares the scripts with the program.
func (s *settings) scriptsTable() (string, error) {
	t := newTable("capture", "p20export", false)
	for _, shape := range []captures.Shape{captures.ADK, captures.Timestamped, captures.LangGraph} {
		path, err := s.capture(shape, s.slow)
		if err != nil {
			return "", err
		}
		all := []*contender{{name: "p20export freeze", command: s.freeze(path)}}
		for _, p := range s.peers() {
			all = append(all, &contender{name: p.name, command: fixed(append(p.command, path)...)})
		}
		if err := s.measure(all); err != nil {
			return "", err
		}
		t.group(fmt.Sprintf("%s, %s", shape, bytesOf(s.slow)), all)
	}
	return t.String() + page.Measured(s.rounds), nil
}

// many compares the freezing of many small captures with hashing them, and with writing as
// many files.
func (s *settings) many() (string, error) {
	small := filepath.Join(s.dir, "small-"+strconv.Itoa(s.count))
	if err := s.generate("-shape", string(captures.Timestamped), "-count", strconv.Itoa(s.count), "-bytes", "4k", small); err != nil {
		return "", err
	}
	jobs, list := strconv.Itoa(s.jobs), small+".list"
	freeze := []string{s.program, "freeze", "--jobs", jobs, "--format", "json"}
	existing := small + "-frozen"
	skip := append(slices.Clone(freeze), "--from-list", list, "-o", existing, "--skip-existing")
	if _, err := s.run(0, skip...); err != nil { // freezes what an earlier run has not
		return "", err
	}
	sizes, err := writeSizes(existing)
	if err != nil {
		return "", err
	}
	orjson := append(slices.Clone(s.peers()[0].command), "--jobs", jobs, "--texts", "--list", list)
	rows := []*contender{
		{name: "Go: open, read, hash", command: fixed(s.bin("hash"), "-jobs", jobs, "-list", list), countSyncs: true},
		{name: "p20export freeze --inline --from-list", command: fixed(append(slices.Clone(freeze), "--inline", "--from-list", list)...), countSyncs: true},
		{name: "p20export freeze --inline --from-tar", command: fixed(append(slices.Clone(freeze), "--inline", "--from-tar", small+".tar")...), countSyncs: true},
		{name: "p20export freeze --skip-existing, all exist", command: fixed(skip...), countSyncs: true},
		{name: "orjson, " + jobs + " processes", command: fixed(orjson...), countSyncs: true},
	}
	files := []*contender{
		{name: "Go: write, link, no sync", command: s.toNew("link", s.bin("link"), "-jobs", jobs, "-sizes", sizes), countSyncs: true},
		{name: "p20export freeze --from-list", command: s.toNew("many", append(slices.Clone(freeze), "--from-list", list)...), countSyncs: true},
	}
	if err := errors.Join(s.measure(rows), s.measure(files)); err != nil {
		return "", err
	}
	t := newTable("output", "first", true)
	t.group("rows", rows)
	t.group("files", files)
	return t.String() + page.Measured(s.rounds), nil
}

// writeSizes writes the sizes and names of the files of frozen captures, for the program
// link, and returns the path of that list.
func writeSizes(dir string) (string, error) {
	records, err := filepath.Glob(filepath.Join(dir, "*.record.json"))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, record := range records {
		base := strings.TrimSuffix(record, ".record.json")
		for _, end := range []string{".artifact.json", ".envelope.ndjson", ".record.json"} {
			info, err := os.Stat(base + end)
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&b, info.Size(), filepath.Base(base+end))
		}
	}
	return dir + ".sizes", page.WriteFile(dir+".sizes", []byte(b.String()))
}

// freeze returns the command that freezes a capture to a new directory.
func (s *settings) freeze(path string) func() ([]string, error) {
	return s.toNew("frozen", s.program, "freeze", path, "--started-at", startedAt)
}

// toNew adds a new directory for the output to a command. The directory stays, because
// deleting many files slows the file system for a while.
func (s *settings) toNew(name string, argv ...string) func() ([]string, error) {
	return func() ([]string, error) {
		out := filepath.Join(s.dir, "out")
		if err := os.MkdirAll(out, 0o777); err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp(out, name+"-")
		return append(slices.Clone(argv), "-o", dir), err
	}
}

// pin runs a command on the first core.
func pin(command func() ([]string, error)) func() ([]string, error) {
	return func() ([]string, error) {
		argv, err := command()
		return append([]string{"taskset", "-c", "0"}, argv...), err
	}
}

func (s *settings) bin(name string) string { return filepath.Join(s.dir, "bin", name) }

// capture returns the path of a generated capture.
func (s *settings) capture(shape captures.Shape, size int64) (string, error) {
	path := filepath.Join(s.dir, fmt.Sprintf("%s-%d.sse", shape, size))
	return path, s.generate("-shape", string(shape), "-bytes", strconv.FormatInt(size, 10), path)
}

// generate runs the generator, which leaves existing captures as they are. It is another
// process, because the memory of this one is part of what is measured of its children.
func (s *settings) generate(args ...string) error {
	if out, err := exec.Command(s.bin("generate"), args...).CombinedOutput(); err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}

// bytesOf formats a size.
func bytesOf(n int64) string {
	for i, unit := range []string{"GB", "MB", "KB"} {
		if factor := []int64{1e9, 1e6, 1e3}[i]; n >= factor {
			return strconv.FormatFloat(float64(n)/float64(factor), 'g', 4, 64) + " " + unit
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
