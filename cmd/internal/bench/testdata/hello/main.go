// Command hello is what the start-up of the program is compared with: a root
// command and a version command of cobra, and nothing else.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "hello", Short: "Say hello"}
	root.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "hello 1.0.0")
			return err
		},
	})
	if root.Execute() != nil {
		os.Exit(1)
	}
}
