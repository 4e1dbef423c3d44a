package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
)

// projectionFlags contains the flags of the commands that project runs.
type projectionFlags struct {
	projection, snapshot, profile string
	startedAt, finishedAt         string
	optional                      bool // whether the projection can be empty
}

// addFlags adds the flags to a command. An empty default makes the projection
// optional.
func (fl *projectionFlags) addFlags(cmd *cobra.Command, projection project.Name, usage string) {
	fl.addChoice(cmd, projection, usage)
	flags := cmd.Flags()
	flags.StringVar(&fl.startedAt, "started-at", "", "`TIME` at which the run started, in RFC 3339, for a capture without times")
	flags.StringVar(&fl.finishedAt, "finished-at", "", "`TIME` at which the run ended, in RFC 3339, for a capture without times")
}

// addChoice adds the flags without those for the times of a run, which are for one
// capture.
func (fl *projectionFlags) addChoice(cmd *cobra.Command, projection project.Name, usage string) {
	fl.optional = projection == ""
	flags := cmd.Flags()
	flags.StringVar(&fl.projection, "projection", string(projection), usage)
	flags.StringVar(&fl.snapshot, "snapshot", string(project.Only), "the snapshot that emitted-snapshot-text takes: `only|first|last|N`; N counts from 1")
	flags.StringVar(&fl.profile, "profile", string(artifact.V1), "limits for artifacts: `v1|assay`; assay adds those of Assay's mapper 5.4.0")
	cli.Complete(cmd, "projection", string(project.EmittedSnapshot), string(project.EmittedSnapshotText), string(project.FoldedStream))
	cli.Complete(cmd, "snapshot", string(project.Only), string(project.First), string(project.Last))
	cli.Complete(cmd, "profile", string(artifact.V1), string(artifact.Assay))
}

// settings returns the settings that the flags describe. The projection is empty if it
// is optional and not given.
func (fl *projectionFlags) settings() (s project.Settings, err error) {
	if fl.projection != "" || !fl.optional {
		if s.Projection, err = project.ParseName(fl.projection); err != nil {
			return s, err
		}
	}
	if s.Snapshot, err = project.ParseSelection(fl.snapshot); err != nil {
		return s, err
	}
	if s.Profile, err = artifact.ParseProfile(fl.profile); err != nil {
		return s, err
	}
	if s.Operator, err = project.NewOperatorTimes(fl.startedAt, fl.finishedAt); err != nil {
		return s, withTimeFlags(err)
	}
	return s, nil
}

// checkTimes returns an error if times are given for several captures: they are the
// times of one run.
func (fl *projectionFlags) checkTimes(captures int) error {
	if captures > 1 && fl.hasTimes() {
		return fmt.Errorf("--started-at and --finished-at are the times of one run; name one capture, not %d", captures)
	}
	return nil
}

func (fl *projectionFlags) hasTimes() bool { return fl.startedAt != "" || fl.finishedAt != "" }

// withTimeFlags adds the names of the flags to an error about an operator's times.
func withTimeFlags(err error) error {
	one, ok := errors.AsType[*project.TimeError](err)
	switch {
	case ok && one.Label == project.StartLabel:
		return fmt.Errorf("--started-at %s: %w", finding.Quote(one.Value), one.Err)
	case ok:
		return fmt.Errorf("--finished-at %s: %w", finding.Quote(one.Value), one.Err)
	case errors.Is(err, project.ErrFinishBeforeStart):
		return errors.New("--finished-at is before --started-at")
	case errors.Is(err, project.ErrFinishWithoutStart):
		return errors.New("--finished-at needs --started-at: both times must have the same source")
	}
	return err
}
