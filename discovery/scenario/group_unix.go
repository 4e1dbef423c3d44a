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

// watchScript is the watcher of a group: it leads the group, says that it is ready,
// waits for the end of its standard input, and kills the group, itself included.
// Group 0 is its own, so it can kill no other. The signals that programs send to
// a whole group do not end it.
const watchScript = `trap "" HUP INT QUIT TERM USR1 USR2; echo; read x; kill -s KILL 0`

// group is the process group of a server. Its leader is a watcher, which holds
// the group's id from before the server starts until after it ended, and kills
// the group when this program ends without doing so: only this program has the
// other end of the watcher's standard input, which the system closes then.
type group struct {
	mu      sync.Mutex
	watcher *exec.Cmd // nil after end
}

// newGroup makes a group and starts its watcher.
func newGroup() (*group, error) {
	// The shell reads no variable: a function in the environment could stand
	// for a command.
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

// add makes a process that is to be started one of the group. SIGTERM is sent to
// the group when the process's context ends.
func (g *group) add(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.watcher.Process.Pid}
	cmd.Cancel = func() error { return g.signal(syscall.SIGTERM) }
}

// kill kills all processes of the group.
func (g *group) kill() { _ = g.signal(syscall.SIGKILL) }

// signal sends a signal to all processes of the group. The watcher, which was not
// waited for, keeps the group's id from being another's.
func (g *group) signal(s syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watcher == nil {
		return os.ErrProcessDone
	}
	return syscall.Kill(-g.watcher.Process.Pid, s)
}

// end kills what is left of the group. From then on it sends no signal.
func (g *group) end() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watcher != nil {
		_ = g.watcher.Wait()
		g.watcher = nil
	}
}
