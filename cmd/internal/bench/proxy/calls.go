package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// tracedEvents is the number of events of the stream whose system calls are counted.
const tracedEvents = 1000

// calls counts the system calls of one exchange.
func calls(ctx context.Context, s *settings) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("proxy", "calls on files", "writes", "waits for the disk", "other calls"))
	t.WriteString("|---|--:|--:|--:|--:|\n")
	for _, name := range s.without(direct, nginx, largeQueue) {
		count, err := s.trace(ctx, name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		total := 0
		for _, n := range count.files {
			total += n
		}
		t.WriteString(page.Row(name, fmt.Sprint(total), fmt.Sprint(count.sum(writes)), fmt.Sprint(count.sum(waits)), fmt.Sprint(count.others)))
	}
	return t.String() + fmt.Sprintf("\nOne exchange of %d events, %d in a second, counted with `strace` on %s.\n", tracedEvents, rate, page.Today()), nil
}

var (
	writes = map[string]bool{"write": true, "pwrite64": true, "writev": true, "pwritev": true, "pwritev2": true}
	waits  = map[string]bool{"fsync": true, "fdatasync": true, "syncfs": true, "sync": true, "sync_file_range": true, "msync": true}
)

// A count is the number of system calls on files below the directory of captures, by name, and
// of all other calls.
type count struct {
	files  map[string]int
	others int
}

func (c count) sum(calls map[string]bool) int {
	n := 0
	for call := range calls {
		n += c.files[call]
	}
	return n
}

// trace counts the system calls of a contender from the begin of an exchange until it is
// stored.
func (s *settings) trace(ctx context.Context, name string) (counted count, err error) {
	out := filepath.Join(s.dir, "strace.txt")
	agent, url, err := s.startAgent(ctx)
	if err != nil {
		return count{}, err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	c, err := s.startContender(ctx, name, url, "strace", "-f", "-y", "-qq", "-ttt", "-e", "signal=none", "-s", "0", "-o", out)
	if err != nil {
		return count{}, err
	}
	started := time.Now()
	_, err = s.measure(ctx, c, load{streams: 1, Plan: traffic.Plan{Events: tracedEvents, Rate: rate}})
	ended := time.Now()
	if err = errors.Join(err, c.close()); err != nil {
		return count{}, err
	}
	f, err := os.Open(out)
	if err != nil {
		return count{}, err
	}
	defer f.Close()
	return countCalls(bufio.NewScanner(f), started, ended, c.captures)
}

// call matches the begin of a system call in the output of strace. A call that another one
// interrupts is listed a second time, as resumed, which does not match.
var call = regexp.MustCompile(`^[0-9]+ +([0-9]+\.[0-9]+) ([a-z0-9_]+)\(`)

// countCalls counts the calls between two times.
func countCalls(lines *bufio.Scanner, started, ended time.Time, dir string) (count, error) {
	c := count{files: map[string]int{}}
	for lines.Scan() {
		found := call.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		seconds, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			return count{}, err
		}
		at := time.UnixMicro(int64(seconds * 1e6))
		switch {
		case at.Before(started) || at.After(ended):
		case dir != "" && strings.Contains(lines.Text(), dir):
			c.files[found[2]]++
		default:
			c.others++
		}
	}
	return c, lines.Err()
}
