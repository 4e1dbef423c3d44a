//go:build unix

package scenario

import (
	"os"
	"os/exec"
	"syscall"
)

// setGroup gives a process a group of its own, which SIGTERM is sent to when the
// process's context ends.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != syscall.ESRCH {
			return err
		}
		return os.ErrProcessDone
	}
}

// killGroup ends what is left of the group of a process that ended.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
