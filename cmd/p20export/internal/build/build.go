// Package build says which program this is.
package build

import (
	"runtime/debug"

	"github.com/p20export/p20export/project/record"
)

// Version is the release this source is of.
const Version = "0.1.0"

// Tool is how captures and records name this program.
func Tool() record.Tool { return record.Tool{Name: record.ToolName, Version: Version} }

// Commit is what this program was built from, where that is known; with -dirty
// when the source had changes that are in no commit.
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
