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

// Traced is what a program did with files, as the kernel saw it.
type Traced struct {
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
func Trace(t testing.TB, cmd *exec.Cmd) Traced {
	t.Helper()
	output, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	traced := Traced{Opens: map[string]int{}, Bytes: map[string]int64{}, Syncs: map[string]int{}}
	done := make(chan error)
	go func() { // a thread of its own, which alone is the tracer
		runtime.LockOSThread()
		done <- traced.follow(cmd)
	}()
	if err := <-done; err != nil {
		t.Fatalf("trace %s: %v", cmd, err)
	}
	said, err := os.ReadFile(output.Name())
	if err != nil {
		t.Fatal(err)
	}
	traced.Output = string(bytes.TrimSpace(said))
	return traced
}

// wnothread makes wait4 see the children of this thread alone (wait4(2)).
const wnothread = 0x20000000

func (tr *Traced) follow(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, syscall.WALL, nil); err != nil {
		return err
	}
	const exitKill = 0x100000 // PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|exitKill); err != nil {
		return err
	}
	if err := syscall.PtraceSyscall(pid, 0); err != nil {
		return err
	}
	inside := make(map[int]bool) // threads between the entry and the exit of a call
	for {
		tid, err := syscall.Wait4(-1, &ws, syscall.WALL|wnothread, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		pass := 0
		switch {
		case ws.Exited() || ws.Signaled():
			if tid == pid {
				tr.Status = ws.ExitStatus()
				_ = cmd.Process.Release()
				return nil
			}
			continue
		case ws.StopSignal() == syscall.SIGTRAP|0x80:
			if inside[tid] = !inside[tid]; !inside[tid] {
				if err := tr.left(pid, tid); err != nil {
					return err
				}
			}
		case ws.StopSignal() != syscall.SIGTRAP && ws.StopSignal() != syscall.SIGSTOP:
			pass = int(ws.StopSignal())
		}
		if err := syscall.PtraceSyscall(tid, pass); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
}

// left takes in a call that a thread has left.
func (tr *Traced) left(pid, tid int) error {
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return nil // it ended
		}
		return err
	}
	result := int64(regs.Rax)
	if result < 0 {
		return nil
	}
	name := func(fd uint64) string {
		path, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "fd", strconv.FormatUint(fd, 10)))
		return path
	}
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
