package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/project/record"
)

// version is the release this source is of.
const version = "0.1.0"

// tool is how captures and records name this program.
func tool() record.Tool { return record.Tool{Name: record.ToolName, Version: version} }

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Print the version of p20export, the commit it was built from where that is known, and the Go release.",
		Args:  cobra.NoArgs,
	}
	f := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p := newPrinter(cmd, f)
		p.Version(render.Version{Name: tool().Name, Version: version, Commit: commit(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH})
		return p.Close(nil)
	}
	return cmd
}

// commit is what this program was built from, where that is known; with -dirty
// when the source had changes that are in no commit.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}
