package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

// logs is the directory of the complete output of each lane.
const logs = ".build/check"

// A result is a row of the closing table.
type result struct {
	name   string
	note   string // passed, failed, skipped: why
	time   time.Duration
	suites []suite
	counts
}

// A runner runs lanes, and prints a line when one ends.
type runner struct {
	w       io.Writer
	start   time.Time
	mu      sync.Mutex
	results []result
}

func newRunner(w io.Writer) *runner { return &runner{w: w, start: time.Now()} }

// runAll runs lanes, up to jobs at the same time and in their order.
func (r *runner) runAll(ctx context.Context, of []lane, jobs int) {
	var group sync.WaitGroup
	free := make(chan struct{}, jobs)
	for _, l := range of {
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-free }()
			r.run(ctx, l)
		})
	}
	group.Wait()
}

// run runs make with the lane as its target. The target passes GOTESTFLAGS to go test.
func (r *runner) run(ctx context.Context, l lane, settings ...string) result {
	res := result{name: l.name, note: "passed"}
	start := time.Now()
	t, err := capture(ctx, l.name, append([]string{l.name}, settings...))
	res.time = time.Since(start)
	if t != nil {
		res.suites = t.sorted()
		for _, s := range res.suites {
			res.add(s.counts)
		}
	}
	switch {
	case ctx.Err() != nil:
		res.note = "interrupted"
		res.failed = max(res.failed, 1)
	case err != nil:
		res.note = "failed"
		res.failed = max(res.failed, 1)
	case len(res.suites) == 0:
		res.passed = 1 // a lane that is not go test
	case res.passed == 0:
		err, res.note, res.failed = fmt.Errorf("no test ran"), "failed: no test ran", 1
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, res)
	fmt.Fprintf(r.w, "%-12s  %-7s  %7s  after %s\n", l.name, res.note, seconds(res.time), seconds(time.Since(r.start)))
	if err != nil && ctx.Err() == nil {
		if t != nil {
			t.failures.WriteTo(r.w)
			r.w.Write(bytes.Join(t.last, nil))
		}
		fmt.Fprintf(r.w, "check: lane %s: %v; the whole output is in %s/%s.log\n", l.name, err, logs, l.name)
	}
	return res
}

// capture runs make and reads its output, which it also writes to a file.
func capture(ctx context.Context, name string, args []string) (*tally, error) {
	if err := os.MkdirAll(logs, 0o777); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(logs, name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory"}, args...)...)
	cmd.Env = append(os.Environ(), "GOTESTFLAGS=-json")
	cmd.Stdout, cmd.Stderr = in, in
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	err = cmd.Start()
	in.Close()
	if err != nil {
		return nil, err
	}
	t := newTally(log)
	// Processes that a lane left behind keep the pipe open, and the lane waits for them.
	read := t.read(out)
	if err := cmd.Wait(); err != nil {
		return t, err
	}
	return t, read
}

// close prints the closing table, with a row for each suite or for each lane, and the
// numbers of tests. It returns an error if anything failed.
func (r *runner) close(suites bool) error {
	fmt.Fprintln(r.w)
	table := tabwriter.NewWriter(r.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var total counts
	if suites {
		fmt.Fprintln(table, "suite\ttime\tpassed\tfailed\tskipped\t")
	} else {
		fmt.Fprintln(table, "lane\ttime\tpassed\tfailed\tskipped\t  result")
	}
	for _, res := range r.results {
		total.add(res.counts)
		if !suites {
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t  %s\n", res.name, seconds(res.time), res.passed, res.failed, res.counts.skipped, res.note)
			continue
		}
		for _, s := range res.suites {
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t\n", s.name, seconds(s.time), s.passed, s.failed, s.skipped)
		}
	}
	table.Flush()
	fmt.Fprintf(r.w, "\nin %s\n%d passed, %d failed, %d skipped\n", seconds(time.Since(r.start)), total.passed, total.failed, total.skipped)
	if total.failed > 0 {
		return fmt.Errorf("%d failed", total.failed)
	}
	return nil
}

func seconds(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }
