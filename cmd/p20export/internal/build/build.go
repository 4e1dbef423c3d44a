// Package build identifies this program: its version and commit.
package build

import (
	"runtime/debug"

	"github.com/p20export/p20export/project/record"
)

// Version is the version of this source code.
const Version = "0.1.0"

// Tool returns the name and version of this program, as captures and records state
// them.
func Tool() record.Tool { return record.Tool{Name: record.ToolName, Version: Version} }

// Commit returns the commit that this program was built from, with the suffix -dirty
// if the source had uncommitted changes. It is empty if the commit is not known.
func Commit() string {
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
