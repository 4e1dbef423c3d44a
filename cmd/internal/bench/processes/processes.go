// Package processes runs the processes of benchmarks of servers, and reads what they use.
package processes

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// A Process is a running child.
type Process struct {
	cmd *exec.Cmd
	// Stored receives the time of each line of the log that says that an exchange is stored.
	Stored chan time.Time
}

// Start starts a child in a process group of its own, and returns it with its address, which
// the function finds in the first lines of its output. The context stops the child.
func Start(ctx context.Context, find func(line string) (address string), argv ...string) (*Process, string, error) {
	p := &Process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), Stored: make(chan time.Time, 10_000)}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = p.terminate
	p.cmd.WaitDelay = 10 * time.Second
	read, write, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	p.cmd.Stdout, p.cmd.Stderr = write, write
	err = p.cmd.Start()
	write.Close()
	if err != nil {
		read.Close()
		return nil, "", err
	}
	address := make(chan string, 1)
	go func() {
		defer read.Close()
		var once sync.Once
		var printed strings.Builder
		for lines := bufio.NewScanner(read); lines.Scan(); {
			if found := find(lines.Text()); found != "" {
				once.Do(func() { address <- found })
			} else if strings.Contains(lines.Text(), "exchange stored") {
				p.Stored <- time.Now()
			} else if printed.Len() < 4096 {
				fmt.Fprintln(&printed, lines.Text())
			}
		}
		once.Do(func() { fmt.Fprint(os.Stderr, printed.String()); close(address) })
	}()
	found, ok := <-address
	if !ok {
		return nil, "", errors.Join(fmt.Errorf("%s does not say its address", strings.Join(argv, " ")), p.cmd.Wait())
	}
	return p, found, nil
}

// terminate asks all processes of the group to end, since strace passes no signal on.
func (p *Process) terminate() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }

// Stop asks a child to end, and waits for it.
func (p *Process) Stop() error {
	if p == nil {
		return nil
	}
	if err := p.terminate(); err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.cmd.Path, err)
	}
	return nil
}

// FirstLine takes the first line as the address.
func FirstLine(line string) string { return line }

// Listening finds the address in the log of p20export.
func Listening(line string) string {
	var record struct{ Msg, Address string }
	if json.Unmarshal([]byte(line), &record) == nil && record.Msg == "listening" {
		return record.Address
	}
	return ""
}

// group calls a function with the directory in /proc of each process of the group.
func (p *Process) group(visit func(dir string) error) error {
	if p == nil {
		return nil
	}
	leader := strconv.Itoa(p.cmd.Process.Pid)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, path := range stats {
		if fields := statFields(path); len(fields) > 2 && fields[2] == leader {
			if err := visit(filepath.Dir(path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// statFields returns the fields of a stat file after the name of the program, which are state,
// parent, process group and so on (proc(5)), or nil.
func statFields(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil // the process ended
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// CPU returns the user and system time of the group so far, in seconds.
func (p *Process) CPU() (float64, error) {
	var total int64
	err := p.group(func(dir string) error {
		ticks, err := ticksOf(statFields(filepath.Join(dir, "stat")), utime, stime)
		total += ticks
		return err
	})
	return seconds(total), err
}

// FamilyCPU returns the user and system time of a process and of its children so far, also of
// those that have ended, in seconds. When a child ends while they are read, it reads them again, so
// no child is missed.
func FamilyCPU(pid int) (float64, error) {
	parent := strconv.Itoa(pid)
	for range 100 {
		before, err := ticksOf(statFields("/proc/"+parent+"/stat"), cutime, cstime)
		if err != nil {
			return 0, err
		}
		children, err := childrenTicks(parent)
		if err != nil {
			return 0, err
		}
		fields := statFields("/proc/" + parent + "/stat")
		own, err := ticksOf(fields, utime, stime)
		if err != nil {
			return 0, err
		}
		if after, err := ticksOf(fields, cutime, cstime); err != nil || after == before {
			return seconds(own + children + after), err
		}
	}
	return 0, fmt.Errorf("children of process %d end too often to add up their times", pid)
}

// childrenTicks returns the user and system time of the children of a process that have not ended,
// in clock ticks.
func childrenTicks(parent string) (total int64, err error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range stats {
		if fields := statFields(path); len(fields) > 1 && fields[1] == parent {
			ticks, err := ticksOf(fields, utime, stime)
			if err != nil {
				return 0, err
			}
			total += ticks
		}
	}
	return total, nil
}

// Fields of statFields: the times of a process, and of its children that have ended.
const (
	utime = iota + 11
	stime
	cutime
	cstime
)

// ticksOf returns the sum of some times of a process, in clock ticks.
func ticksOf(fields []string, times ...int) (ticks int64, err error) {
	if len(fields) <= cstime {
		return 0, errors.New("a process has ended")
	}
	for _, i := range times {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return ticks, nil
}

// seconds returns how long clock ticks take.
func seconds(ticks int64) float64 { return float64(ticks) / 100 } // USER_HZ is 100 on all platforms of Go

// Parent returns the parent of a process.
func Parent(pid int) (int, error) {
	fields := statFields("/proc/" + strconv.Itoa(pid) + "/stat")
	if len(fields) < 2 {
		return 0, fmt.Errorf("process %d does not run on this machine", pid)
	}
	return strconv.Atoi(fields[1])
}

// Peak returns the sum of the peak memory of the group's processes, in MiB.
func (p *Process) Peak() (float64, error) {
	var kib float64
	err := p.group(func(dir string) error {
		n, err := strconv.ParseFloat(page.Find(filepath.Join(dir, "status"), `VmHWM:\s*(\d+) kB`), 64)
		kib += n
		return err
	})
	return kib / 1024, err
}
