// Command hello is the program that the start-up is compared with. It has only a cobra
// root command and a version command.
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
