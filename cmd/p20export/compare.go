package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/discovery/baseline"
)

func newCompare() *cobra.Command {
	var contract, with, write string
	var shown render.CompareOptions
	cmd := &cobra.Command{
		Use:   "compare CAPTURE...",
		Short: "Hold captures against the contract, and against a baseline",
		Long: `Compare each run of each CAPTURE with the contract (P20 §7, §8), and show one
line for it: the verdict, and what is missing or left out. Nothing is written. A
directory that is not a capture stands for the captures in it and below it,
closed or not; symbolic links there are not followed.

Verdicts, the best first:
  exact       the contract takes the messages of the one emitted snapshot, the
              ids and the error as they are
  reduced     the artifact leaves something out of the three events that the
              contract does not take: messages outside the text subset, or that
              the run ended under another id
  chosen      several snapshots; the last of them gives an artifact
  incomplete  the snapshot lacks text that the run streamed; and so would its
              artifact
  built       no emitted snapshot; one can be built from request and stream
  refused     no projection freezes the run

By default exit status 1 says that some run is neither exact nor reduced; with
--fail-on VERDICT instead that some run has that verdict or a worse one; with
--fail-on none it is never 1.

--details adds what each projection makes of a run and why, where its snapshots
are, how the messages folded from request and stream differ from the emitted
ones, whether message ids outlive the stream, its times, parent and sizes,
findings, and how often each key occurs.

With --baseline the text says what changed, each change once with the runs it is
in, and exit status 1 says that a change affects the contract: a run, its
terminal event, its snapshots, what a projection makes of it, whether its
snapshot lacks streamed text, a key that the artifact takes, its source of
times. Other changes are listed and do not count. --fail-on counts as well.

A baseline is what --write-baseline wrote: the shape of every run, without ids,
times and texts, to be kept beside the integration's code. Runs are known by
their capture's name and their number in it. --write-baseline replaces a
baseline, never another file; without --baseline and --fail-on its exit status
is 0 once it is written.

--format sarif (SARIF 2.1.0) and --format junit (JUnit XML) write one document
once every capture is read, and nothing when interrupted.
` + exitHelp,
		Example: `  p20export compare captures
  p20export compare captures/one-turn --details
  p20export compare captures --fail-on incomplete --quiet
  p20export compare captures --write-baseline baseline.json
  p20export compare fresh --baseline baseline.json
  p20export compare captures --contract assay --format json | jq .verdict`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	cmd.Flags().StringVar(&contract, "contract", string(artifact.V1), "limits to hold artifacts to, `v1|assay`: assay is what Assay's mapper 5.4.0 takes")
	cmd.Flags().StringVar(&with, "baseline", "", "a `FILE` of --write-baseline to compare with")
	cmd.Flags().StringVar(&write, "write-baseline", "", "write the shape of these runs to a `FILE`")
	failOn := cli.AddFailOn(cmd, "a run")
	cmd.Flags().BoolVar(&shown.Details, "details", false, "show all that is known of each run, and count the keys of their events")
	cmd.Flags().BoolVarP(&shown.Quiet, "quiet", "q", false, "show only how many runs have which verdict")
	f := cli.AddFormat(cmd, render.SARIF, render.JUnit)
	cli.Complete(cmd, "contract", string(artifact.V1), string(artifact.Assay))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		profile, err := artifact.ParseProfile(contract)
		if err != nil {
			return err
		}
		if err := cli.CheckTextFlags(cmd, *f, "details", "quiet"); err != nil {
			return err
		}
		for _, flag := range []string{"baseline", "write-baseline"} {
			if f := cmd.Flags().Lookup(flag); f.Changed && f.Value.String() == "" {
				return fmt.Errorf("--%s is empty", flag)
			}
		}
		if write != "" {
			if err := checkOutputFile("--write-baseline", write); err != nil {
				return err
			}
			if err := baseline.CheckReplaceable(write); err != nil {
				return fmt.Errorf("%w: %w", render.ErrOutput, err)
			}
		}
		if err := checkFiles(with); err != nil {
			return err
		}
		paths, err := findPaths(cmd, args)
		if err != nil {
			return err
		}
		if with != "" || write != "" {
			if err := baseline.CheckDistinct(paths); err != nil {
				return err
			}
		}
		var base *baseline.Baseline
		if with != "" {
			if base, err = baseline.Load(with, profile); err != nil {
				return fmt.Errorf("%w: %w", errInput, contractFlag(with, err))
			}
		}
		var runs []analysis.Run
		for _, path := range paths {
			cli.Reading(cmd, path, func(progress func(int64)) {
				runs = append(runs, analysis.Analyze(cmd.Context(), path, profile, progress)...)
			})
			if err := interrupted(cmd); err != nil {
				return err
			}
		}
		if base != nil {
			runs = base.Compare(runs)
		}
		p := newPrinter(cmd, f)
		shown.Base, shown.FailOn = base, *failOn
		p.Comparison(shown, runs)
		worst := render.StatusOfRuns(runs, *failOn)
		if write == "" {
			return p.Close(worst.Err())
		}
		switch err := baseline.Write(write, runs, profile); {
		case errors.Is(err, baseline.ErrUnread):
			return p.Close(fmt.Errorf("%w, so no baseline was written: it would lack a run", errInput))
		case isUnsynced(err):
			return p.Close(fmt.Errorf("baseline %w", err))
		case err != nil:
			return p.Close(fmt.Errorf("%w: %w", render.ErrOutput, err))
		}
		p.Note("baseline written: %s", write)
		if base == nil && *failOn == "" {
			return p.Close(nil) // what these runs are is what is wanted from now on
		}
		return p.Close(worst.Err())
	}
	return cmd
}

// contractFlag names the flag where a baseline was made under another contract.
func contractFlag(path string, err error) error {
	if other, ok := errors.AsType[*baseline.ContractError](err); ok {
		return fmt.Errorf("%s is no baseline that can be compared with: it was made with --contract %s; give that, or write it anew", path, other.Contract)
	}
	return err
}
