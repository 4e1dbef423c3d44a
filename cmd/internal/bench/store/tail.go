package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/store"
)

// followRole is the name under which this program follows a thread in a process of its own.
const followRole = "follow"

// followThread is the thread that is followed.
const followThread = "followed"

// followRate is the number of events that are appended in a second.
const followRate = 200

// tail measures how long after the begin of an append another process has the event.
func tail(ctx context.Context, s *settings) (string, error) {
	var t strings.Builder
	t.WriteString(page.Row("log", "follower", "p50 (ms)", "p99 (ms)", "largest (ms)", "append p50 (ms)", "append p99 (ms)"))
	t.WriteString("|---|---|--:|--:|--:|--:|--:|\n")
	for _, name := range s.logs {
		appended, seen, err := s.tail(ctx, name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		follower := "another process"
		if name == logs.Memory {
			follower = "the same process"
		}
		cells := []string{name, follower}
		for _, values := range [][]int64{seen, appended} {
			for _, share := range []float64{0.5, 0.99} {
				cells = append(cells, page.Number(page.Percentile(values, share)/1e6))
			}
		}
		largest := page.Number(page.Percentile(seen, 1) / 1e6)
		t.WriteString(page.Row(slices.Insert(cells, 4, largest)...))
		fmt.Fprintf(os.Stderr, "  %s: p99 %.2f ms\n", name, page.Percentile(seen, 0.99)/1e6)
	}
	return t.String() + fmt.Sprintf("\n%d events, %d in a second, one in an append, measured on %s.\n", s.followed, followRate, page.Today()), nil
}

// tail returns how long appends to a log took, and how long after their begin the follower had
// the events, both sorted.
func (s *settings) tail(ctx context.Context, name string) (appended, seen []int64, err error) {
	l, err := s.open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.CloseAndRemove()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends the follower if anything fails
	output, ended, err := l.startFollower(ctx, s.followed)
	if err != nil {
		return nil, nil, err
	}
	add, err := l.begin(followThread)
	if err != nil {
		return nil, nil, err
	}
	g := newGenerator(followThread)
	if err := add(ctx, g.entries(1)); err != nil {
		return nil, nil, err
	}
	lines := bufio.NewReader(output)
	if _, err := lines.ReadString('\n'); err != nil { // it has the first event
		return nil, nil, errors.Join(fmt.Errorf("the follower sees nothing: %w", err), <-ended)
	}
	ticker := time.NewTicker(time.Second / followRate)
	defer ticker.Stop()
	for range s.followed {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		entries := g.entries(1)
		begun := page.Now()
		if err := add(ctx, entries); err != nil {
			return nil, nil, err
		}
		appended = append(appended, page.Now()-begun)
	}
	err = json.NewDecoder(lines).Decode(&seen)
	if err = errors.Join(err, <-ended); err == nil && len(seen) == 0 {
		err = errors.New("the follower saw no event with a stamp")
	}
	slices.Sort(appended)
	slices.Sort(seen)
	return appended, seen, err
}

// startFollower starts a follower, in another process if that can open the log. The channel
// receives its error when it has ended.
func (l *log) startFollower(ctx context.Context, count int) (io.Reader, <-chan error, error) {
	ended := make(chan error, 1)
	if l.Address == "" {
		read, write := io.Pipe()
		go func() {
			err := followLog(ctx, l.Log, count, write)
			ended <- err
			write.CloseWithError(err)
		}()
		return read, ended, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, self, followRole, l.Name, l.Address, strconv.Itoa(count))
	cmd.Stderr = os.Stderr
	read, write := io.Pipe()
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	go func() {
		err := cmd.Wait()
		ended <- err
		write.CloseWithError(err)
	}()
	return read, ended, nil
}

// follow opens a log and follows the thread. The arguments are the name of the log, its
// address and the number of events.
func follow(ctx context.Context, args []string) (err error) {
	if len(args) != 3 {
		return errors.New("give a log, its address and a number")
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	l, err := logs.OpenAddress(ctx, args[0], args[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return followLog(ctx, l, count, os.Stdout)
}

// followLog follows the thread. It prints a line when it has the first entry, and after count
// more the latencies of those that have a stamp.
func followLog(ctx context.Context, l store.Log, count int, w io.Writer) error {
	latencies := make([]int64, 0, count)
	n := 0
	for e, err := range l.Follow(ctx, store.Key{Thread: followThread}, 0) {
		if err != nil {
			return err
		}
		arrived := page.Now()
		if e.Position != int64(n+1) {
			return fmt.Errorf("position %d follows %d", e.Position, n)
		}
		if stamp, ok := stampOf(e.Data); ok {
			latencies = append(latencies, arrived-stamp)
		}
		if n++; n == 1 {
			if _, err := fmt.Fprintln(w, "ready"); err != nil {
				return err
			}
		}
		if n > count {
			break
		}
	}
	return json.NewEncoder(w).Encode(latencies)
}
