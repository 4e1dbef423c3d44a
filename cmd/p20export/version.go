package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
)

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of p20export, the Go release, and what it was built from: the\ncommit with its date, or, for a program that \"go install\" built from the module\nproxy, the sum of the module.\n" + exitHelp("the version was printed", "", ""),
		Example: "  p20export version\n  p20export version --format json | jq -r .commit",
		Args:    cobra.NoArgs,
	}
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p := newPrinter(cmd, f)
		from := build.From()
		p.Version(render.Version{
			Name: build.Tool().Name, Version: build.Version, Commit: from.Commit, Date: from.At, Sum: from.Sum, Source: from.String(),
			Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		})
		return p.Close(nil)
	}
	return cmd
}
