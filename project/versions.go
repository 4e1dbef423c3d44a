package project

import "github.com/p20export/p20export/artifact"

// A projection gets a new version when its output changes. The older versions are
// kept so that their records still verify. This file contains all differences between
// versions.

// Version returns the newest version of the projection, which is the default.
func (n Name) Version() int {
	if n == FoldedStream {
		return 4
	}
	return 3
}

// HasVersion reports whether this program has version v of the named projection.
func HasVersion(name Name, v int) bool {
	_, err := ParseName(string(name))
	return err == nil && 1 <= v && v <= name.Version()
}

// atLeast reports whether the settings name version v or a later version of a
// projection.
func (s Settings) atLeast(name Name, v int) bool { return s.Projection == name && s.Version >= v }

// acceptsOtherRun reports whether the terminal event of a run may name another run.
func (s Settings) acceptsOtherRun() bool {
	return s.atLeast(EmittedSnapshotText, 2) || s.atLeast(FoldedStream, 3)
}

// comparesStream reports whether the selected snapshot is compared with the streamed
// text.
func (s Settings) comparesStream() bool {
	return s.atLeast(EmittedSnapshot, 2) || s.atLeast(EmittedSnapshotText, 2)
}

// cutsStackTraces reports whether error texts are cut at a stack trace and lose their
// leading line ends.
func (s Settings) cutsStackTraces() bool {
	return s.atLeast(EmittedSnapshotText, 2) || s.atLeast(FoldedStream, 3)
}

// indexStackTrace returns the byte index of the first stack trace in an error text, or -1.
func (s Settings) indexStackTrace(text string) int {
	if s.Version == s.Projection.Version() {
		return artifact.IndexStackTrace(text)
	}
	return artifact.IndexFirstStackTrace(text)
}

// enforces reports whether the artifact must satisfy a rule of the contract. Older
// versions do not enforce rules that were added to the contract later.
func (s Settings) enforces(rule string) bool {
	switch rule {
	case "A26", "A27", "A28", "A29":
		return s.atLeast(EmittedSnapshot, 2) || s.atLeast(EmittedSnapshotText, 2) || s.atLeast(FoldedStream, 3)
	}
	return true
}

// readsInput reports whether the input in RUN_STARTED is read if the capture has no
// request.
func (s Settings) readsInput() bool { return s.atLeast(FoldedStream, 2) }
