// Package project has the named projections: pure functions from one run and
// its times to an artifact, the bounded envelope behind it and the account of
// what was left out.
//
// A projection has a name and a version; what it outputs never changes under
// one version, and older versions stay, so that records of them verify. The
// package must not know files, directories or networks.
package project

import (
	"fmt"
	"strconv"

	"github.com/p20export/p20export/artifact"
)

// Name names a projection.
type Name string

// The projections.
const (
	// EmittedSnapshot takes the run's only MESSAGES_SNAPSHOT as it is and
	// refuses any message richer than the text subset.
	EmittedSnapshot Name = "emitted-snapshot"
	// EmittedSnapshotText reduces one emitted snapshot to the text subset and
	// records each omission.
	EmittedSnapshotText Name = "emitted-snapshot-text"
	// FoldedStream builds a snapshot from the messages that a run was asked with
	// and its streamed text messages, when the run emitted none. The former are
	// those of the request or, where there is no request, of RUN_STARTED's input.
	FoldedStream Name = "folded-stream"
)

// Names lists the projections, the default first.
func Names() []Name { return []Name{EmittedSnapshot, EmittedSnapshotText, FoldedStream} }

// ParseName returns the projection of that name.
func ParseName(s string) (Name, error) {
	for _, n := range Names() {
		if string(n) == s {
			return n, nil
		}
	}
	return "", fmt.Errorf("projection %q is not known; the projections are %s, %s and %s", s, EmittedSnapshot, EmittedSnapshotText, FoldedStream)
}

// Origin says where an artifact's messages come from. What shows an artifact
// whose snapshot was built says so.
type Origin string

// The origins.
const (
	Emitted Origin = "emitted"
	Built   Origin = "built"
)

// Origin returns where the messages of the projection's artifacts come from.
func (n Name) Origin() Origin {
	if n == FoldedStream {
		return Built
	}
	return Emitted
}

// Selection chooses one of a run's snapshots: "only", "first", "last" or a
// number from 1.
type Selection string

// The selections by word.
const (
	Only  Selection = "only"
	First Selection = "first"
	Last  Selection = "last"
)

// ParseSelection checks a selection.
func ParseSelection(s string) (Selection, error) {
	switch sel := Selection(s); sel {
	case Only, First, Last:
		return sel, nil
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && s[0] != '+' && s[0] != '0' {
		return Selection(s), nil
	}
	return "", fmt.Errorf("snapshot %q is not only, first, last or a number from 1", s)
}

// number returns the place of a selection by number, else 0.
func (s Selection) number() int {
	n, _ := strconv.Atoi(string(s))
	return n
}

// Settings choose what to do with a run.
type Settings struct {
	Projection Name
	// Version is that of the projection. 0 stands for the newest.
	Version  int
	Snapshot Selection
	Profile  artifact.Profile
	// Operator has times for captures that have none.
	Operator OperatorTimes
}

// Normalize fills in defaults and reports settings that are not known or do not go
// together.
func (s *Settings) Normalize() error {
	if s.Projection == "" {
		s.Projection = EmittedSnapshot
	}
	if s.Snapshot == "" {
		s.Snapshot = Only
	}
	if s.Profile == "" {
		s.Profile = artifact.V1
	}
	if _, err := ParseName(string(s.Projection)); err != nil {
		return err
	}
	if s.Version == 0 {
		s.Version = s.Projection.Version()
	}
	if !HasVersion(s.Projection, s.Version) {
		return fmt.Errorf("projection %s has no version %d; the newest is %d", s.Projection, s.Version, s.Projection.Version())
	}
	if _, err := ParseSelection(string(s.Snapshot)); err != nil {
		return err
	}
	if _, err := artifact.ParseProfile(string(s.Profile)); err != nil {
		return err
	}
	if s.Snapshot != Only && s.Projection != EmittedSnapshotText {
		return fmt.Errorf("a snapshot is chosen with the projection %s only", EmittedSnapshotText)
	}
	return s.Operator.check()
}

// Verdict is the outcome of work on a run or a file.
type Verdict string

// The verdicts. Other packages add those that only they give.
const (
	// Frozen and Refused are those of projections.
	Frozen  Verdict = "frozen"
	Refused Verdict = "refused"
	// Accepted and Malformed are those on a file and its format.
	Accepted  Verdict = "accepted"
	Malformed Verdict = "malformed"
	// Verified says that every byte is what it should be, Differs that one is
	// not, and Unverifiable that it cannot be told.
	Verified     Verdict = "verified"
	Differs      Verdict = "differs"
	Unverifiable Verdict = "unverifiable"
	// Failed says that the work could not be done.
	Failed Verdict = "error"
)
