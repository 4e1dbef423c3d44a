package project

// A projection whose output changes gets a new version. The older ones stay, so that
// records of them verify; what they do otherwise than the newest is in this file.

// Version returns the newest version of the projection, which is applied when no
// other is asked for.
func (n Name) Version() int {
	if n == FoldedStream {
		return 3
	}
	return 2
}

// HasVersion reports whether this program has the projection in that version.
func HasVersion(name Name, v int) bool {
	_, err := ParseName(string(name))
	return err == nil && 1 <= v && v <= name.Version()
}

// since reports whether the settings are of a projection in that version or a later
// one.
func (s Settings) since(name Name, v int) bool { return s.Projection == name && s.Version >= v }

// takesOtherRun reports whether a run is taken whose terminal event names another
// run.
func (s Settings) takesOtherRun() bool {
	return s.since(EmittedSnapshotText, 2) || s.since(FoldedStream, 3)
}

// comparesStream reports whether the taken snapshot is compared with what the run
// streamed.
func (s Settings) comparesStream() bool {
	return s.since(EmittedSnapshot, 2) || s.since(EmittedSnapshotText, 2)
}

// cutsStackTraces reports whether error texts are cut where a stack trace begins, and
// lose the line ends that they begin with.
func (s Settings) cutsStackTraces() bool {
	return s.since(EmittedSnapshotText, 2) || s.since(FoldedStream, 3)
}

// judgesBy reports whether what is made is judged by a rule of the contract, which
// did not have all of them when the older versions were the newest.
func (s Settings) judgesBy(rule string) bool {
	switch rule {
	case "A26", "A27", "A28", "A29":
		return s.since(EmittedSnapshot, 2) || s.since(EmittedSnapshotText, 2) || s.since(FoldedStream, 3)
	}
	return true
}

// readsInput reports whether the input in RUN_STARTED is read when there is no
// request.
func (s Settings) readsInput() bool { return s.since(FoldedStream, 2) }
