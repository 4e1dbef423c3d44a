package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// A measurement is what one run of a program took.
type measurement struct {
	wall, cpu float64 // in seconds
	rss       float64 // the peak of the largest process, in MiB
}

// run runs a command and measures it. Its output is discarded. The exit status may be at most
// status.
func (s *settings) run(status int, argv ...string) (measurement, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stderr = s.dir, &stderr
	started := time.Now()
	err := cmd.Run()
	wall := time.Since(started).Seconds()
	state := cmd.ProcessState
	if err != nil && (state == nil || state.ExitCode() < 0 || state.ExitCode() > status) {
		return measurement{}, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, stderr.Bytes())
	}
	return measurement{
		wall: wall,
		cpu:  (state.UserTime() + state.SystemTime()).Seconds(),
		rss:  float64(state.SysUsage().(*syscall.Rusage).Maxrss) / 1024,
	}, nil
}

// syncCall matches a call in the output of strace. A call that another one interrupts is
// listed a second time, as resumed.
var syncCall = regexp.MustCompile(`(?m)^[0-9]+ +(fsync|fdatasync|syncfs|sync|sync_file_range|msync)\(`)

// syncs counts the system calls of a command that wait for the disk.
func (s *settings) syncs(argv []string) (int, error) {
	trace := filepath.Join(s.dir, "strace.txt")
	options := []string{"strace", "-f", "-qq", "-e", "signal=none", "-e", "trace=fsync,fdatasync,syncfs,sync,sync_file_range,msync", "-o", trace}
	if _, err := s.run(0, append(options, argv...)...); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(trace)
	return len(syncCall.FindAll(text, -1)), err
}

// A contender is a program that is measured.
type contender struct {
	name string
	// command returns the command line. It is called for each run, so that it can name a
	// new directory for output.
	command func() ([]string, error)
	// status is the largest exit status that is not a failure.
	status int
	// countSyncs adds a run that counts the calls that wait for the disk.
	countSyncs bool
	// runs has the measurements, and synced the number of calls.
	runs   []measurement
	synced int
}

// fixed returns a command line that is the same for every run.
func fixed(argv ...string) func() ([]string, error) {
	return func() ([]string, error) { return argv, nil }
}

// measure measures the contenders in turn. Each round begins with another of them. The first
// contender runs once before, so that the files it reads are in memory.
func (s *settings) measure(contenders []*contender) error {
	argv, err := contenders[0].command()
	if err != nil {
		return err
	}
	if _, err := s.run(contenders[0].status, argv...); err != nil {
		return err
	}
	for round := range s.rounds {
		for i := range contenders {
			c := contenders[(round+i)%len(contenders)]
			argv, err := c.command()
			if err != nil {
				return err
			}
			m, err := s.run(c.status, argv...)
			if err != nil {
				return err
			}
			c.runs = append(c.runs, m)
			fmt.Fprintf(os.Stderr, "  round %d of %d: %-40s %9.3f s\n", round+1, s.rounds, c.name, m.wall)
		}
	}
	for _, c := range contenders {
		if !c.countSyncs {
			continue
		}
		argv, err := c.command()
		if err != nil {
			return err
		}
		if c.synced, err = s.syncs(argv); err != nil {
			return err
		}
	}
	return nil
}

// median returns the median of what the function returns for each run.
func (c *contender) median(of func(measurement) float64) float64 {
	var values []float64
	for _, m := range c.runs {
		values = append(values, of(m))
	}
	return page.Median(values)
}

// ratios returns the sorted ratios of the runs of a contender to those of the reference, round by
// round.
func (c *contender) ratios(reference *contender, of func(measurement) float64) []float64 {
	var values []float64
	for i, m := range c.runs {
		values = append(values, of(m)/of(reference.runs[i]))
	}
	slices.Sort(values)
	return values
}

func wall(m measurement) float64 { return m.wall }
func cpu(m measurement) float64  { return m.cpu }
func rss(m measurement) float64  { return m.rss }
