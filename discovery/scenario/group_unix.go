//go:build unix

package scenario

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// watchScript is the shell script of a group's watcher, which is the leader of the group.
// It prints a line when it is ready, waits for the end of its standard input, and then
// kills the group, including itself. Process id 0 means its own group, so it cannot kill
// another one. It ignores the signals that programs send to a whole group.
const watchScript = `trap "" HUP INT QUIT TERM USR1 USR2; echo; read x; kill -s KILL 0`

// group is the process group of a server. Its leader is a watcher, which runs before the
// server starts and until after it ended, so that the id of the group stays valid. The
// watcher kills the group when this program exits, because the system then closes the
// other end of the watcher's standard input.
type group struct {
	mu      sync.Mutex
	watcher *exec.Cmd // nil after end
}

// newGroup starts the watcher of a new group.
func newGroup() (*group, error) {
	// The environment is empty, because a function in it could replace a command.
	watcher := &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", watchScript}, Dir: "/", Env: []string{},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	_, err := watcher.StdinPipe() // closed by Wait, or by the system
	if err != nil {
		return nil, err
	}
	ready, err := watcher.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err = watcher.Start(); err != nil {
		return nil, err
	}
	g := &group{watcher: watcher}
	if _, err := io.ReadFull(ready, make([]byte, 1)); err != nil {
		g.end()
		return nil, fmt.Errorf("%s exited instead of waiting: %s", watcher.Path, watcher.ProcessState)
	}
	return g, nil
}

// add sets up a command so that it starts in the group, and so that the group receives
// SIGTERM when the context of the command is done.
func (g *group) add(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.watcher.Process.Pid}
	cmd.Cancel = func() error { return g.signal(syscall.SIGTERM) }
}

// kill kills all processes of the group.
func (g *group) kill() { _ = g.signal(syscall.SIGKILL) }

// signal sends a signal to all processes of the group. The id of the group cannot have
// been reused, because the watcher has not been waited for.
func (g *group) signal(s syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watcher == nil {
		return os.ErrProcessDone
	}
	return syscall.Kill(-g.watcher.Process.Pid, s)
}

// end kills the remaining processes of the group. No signals are sent after that.
func (g *group) end() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watcher != nil {
		_ = g.watcher.Wait()
		g.watcher = nil
	}
}
