package testkit

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Call is a file-system call that a traced program is about to make.
type Call struct {
	// Name is that of the system call, as in openat.
	Name string
	// Path is the file it is about, absolute; of two the second. A file
	// without a name has the path of its directory, with a number.
	Path string
	// Flags are those of openat and linkat.
	Flags int
}

// Fault is what becomes of a call: nothing (the zero value), an error that it
// returns without being made, half of a write, or the end of the program before
// it is made.
type Fault struct {
	Err   syscall.Errno
	Short bool
	Kill  bool
}

// How the arguments of a call say which file it is about.
type argument int

const (
	openFile argument = iota // the first argument is a descriptor
	pathAt                   // the second is a path
	secondAt                 // the fourth is a path
	onlyPath                 // the first is a path
)

// fileCalls are the calls of amd64 that Inject sees.
var fileCalls = map[uint64]struct {
	name string
	file argument
}{
	0: {"read", openFile}, 17: {"pread64", openFile}, 1: {"write", openFile}, 18: {"pwrite64", openFile},
	5: {"fstat", openFile}, 73: {"flock", openFile}, 74: {"fsync", openFile}, 75: {"fdatasync", openFile},
	77: {"ftruncate", openFile}, 217: {"getdents64", openFile},
	83: {"mkdir", onlyPath}, 84: {"rmdir", onlyPath}, 87: {"unlink", onlyPath},
	257: {"openat", pathAt}, 258: {"mkdirat", pathAt}, 262: {"newfstatat", pathAt}, 263: {"unlinkat", pathAt}, 267: {"readlinkat", pathAt},
	264: {"renameat", secondAt}, 265: {"linkat", secondAt}, 316: {"renameat2", secondAt},
}

// Inject runs a program to its end and asks, at each of its file-system calls
// below a directory, what is to become of it. It returns the exit status, -1 for
// a program that was killed, and what the program wrote to standard output and
// standard error.
func Inject(t testing.TB, cmd *exec.Cmd, below string, fault func(Call) Fault) (status int, said string) {
	t.Helper()
	failing := make(map[int]syscall.Errno) // threads whose call is not made
	tr := new(tracer)
	tr.entered = func(pid, tid int) error {
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
			return err
		}
		call, ok := callOf(pid, &regs)
		if !ok || call.Path != below && !strings.HasPrefix(call.Path, below+"/") {
			return nil
		}
		switch f := fault(call); {
		case f.Kill:
			return syscall.Kill(pid, syscall.SIGKILL)
		case f.Short && regs.Rdx > 1:
			regs.Rdx /= 2
			return syscall.PtraceSetRegs(tid, &regs)
		case f.Err != 0:
			failing[tid] = f.Err
			regs.Orig_rax = ^uint64(0) // no call
			return syscall.PtraceSetRegs(tid, &regs)
		}
		return nil
	}
	tr.left = func(pid, tid int) error {
		errno, ok := failing[tid]
		if !ok {
			return nil
		}
		delete(failing, tid)
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
			return err
		}
		regs.Rax = uint64(-int64(errno))
		return syscall.PtraceSetRegs(tid, &regs)
	}
	return follow(t, cmd, tr)
}

// KillAt runs a program and kills it at the system call of that number, counted
// from 1 over all its threads; 0 lets it end. It returns how many calls there
// were, and the rest as Inject does.
func KillAt(t testing.TB, cmd *exec.Cmd, at int) (status int, said string, calls int) {
	t.Helper()
	tr := &tracer{entered: func(pid, _ int) error {
		if calls++; calls == at {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
		return nil
	}}
	status, said = follow(t, cmd, tr)
	return status, said, calls
}

// callOf returns the file-system call that a thread enters.
func callOf(pid int, regs *syscall.PtraceRegs) (Call, bool) {
	kind, ok := fileCalls[regs.Orig_rax]
	if !ok {
		return Call{}, false
	}
	call := Call{Name: kind.name}
	switch kind.file {
	case openFile:
		call.Path = descriptor(pid, regs.Rdi)
	case onlyPath:
		call.Path = text(pid, regs.Rdi)
	case pathAt:
		call.Path, call.Flags = text(pid, regs.Rsi), int(regs.Rdx)
	case secondAt:
		call.Path, call.Flags = text(pid, regs.R10), int(regs.R8)
	}
	return call, true
}

// text reads a string of a process, 4,096 bytes of it at most.
func text(pid int, at uint64) string {
	var all []byte
	for len(all) < 4096 {
		part := make([]byte, 4096-(at+uint64(len(all)))%4096) // to the end of its page
		n, err := unix.ProcessVMReadv(pid, []unix.Iovec{iovec(part)}, []unix.RemoteIovec{{Base: uintptr(at) + uintptr(len(all)), Len: len(part)}}, 0)
		if err != nil {
			return ""
		}
		if end := bytes.IndexByte(part[:n], 0); end >= 0 {
			return string(append(all, part[:end]...))
		}
		all = append(all, part[:n]...)
	}
	return string(all)
}

func iovec(p []byte) unix.Iovec {
	v := unix.Iovec{Base: &p[0]}
	v.SetLen(len(p))
	return v
}
