package testkit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Call is a file-system call that a traced program is about to make.
type Call struct {
	// Name is the name of the system call, such as openat.
	Name string
	// Path is the absolute path of the file; if the call has two, the second. A file
	// without a name has the path of its directory, with a number.
	Path string
	// From is the first path of a call that has two.
	From string
	// Linked is the path of the open file that linkat gives a name.
	Linked string
	// Data is what write writes, up to 64 KiB.
	Data string
	// Flags are the flags of openat and linkat.
	Flags int
	// FD is the descriptor of the file, if the call has one.
	FD uint64
	// Result is what the call returned, after it.
	Result int64

	pid int
}

// Fault is a fault to inject into a call. The zero value is no fault.
type Fault struct {
	Err   syscall.Errno // fail with this error, without making the call
	Short bool          // write or copy only half of the bytes
	Kill  bool          // kill the program before the call
}

// argument is the argument of a call that identifies the file.
type argument int

const (
	openFile argument = iota // the first argument is a descriptor
	copyTo                   // the third is a descriptor
	pathAt                   // the second is a path
	secondAt                 // the fourth is a path
	onlyPath                 // the first is a path
)

// fileCalls are the system calls of amd64 that Inject handles.
var fileCalls = map[uint64]struct {
	name string
	file argument
}{
	0: {"read", openFile}, 17: {"pread64", openFile}, 1: {"write", openFile}, 18: {"pwrite64", openFile},
	5: {"fstat", openFile}, 73: {"flock", openFile}, 74: {"fsync", openFile}, 75: {"fdatasync", openFile}, 306: {"syncfs", openFile},
	77: {"ftruncate", openFile}, 91: {"fchmod", openFile}, 217: {"getdents64", openFile}, 326: {"copy_file_range", copyTo},
	83: {"mkdir", onlyPath}, 84: {"rmdir", onlyPath}, 87: {"unlink", onlyPath},
	257: {"openat", pathAt}, 258: {"mkdirat", pathAt}, 262: {"newfstatat", pathAt}, 263: {"unlinkat", pathAt}, 267: {"readlinkat", pathAt},
	264: {"renameat", secondAt}, 265: {"linkat", secondAt}, 316: {"renameat2", secondAt},
}

// Inject runs a program and calls fault before each of its file-system calls for the
// directory below or a file in it. It injects the fault that is returned. Inject
// returns the exit status, or -1 if the program was killed, and the program's standard
// output and standard error.
func Inject(t testing.TB, cmd *exec.Cmd, below string, fault func(Call) Fault) (status int, output string) {
	t.Helper()
	return Observe(t, cmd, func(_ int, c Call) Fault {
		if c.Path != below && !strings.HasPrefix(c.Path, below+"/") {
			return Fault{}
		}
		return fault(c)
	}, func(int, Call) {})
}

// Observe is like Inject, but calls entered for calls for all files, and left after each
// call that succeeded, with the thread.
func Observe(t testing.TB, cmd *exec.Cmd, entered func(tid int, c Call) Fault, left func(tid int, c Call)) (status int, output string) {
	t.Helper()
	return Start(t, cmd, nil, entered, left).Wait(t)
}

// Start is like Observe, but does not wait for the program. It calls line, if not nil,
// for each line of output as soon as it is complete.
func Start(t testing.TB, cmd *exec.Cmd, line func(string), entered func(tid int, c Call) Fault, left func(tid int, c Call)) *Running {
	t.Helper()
	calls := make(map[int]Call)            // by thread
	failing := make(map[int]syscall.Errno) // errors of calls that were not made, by thread
	tr := new(tracer)
	tr.entered = func(pid, tid int) error {
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
			return err
		}
		call, ok := callOf(pid, &regs)
		if !ok {
			return nil
		}
		calls[tid] = call
		switch f := entered(tid, call); {
		case f.Kill:
			return syscall.Kill(pid, syscall.SIGKILL)
		case f.Short && call.Name == "copy_file_range" && regs.R8 > 1:
			regs.R8 /= 2
			return syscall.PtraceSetRegs(tid, &regs)
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
	tr.left = func(_, tid int) error {
		call, ok := calls[tid]
		if !ok {
			return nil
		}
		delete(calls, tid)
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(tid, &regs); err != nil {
			return err
		}
		if errno, ok := failing[tid]; ok {
			delete(failing, tid)
			regs.Rax = uint64(-int64(errno))
			return syscall.PtraceSetRegs(tid, &regs)
		}
		if call.Result = int64(regs.Rax); call.Result >= 0 {
			left(tid, call)
		}
		return nil
	}
	return start(t, cmd, tr, line)
}

// KillAt runs a program and kills it at system call number at, from 1 over all threads.
// If at is 0, the program is not killed. KillAt returns the same as Inject, and the
// number of calls.
func KillAt(t testing.TB, cmd *exec.Cmd, at int) (status int, output string, calls int) {
	t.Helper()
	tr := &tracer{entered: func(pid, _ int) error {
		if calls++; calls == at {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
		return nil
	}}
	status, output = start(t, cmd, tr, nil).Wait(t)
	return status, output, calls
}

// bytesAt returns n bytes at an address of a process.
func bytesAt(pid int, at uint64, n int) string {
	if n == 0 {
		return ""
	}
	data := make([]byte, n)
	read, err := unix.ProcessVMReadv(pid, []unix.Iovec{iovec(data)}, []unix.RemoteIovec{{Base: uintptr(at), Len: n}}, 0)
	if err != nil {
		return ""
	}
	return string(data[:read])
}

// callOf returns the call that a thread enters, and whether it is in fileCalls.
func callOf(pid int, regs *syscall.PtraceRegs) (Call, bool) {
	kind, ok := fileCalls[regs.Orig_rax]
	if !ok {
		return Call{}, false
	}
	call := Call{Name: kind.name, pid: pid}
	switch kind.file {
	case openFile, copyTo:
		call.FD = regs.Rdi
		if kind.file == copyTo {
			call.FD = regs.Rdx
		}
		call.Path = descriptor(pid, call.FD)
	case onlyPath:
		call.Path = pathIn(pid, currentDir, regs.Rdi)
	case pathAt:
		call.Path, call.Flags = pathIn(pid, regs.Rdi, regs.Rsi), int(regs.Rdx)
	case secondAt:
		call.Path, call.From, call.Flags = pathIn(pid, regs.Rdx, regs.R10), pathIn(pid, regs.Rdi, regs.Rsi), int(regs.R8)
		if number, ok := strings.CutPrefix(call.From, "/proc/self/fd/"); ok {
			fd, _ := strconv.ParseUint(number, 10, 64)
			call.Linked = descriptor(pid, fd)
		}
	}
	if call.Name == "write" {
		call.Data = bytesAt(pid, regs.Rsi, int(min(64<<10, regs.Rdx)))
	}
	return call, true
}

// currentDir is the descriptor that stands for the current directory.
const currentDir = ^uint64(99) // AT_FDCWD, -100

// pathIn returns the absolute path of the string at an address of a process, which is
// relative to an open directory.
func pathIn(pid int, dir, at uint64) string {
	path := text(pid, at)
	switch {
	case filepath.IsAbs(path):
		return path
	case int32(dir) == unix.AT_FDCWD:
		cwd, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
		return filepath.Join(cwd, path)
	default:
		return filepath.Join(descriptor(pid, dir), path)
	}
}

// text returns the string at an address of a process, at most 4,096 bytes of it.
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
