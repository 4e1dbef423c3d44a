//go:build unix

package main

import (
	"bytes"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// A signal is handled from the first statement of run on. This one arrives while the command
// is still being created, before its flags are parsed.
func TestInterruptedEarly(t *testing.T) {
	before := commands
	defer func() { commands = before }()
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		commands = append(slices.Clone(before), command{"test-interrupted", groupReference, func() *cobra.Command {
			if err := syscall.Kill(syscall.Getpid(), sig); err != nil {
				t.Fatal(err)
			}
			return &cobra.Command{Use: "test-interrupted", RunE: func(cmd *cobra.Command, _ []string) error {
				<-cmd.Context().Done()
				return interrupted(cmd)
			}}
		}})
		var stdout, stderr bytes.Buffer
		status := run([]string{"test-interrupted"}, &stdout, &stderr)
		want := map[syscall.Signal]string{syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM"}[sig]
		if status != 128+int(sig) || stdout.Len() > 0 || stderr.String() != fmt.Sprintf("p20export: interrupted by %s\n", want) {
			t.Errorf("%s: exit status %d, said %q", want, status, stderr.String())
		}
	}
}
