package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/project"
)

// version is the release this source is of.
const version = "0.1.0"

// tool is how captures and records name this program.
func tool() project.Tool { return project.Tool{Name: project.ToolName, Version: version} }

func newVersion() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Print the version of p20export, the commit it was built from where that is known, and the Go release.",
		Args:  cobra.NoArgs,
	}
	f := addFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v := struct {
			Name    string `json:"name"`
			Version string `json:"version"`
			Commit  string `json:"commit,omitzero"`
			Go      string `json:"go"`
			OS      string `json:"os"`
			Arch    string `json:"arch"`
		}{tool().Name, version, commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
		p := newPrinter(cmd.OutOrStdout())
		if *f == formatJSON {
			p.json(v)
			return p.close(nil)
		}
		p.line("%s %s", v.Name, v.Version)
		if v.Commit != "" {
			p.line("commit %s", v.Commit)
		}
		p.line("%s %s/%s", v.Go, v.OS, v.Arch)
		return p.close(nil)
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
