package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// verification is the page that nightly writes.
const verification = "docs/verification.md"

// A part is a lane of nightly, and the lines of its output that are its figures. It is nil if
// the part writes its figures to another page.
type part struct {
	lane
	figures *regexp.Regexp
}

// goTest matches what tests log, except the results of rapid, and tests that failed.
var goTest = regexp.MustCompile(`^(--- FAIL|    \S+\.go:\d+: +[^ \[])`)

var parts = []part{
	{lane{name: "stress", does: "nothing depends on how busy the machine is: make test five times and the lane race twice beside four busy processes", tools: []string{"cc"}}, regexp.MustCompile(`^(suites|race) `)},
	{lane{name: "mutation", does: "the vectors notice when the check of any rule is disabled"}, regexp.MustCompile(`mutant`)},
	{lane{name: "client-streams", does: "our verdicts on 100,000 generated streams, compared with those of AG-UI's reference client", tools: []string{"node", "npm"}}, goTest},
	{lane{name: "soak-proxy", does: "200 streams through proxy for ten minutes, and 10 GiB in one response"}, goTest},
	{lane{name: "soak-sqlite", does: "500 kills of the appender of a SQLite log"}, goTest},
	{lane{name: "soak-postgres", does: "20 kills of PostgreSQL under an appender", tools: []string{"postgres"}}, goTest},
	{lane{name: "soak-serve", does: "500 kills of serve on SQLite, 20 on PostgreSQL", tools: []string{"postgres"}}, goTest},
	{lane{name: "trials", does: "1,000 trials of serve on each log", tools: []string{"postgres"}}, goTest},
	{lane{name: "discovery", does: "every scenario from every harness, compared with the committed captures", tools: []string{"python3", "node", "npm", "java", "mvn"}}, goTest},
	{lane{name: "discovery-drift", does: "the same for older releases of ADK's middleware", tools: []string{"python3"}}, goTest},
	{lane{name: "check-install", does: "the pages for new users and README.md, each in a Debian that has only what its reader has; the container", tools: []string{"debootstrap", "buildah", "postgres", "python3"}}, regexp.MustCompile(`^    --- |^--- (FAIL|PASS: TestContainer)`)},
	{lane{name: "reproducible", does: "everything that is published, built twice, for all systems"}, regexp.MustCompile(`^--- `)},
	{lane{name: "fuzz", does: "each fuzz target for ten minutes"}, regexp.MustCompile(`^(--- FAIL|fuzz: elapsed: \S+, execs: )`)},
	{lane{name: "faults", does: "every system call of file systems fails in every way; kills at 200 points; power loss"}, goTest},
	{lane{name: "bench", does: "start-up, large and hostile files, the largest bundles", tools: []string{"cargo", "cc"}}, regexp.MustCompile(`^[a-z].*[0-9] ?(ms|s|MB|MiB|B/op)\b`)},
	{lane{name: "bench-peers", does: "the tables of benchmarks.md that compare programs", tools: []string{"python3", "node", "npm", "openssl"}}, nil},
	{lane{name: "bench-proxy", does: "the tables of proxy", tools: []string{"nginx"}}, nil},
	{lane{name: "bench-store", does: "the tables of event logs", tools: []string{"postgres", "node", "npm"}}, nil},
	{lane{name: "bench-serve", does: "the tables of serve", tools: []string{"nginx", "postgres"}}, nil},
	{lane{name: "bench-window", does: "the tables of the window", tools: []string{"chromium", "node"}}, nil},
}

// The page has the last maxFigures lines of figures of a part. Lines longer than maxLine dump
// what was counted, and are left out.
const (
	maxFigures = 12
	maxLine    = 200
)

// nightly runs parts one after another, and writes the result of each to the page as soon as
// it is known.
func nightly(ctx context.Context, only, found string) error {
	var known []string
	for _, p := range parts {
		known = append(known, p.name)
	}
	wanted, err := parseNames(only, known)
	if err != nil {
		return fmt.Errorf("ONLY: %w", err)
	}
	var run []part
	var needing []lane
	for _, p := range parts {
		if len(wanted) == 0 || wanted[p.name] {
			run, needing = append(run, p), append(needing, p.lane)
		}
	}
	if err := require(ctx, needing); err != nil {
		return err
	}
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return err
	}
	r := newRunner(os.Stdout)
	for _, p := range run {
		row := row{part: p.name, does: p.does, commit: strings.TrimSpace(string(commit)), date: time.Now().UTC().Format(time.DateOnly), found: found}
		before := load()
		res := r.run(ctx, p.lane)
		if ctx.Err() != nil {
			break
		}
		row.load, row.duration, row.result = before+" to "+load(), seconds(res.time), res.note
		figures, err := p.read()
		if err != nil {
			return err
		}
		if err := write(row, figures); err != nil {
			return err
		}
	}
	return r.close(false)
}

