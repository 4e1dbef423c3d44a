package testkit

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TraceResult describes the use of files by a program, as seen by the kernel.
type TraceResult struct {
	// Status is the program's exit status. Output is its standard output and standard
	// error.
	Status int
	Output string
	// Opens has the number of opens of each file, Bytes the number of bytes read or
	// mapped, and Syncs the number of syncs, by absolute path. FileSystemSyncs is the
	// number of syncs of whole file systems.
	Opens map[string]int
	Bytes map[string]int64
	Syncs map[string]int

	FileSystemSyncs int

	// Calls has how often each system call returned, by its number on amd64.
	Calls map[uint64]int
}

// The system calls of amd64 that Trace handles.
const (
	sysRead          = 0
	sysOpen          = 2
	sysPread64       = 17
	sysReadv         = 19
	sysMmap          = 9
	sysSendfile      = 40
	sysFsync         = 74
	sysSyncfs        = 306
	sysFdatasync     = 75
	sysOpenat        = 257
	sysSplice        = 275
	sysPreadv        = 295
	sysCopyFileRange = 326
)

// Trace runs a program and records its use of files. It replaces the program's standard
// output and standard error.
func Trace(t testing.TB, cmd *exec.Cmd) TraceResult {
	t.Helper()
	traced := TraceResult{Opens: map[string]int{}, Bytes: map[string]int64{}, Syncs: map[string]int{}, Calls: map[uint64]int{}}
	traced.Status, traced.Output = start(t, cmd, &tracer{left: traced.left}, nil).Wait(t)
	return traced
}

// tracer traces the system calls of a program.
type tracer struct {
	pid int
	// entered is called before a call and left after a call. Either may be nil.
	entered, left func(pid, tid int) error
}

// Running is a program that runs under a tracer.
type Running struct {
	cmd    *exec.Cmd
	pid    int
	status int
	output bytes.Buffer
	err    error
	done   chan struct{} // closed when the program has ended and its output is complete
}

// start starts a program under a tracer. It calls line, if not nil, for each line of
// output.
func start(t testing.TB, cmd *exec.Cmd, tr *tracer, line func(string)) *Running {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	p := &Running{cmd: cmd, done: make(chan struct{})}
	started, ended := make(chan error), make(chan struct{})
	go func() { // only the thread that started the program can trace it
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := tr.start(cmd)
		p.pid = tr.pid
		w.Close()
		started <- err
		if err == nil {
			p.status, p.err = tr.follow(cmd)
		}
	}()
	err = <-started
	if err != nil {
		r.Close()
		t.Fatalf("trace %s: %v", cmd, err)
	}
	go func() {
		defer close(p.done)
		defer r.Close()
		lines := bufio.NewReader(r)
		for err := error(nil); err == nil; {
			var text string
			text, err = lines.ReadString('\n')
			p.output.WriteString(text)
			if err == nil && line != nil {
				line(strings.TrimSuffix(text, "\n"))
			}
		}
		<-ended
	}()
	return p
}

// Done returns a channel that is closed when the program has ended.
func (p *Running) Done() <-chan struct{} { return p.done }

// Signal sends a signal to the program, unless it has ended.
func (p *Running) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(p.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("signal %s: %v", p.cmd, err)
	}
}

// Wait waits for the program, and returns its exit status and its output. The exit
// status is -1 if a signal ended the program.
func (p *Running) Wait(t testing.TB) (status int, output string) {
	t.Helper()
	<-p.done
	if p.err != nil {
		t.Fatalf("trace %s: %v", p.cmd, p.err)
	}
	return p.status, string(bytes.TrimSpace(p.output.Bytes()))
}

// wnothread makes wait4 wait only for children of this thread (wait4(2)).
const wnothread = 0x20000000

// start starts the program, which stops at its first system call.
func (tr *tracer) start(cmd *exec.Cmd) error {
	// The program has its own process group. Otherwise wait4 would also return other
	// children that this thread started before.
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	tr.pid = cmd.Process.Pid
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(tr.pid, &ws, syscall.WALL, nil); err != nil {
		return err
	}
	const exitKill = 0x100000 // PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(tr.pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|exitKill); err != nil {
		return err
	}
	return syscall.PtraceSyscall(tr.pid, 0)
}

// follow traces the program until it ends. It returns the exit status, or -1 if a signal
// ended the program.
func (tr *tracer) follow(cmd *exec.Cmd) (int, error) {
	pid := tr.pid
	var ws syscall.WaitStatus
	inside := make(map[int]bool) // threads between the entry and the exit of a call
	for {
		tid, err := syscall.Wait4(-pid, &ws, syscall.WALL|wnothread, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		pass := 0
		switch {
		case ws.Exited() || ws.Signaled():
			if tid == pid {
				_ = cmd.Process.Release()
				return ws.ExitStatus(), nil
			}
			continue
		case ws.StopSignal() == syscall.SIGTRAP|0x80:
			inside[tid] = !inside[tid]
			hook := tr.left
			if inside[tid] {
				hook = tr.entered
			}
			if hook != nil {
				if err := hook(pid, tid); err != nil && !errors.Is(err, syscall.ESRCH) { // the thread ended
					return 0, err
				}
			}
		case ws.StopSignal() != syscall.SIGTRAP && ws.StopSignal() != syscall.SIGSTOP:
			pass = int(ws.StopSignal())
		}
		if err := syscall.PtraceSyscall(tid, pass); err != nil && !errors.Is(err, syscall.ESRCH) {
			return 0, err
		}
	}
}

// left records a call that a thread has left.
func (tr *TraceResult) left(pid, tid int) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
	tr.Calls[regs.Orig_rax]++
	result := int64(regs.Rax)
	if result < 0 {
		return nil
	}
	name := func(fd uint64) string { return descriptor(pid, fd) }
	switch regs.Orig_rax {
	case sysOpen, sysOpenat:
		tr.Opens[name(uint64(result))]++
	case sysRead, sysPread64, sysReadv, sysPreadv, sysSplice, sysCopyFileRange:
		tr.Bytes[name(regs.Rdi)] += result
	case sysSendfile:
		tr.Bytes[name(regs.Rsi)] += result
	case sysMmap:
		if int32(regs.R8) >= 0 {
			tr.Bytes[name(regs.R8)] += int64(regs.Rsi)
		}
	case sysFsync, sysFdatasync:
		tr.Syncs[name(regs.Rdi)]++
	case sysSyncfs:
		tr.FileSystemSyncs++
	}
	return nil
}

// descriptor returns the path of an open file of a process.
func descriptor(pid int, fd uint64) string {
	path, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "fd", strconv.FormatUint(fd, 10)))
	return path
}
