// Package project implements the named projections. A projection is a pure
// function from one run and its times to an artifact, its bounded envelope and
// a list of omissions.
//
// A projection has a name and a version. The output of a version never changes,
// and older versions are kept so that their records still verify. The package
// must not use files, directories or networks.
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
	// EmittedSnapshot copies the run's only MESSAGES_SNAPSHOT and refuses
	// messages outside the text subset.
	EmittedSnapshot Name = "emitted-snapshot"
	// EmittedSnapshotText reduces one emitted snapshot to the text subset and
	// records every omission.
	EmittedSnapshotText Name = "emitted-snapshot-text"
	// FoldedStream builds a snapshot for a run that emitted none. It uses the
	// messages of the request and the streamed text messages. Without a request
	// it uses the input in RUN_STARTED instead.
	FoldedStream Name = "folded-stream"
)

// Names lists the projections, the default first.
func Names() []Name { return []Name{EmittedSnapshot, EmittedSnapshotText, FoldedStream} }

// ParseName returns the projection named s.
func ParseName(s string) (Name, error) {
	for _, n := range Names() {
		if string(n) == s {
			return n, nil
		}
	}
	return "", fmt.Errorf("projection %q is not known; the projections are %s, %s and %s", s, EmittedSnapshot, EmittedSnapshotText, FoldedStream)
}

// Origin says where an artifact's messages come from. Every command that shows
// an artifact reports a built snapshot.
type Origin string

// The origins.
const (
	Emitted Origin = "emitted"
	Built   Origin = "built"
)

// Origin returns the origin of the projection's snapshots.
func (n Name) Origin() Origin {
	if n == FoldedStream {
		return Built
	}
	return Emitted
}

// Selection selects one of a run's snapshots: "only", "first", "last" or a
// number from 1.
type Selection string

// The named selections.
const (
	Only  Selection = "only"
	First Selection = "first"
	Last  Selection = "last"
)

// ParseSelection parses a selection.
func ParseSelection(s string) (Selection, error) {
	switch sel := Selection(s); sel {
	case Only, First, Last:
		return sel, nil
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && s[0] != '+' && s[0] != '0' {
		return Selection(s), nil
	}
	return "", fmt.Errorf("invalid snapshot %q: must be only, first, last or a number from 1", s)
}

// number returns the number of a selection by number, and 0 for the others.
func (s Selection) number() int {
	if s == Only || s == Last {
		return 0
	}
	n, _ := strconv.Atoi(string(s))
	return n
}

// Settings configure the projection of a run.
type Settings struct {
	Projection Name
	// Version is the version of the projection. 0 means the newest.
	Version  int
	Snapshot Selection
	Profile  artifact.Profile
	// Operator supplies times for captures that have none.
	Operator OperatorTimes
}

// Normalize fills in defaults. It returns an error if a setting is unknown or
// two settings conflict.
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
		return fmt.Errorf("only the projection %s selects a snapshot", EmittedSnapshotText)
	}
	return s.Operator.check()
}

// Verdict is the outcome for a run or a file.
type Verdict string

// The verdicts. Other packages define additional ones of their own.
const (
	// Frozen and Refused are the outcomes of a projection.
	Frozen  Verdict = "frozen"
	Refused Verdict = "refused"
	// Accepted and Malformed are the outcomes of validating a file.
	Accepted  Verdict = "accepted"
	Malformed Verdict = "malformed"
	// Verified means that every byte matches, Differs that some byte does not,
	// and Unverifiable that the comparison is not possible.
	Verified     Verdict = "verified"
	Differs      Verdict = "differs"
	Unverifiable Verdict = "unverifiable"
	// Written means that a file was written, or existed with the same bytes.
	Written Verdict = "written"
	// Skipped means that the files of a run exist and the capture was not frozen again.
	Skipped Verdict = "skipped"
	// Failed means that an error prevented an outcome.
	Failed Verdict = "error"
)