// read returns the figures in the log of the part.
func (p part) read() ([]string, error) {
	if p.figures == nil {
		return nil, nil
	}
	text, err := os.ReadFile(logs + "/" + p.name + ".log")
	if err != nil {
		return nil, err
	}
	return p.choose(string(text)), nil
}

// choose returns the figures in a log, the last ones if there are too many.
func (p part) choose(log string) []string {
	var figures []string
	var targets, executions, last int // of fuzz
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, " \n")
		if strings.HasPrefix(line, "Fuzz") {
			targets, executions, last = targets+1, executions+last, 0
		}
		if p.figures.MatchString(line) && len(line) <= maxLine {
			if _, err := fmt.Sscanf(line, "fuzz: elapsed: %s execs: %d", new(string), &last); err != nil {
				figures = append(figures, line)
			}
		}
	}
	if targets > 0 {
		figures = append(figures, fmt.Sprintf("%d targets, %d executions", targets, executions+last))
	}
	if n := len(figures) - maxFigures; n > 0 {
		figures = append([]string{fmt.Sprintf("… %d more lines", n)}, figures[n:]...)
	}
	return figures
}

// A row is what the page says about the last time that a part ran.
type row struct{ part, does, commit, date, load, duration, result, found string }

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |", r.part, r.does, r.commit, r.date, r.load, r.duration, r.result, r.found)
}

const verificationHead = `# Verification

What takes hours to check, and when it was last checked. ` + "`make nightly`" + ` runs every part and writes this page; ` + "`make nightly ONLY=fuzz,mutation`" + ` runs some of them, and ` + "`FOUND='...'`" + ` adds what was found. Below the table are the figures that the parts print; those of bench-peers, bench-proxy, bench-store, bench-serve and bench-window are on [another page](benchmarks.md). The load is the one of the last minute, before and after.

Machine: %s

| part | shows | commit | date | load | duration | result | found and mended |
|---|---|---|---|---|---|---|---|
`

// write replaces the row and the figures of a part on the page. A part without figures has no
// section.
func write(new row, figures []string) error {
	text, err := os.ReadFile(verification)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	table, sections, _ := strings.Cut(string(text), "\n## ")
	var b bytes.Buffer
	fmt.Fprintf(&b, verificationHead, machine())
	for _, p := range parts {
		old := find(table, "| "+p.name+" | ", "\n")
		if p.name == new.part {
			if cells := strings.Split(old, " | "); new.found == "" && old != "" {
				new.found = strings.TrimSuffix(cells[len(cells)-1], " |")
			}
			old = new.String()
		}
		if old != "" {
			b.WriteString(old + "\n")
		}
	}
	for _, p := range parts {
		old := find("\n## "+sections, "\n## "+p.name+"\n", "\n```\n")
		if p.name == new.part {
			old = ""
			if len(figures) > 0 {
				old = "\n## " + p.name + "\n\n```\n" + strings.Join(figures, "\n")
			}
		}
		if old != "" {
			b.WriteString(old + "\n```\n")
		}
	}
	return os.WriteFile(verification, b.Bytes(), 0o666)
}

// find returns the part of text from start to before the end, or nothing.
func find(text, start, end string) string {
	_, after, ok := strings.Cut(text, start)
	if !ok {
		return ""
	}
	if opened, rest, ok := strings.Cut(after, "```\n"); ok && strings.HasPrefix(start, "\n## ") {
		before, _, _ := strings.Cut(rest, end)
		return start + opened + "```\n" + before
	}
	before, _, _ := strings.Cut(after, end)
	return start + before
}

// machine describes this machine.
func machine() string {
	info := fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kilobytes int
		fmt.Sscanf(string(text), "MemTotal: %d kB", &kilobytes)
		info += fmt.Sprintf(", %d GiB of memory", (kilobytes+1<<19)>>20)
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, model, _ := strings.Cut(string(text), "model name\t: ")
		model, _, _ = strings.Cut(model, "\n")
		info += ", " + model
	}
	return info
}

// load returns the load of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
