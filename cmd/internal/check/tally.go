package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

const module = "github.com/p20export/p20export/"

// counts are numbers of tests. A test with subtests counts as its subtests.
type counts struct{ passed, failed, skipped int }

func (c *counts) add(other counts) {
	c.passed += other.passed
	c.failed += other.failed
	c.skipped += other.skipped
}

// A suite is what a lane tested of one top-level directory.
type suite struct {
	name string
	time time.Duration // the sum over its packages, which run at the same time
	counts
}

// A tally reads the output of a lane: lines of go test -json, which it counts, and other
// lines. It keeps the output of tests that failed.
type tally struct {
	log      io.Writer
	suites   map[string]*suite
	outputs  map[string]*bytes.Buffer // by package and test, until it passed
	parents  map[string]bool
	failures bytes.Buffer
	last     [][]byte // the last lines that are not JSON
}

func newTally(log io.Writer) *tally {
	return &tally{log: log, suites: map[string]*suite{}, outputs: map[string]*bytes.Buffer{}, parents: map[string]bool{}}
}

// event is a line of go test -json. See go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// read reads the output of a lane to its end.
func (t *tally) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			t.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) line(line []byte) {
	var e event
	if !bytes.HasPrefix(line, []byte(`{"`)) || json.Unmarshal(line, &e) != nil || e.Action == "" {
		t.log.Write(line)
		if t.last = append(t.last, bytes.Clone(line)); len(t.last) > 40 {
			t.last = t.last[1:]
		}
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		io.WriteString(t.log, e.Output)
		if e.Action == "build-output" {
			key = e.ImportPath + " "
		}
		if t.outputs[key] == nil {
			t.outputs[key] = &bytes.Buffer{}
		}
		t.outputs[key].WriteString(e.Output)
	case "build-fail":
		t.fail(e.ImportPath + " ")
	case "run":
		if parent, _, ok := cutLast(e.Test, "/"); ok {
			t.parents[e.Package+" "+parent] = true
		}
	case "pass", "fail", "skip":
		t.end(e, key)
	}
}

// end counts a test, or a package if the event names no test.
func (t *tally) end(e event, key string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(e.Package, module), "/")
	s := t.suites[name]
	if s == nil {
		s = &suite{name: name}
		t.suites[name] = s
	}
	switch leaf := e.Test != "" && !t.parents[key]; {
	case e.Test == "":
		s.time += time.Duration(e.Elapsed * float64(time.Second))
		if e.Action == "fail" && s.failed == 0 {
			s.failed++ // it did not build, or it ended outside a test
		}
	case leaf && e.Action == "pass":
		s.passed++
	case leaf && e.Action == "skip":
		s.skipped++
	case leaf:
		s.failed++
	}
	if e.Action == "fail" {
		t.fail(key)
	}
	delete(t.outputs, key)
	delete(t.parents, key)
}

// fail keeps the output of what failed, up to a megabyte.
func (t *tally) fail(key string) {
	if out := t.outputs[key]; out != nil && t.failures.Len() < 1<<20 {
		t.failures.WriteString("--- " + strings.TrimSpace(key) + "\n")
		t.failures.Write(out.Bytes())
	}
}

// sorted returns the suites by name.
func (t *tally) sorted() []suite {
	var list []suite
	for _, name := range slices.Sorted(maps.Keys(t.suites)) {
		list = append(list, *t.suites[name])
	}
	return list
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
