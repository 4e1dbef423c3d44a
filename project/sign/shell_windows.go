package sign

import (
	"context"
	"os/exec"
	"syscall"
)

// shell returns a shell with a command. cmd.exe does not split its command line as other
// programs do, so the command is passed as it is.
func shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd.exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /d /s /c "` + command + `"`}
	return cmd
}
