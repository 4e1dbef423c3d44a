// Package build identifies this program: its version, and what it was built from.
package build

import (
	"runtime/debug"
	"strings"

	"github.com/p20export/p20export/project/record"
)

// Version is the version of this source code.
const Version = "0.2.0"

// Tool returns the name and version of this program, as captures and records state
// them.
func Tool() record.Tool { return record.Tool{Name: record.ToolName, Version: Version} }

// A Source is what a program was built from, as far as that is known.
type Source struct {
	// Commit is the commit, with the suffix -dirty if there were uncommitted changes, and At
	// its time. A program that was built from the module proxy does not know them.
	Commit, At string
	// Sum is the sum of the module, as the checksum database has it, in a program that was
	// built from the module proxy.
	Sum string
}

// From returns what this program was built from.
func From() Source {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Source{}
	}
	s := Source{Sum: info.Main.Sum}
	dirty := ""
	for _, set := range info.Settings {
		switch {
		case set.Key == "vcs.revision":
			s.Commit = set.Value
		case set.Key == "vcs.time":
			s.At = set.Value
		case set.Key == "vcs.modified" && set.Value == "true":
			dirty = "-dirty"
		}
	}
	if s.Commit != "" {
		s.Commit += dirty
	}
	return s
}

// String returns the source for people, or "".
func (s Source) String() string {
	switch {
	case s.Commit != "":
		date, _, _ := strings.Cut(s.At, "T")
		return strings.TrimSuffix("commit "+s.Commit+" of "+date, " of ")
	case s.Sum != "":
		return "module sum " + s.Sum
	}
	return ""
}
