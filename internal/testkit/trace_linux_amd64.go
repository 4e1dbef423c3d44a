package testkit

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
)

// TraceResult is what a program did with files, as the kernel saw it.
type TraceResult struct {
	// Status is the program's exit status, Output what it wrote to standard
	// output and standard error.
	Status int
	Output string
	// Opens counts how often each file was opened, Bytes how many were read of
	// it or mapped, and Syncs how often it was synced; by absolute path.
	Opens map[string]int
	Bytes map[string]int64
	Syncs map[string]int
}

// The system calls of amd64 that Trace follows.
const (
	sysRead          = 0
	sysOpen          = 2
	sysPread64       = 17
	sysReadv         = 19
	sysMmap          = 9
	sysSendfile      = 40
	sysFsync         = 74
	sysFdatasync     = 75
	sysOpenat        = 257
	sysSplice        = 275
	sysPreadv        = 295
	sysCopyFileRange = 326
)

// Trace runs a program to its end and follows its system calls. Its standard
// output and standard error are Trace's own.
func Trace(t testing.TB, cmd *exec.Cmd) TraceResult {
	t.Helper()
	traced := TraceResult{Opens: map[string]int{}, Bytes: map[string]int64{}, Syncs: map[string]int{}}
	traced.Status, traced.Output = follow(t, cmd, &tracer{left: traced.left})
	return traced
}

// tracer follows the system calls of a program.
type tracer struct {
	pid int
	// entered is called before a call and left after it; either may be nil.
	entered, left func(pid, tid int) error
}

// follow runs a program to its end under a tracer.
func follow(t testing.TB, cmd *exec.Cmd, tr *tracer) (status int, said string) {
	t.Helper()
	output, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	done := make(chan error)
	go func() { // a thread of its own, which alone is the tracer
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		status, err = tr.follow(cmd)
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("trace %s: %v", cmd, err)
	}
	data, err := os.ReadFile(output.Name())
	if err != nil {
		t.Fatal(err)
	}
	return status, string(bytes.TrimSpace(data))
}

// wnothread makes wait4 see the children of this thread alone (wait4(2)).
const wnothread = 0x20000000

// follow returns the exit status, or -1 for a program that a signal ended.
func (tr *tracer) follow(cmd *exec.Cmd) (int, error) {
	// The program has a process group of its own, so that no other child is waited
	// for: a thread may have started some before it became the tracer.
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid := cmd.Process.Pid
	tr.pid = pid
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, syscall.WALL, nil); err != nil {
		return 0, err
	}
	const exitKill = 0x100000 // PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|exitKill); err != nil {
		return 0, err
	}
	if err := syscall.PtraceSyscall(pid, 0); err != nil {
		return 0, err
	}
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
			see := tr.left
			if inside[tid] {
				see = tr.entered
			}
			if see != nil {
				if err := see(pid, tid); err != nil && !errors.Is(err, syscall.ESRCH) { // it ended
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

// left takes in a call that a thread has left.
func (tr *TraceResult) left(pid, tid int) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		return err
	}
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
	}
	return nil
}

// descriptor returns the path of an open file of a process.
func descriptor(pid int, fd uint64) string {
	path, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "fd", strconv.FormatUint(fd, 10)))
	return path
}
