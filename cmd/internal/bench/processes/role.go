package processes

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// A Role is what a process of a benchmark does, until the context ends.
type Role func(ctx context.Context, args []string) error

// RunRole runs the role that the first argument of the program names, and reports whether
// there is one.
func RunRole(roles map[string]Role) bool {
	if len(os.Args) < 2 || roles[os.Args[1]] == nil {
		return false
	}
	Run(roles[os.Args[1]], os.Args[2:])
	return true
}

// Run runs a role, whose context signals end. It exits if there is an error.
func Run(role Role, args []string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := role(ctx, args)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}
