package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/freeze"
)

func newCompare() *cobra.Command {
	var contract, baseline, write string
	cmd := &cobra.Command{
		Use:   "compare CAPTURE...",
		Short: "Hold captures against the contract, and against a baseline",
		Long: `Hold each run of each CAPTURE against the contract (a pre-proof draft, P20 §14):
what each projection makes of it and why, where its snapshots stand, how the
messages folded from request and stream differ from the emitted ones, whether
message ids outlive the stream, what times, parent and fields it has, and
whether its artifact is smaller than what it was made from. Nothing is written.

Verdicts:
  exact    the one emitted snapshot's messages are within the text subset as they are
  reduced  the emitted snapshot gives an artifact that leaves something out
  chosen   several snapshots; the last of them gives an artifact
  built    no emitted snapshot; one can be built from request and stream
  refused  no projection freezes the run

Exit status 1 says that some run is neither exact nor reduced. With --baseline
it says that something changed that affects the contract: a run, its terminal
event, its snapshots, what a projection makes of it, a key that the artifact
takes, its source of times. Other changes are listed and do not count.

With --baseline the text says what changed, each change once with the runs it
is in; --format json has everything.

A baseline is what --write-baseline wrote: the shape of every run, without ids,
times and texts, to be kept beside the integration's code. Runs are known by
their capture's name and their number in it. --write-baseline replaces a baseline,
never another file, and without --baseline its exit status is 0 once it is
written.

--format sarif (SARIF 2.1.0) and --format junit (JUnit XML) write one document
once every capture is read, and nothing when interrupted.
` + exitHelp,
		Example: `  p20export compare captures/*
  p20export compare captures/* --write-baseline baseline.json
  p20export compare fresh/* --baseline baseline.json
  p20export compare captures/* --contract assay --format json | jq .verdict`,
		Args: oneOrMore("CAPTURE"),
	}
	cmd.Flags().StringVar(&contract, "contract", string(artifact.V1), "limits to hold artifacts to: v1, or assay for what Assay's mapping takes today")
	cmd.Flags().StringVar(&baseline, "baseline", "", "a file of --write-baseline to compare with")
	cmd.Flags().StringVar(&write, "write-baseline", "", "write the shape of these runs to a file")
	f := addFormat(cmd, formatSARIF, formatJUnit)
	complete(cmd, "contract", string(artifact.V1), string(artifact.Assay))
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		profile, err := artifact.ParseProfile(contract)
		if err != nil {
			return err
		}
		for _, flag := range []string{"baseline", "write-baseline"} {
			if f := cmd.Flags().Lookup(flag); f.Changed && f.Value.String() == "" {
				return fmt.Errorf("--%s is empty", flag)
			}
		}
		if write != "" {
			if err := freeze.CheckOutput("--write-baseline", filepath.Dir(write)); err != nil {
				return err
			}
			if err := replaceable(write); err != nil {
				return fmt.Errorf("%w: %w", errOutput, err)
			}
		}
		if baseline != "" || write != "" {
			if err := discovery.Distinct(paths); err != nil {
				return err
			}
		}
		var base *discovery.Baseline
		if baseline != "" {
			if base, err = discovery.LoadBaseline(baseline, profile); err != nil {
				return fmt.Errorf("%w: %w", errInput, err)
			}
		}
		runs, err := examine(cmd, paths, profile)
		if err != nil {
			return err
		}
		if base != nil {
			runs = base.Compare(runs)
		}
		p := newPrinter(cmd.OutOrStdout())
		p.compared(base, runs, *f)
		worst := statusOfRuns(runs)
		if write == "" {
			return p.close(worst.err())
		}
		if slices.ContainsFunc(runs, func(e discovery.Examination) bool { return e.Verdict != discovery.Missing && e.Digest == "" }) {
			return p.close(fmt.Errorf("%w, so no baseline was written: it would lack a run", errInput))
		}
		if err := writeBaseline(write, runs, profile); err != nil {
			return p.close(err)
		}
		if *f == formatText {
			p.line("baseline written: %s", write)
		}
		if base == nil {
			return p.close(nil) // what these runs are is what is wanted from now on
		}
		return p.close(worst.err())
	}
	return cmd
}

// examine examines every capture, and shows how far it is.
func examine(cmd *cobra.Command, paths []string, profile artifact.Profile) (runs []discovery.Examination, err error) {
	for _, path := range paths {
		progress, show := newReading(cmd.ErrOrStderr(), path)
		runs = append(runs, discovery.Examine(cmd.Context(), path, profile, show)...)
		progress.end()
		if cmd.Context().Err() != nil {
			return nil, context.Cause(cmd.Context())
		}
	}
	return runs, nil
}

// statusOfRuns is the exit status of a comparison.
func statusOfRuns(runs []discovery.Examination) status {
	worst := status(exitDone)
	for _, run := range runs {
		worst = worst.worse(statusOfRun(run))
	}
	return worst
}

// statusOfRun is that of one run: with a baseline what changed counts, else
// whether an artifact came of its one emitted snapshot.
func statusOfRun(run discovery.Examination) status {
	switch {
	case run.Verdict == discovery.Failed:
		return exitFailed
	case run.Changes != nil && finding.Failed(run.Changes), run.Changes == nil && !run.Verdict.Emitted():
		return exitNegative
	}
	return exitDone
}
