//go:build !windows

package sign

import (
	"context"
	"os/exec"
)

// shell returns a shell with a command.
func shell(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", command)
}
