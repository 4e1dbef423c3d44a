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
	var goldens goldenFlags
	cmd := &cobra.Command{
		Use:   "compare CAPTURE...",
		Short: "Compare captures with the contract, or with a baseline",
		Long: `Compare each run of each CAPTURE with the contract (P20 §7, §8), and print a
line for it: the verdict, and what is missing or left out. Nothing is frozen. A
directory that is not a capture means all captures in it and below it, finished
or not. Symbolic links in it are not followed.

Verdicts, best first:
  exact       the artifact has every message of the one emitted snapshot,
              unchanged, and the ids and the error
  reduced     the artifact leaves out messages or their parts, a parent run id
              that is null or blank, the end of an error text, or that the run
              ended under another id
  chosen      the run emitted several snapshots; the last one can be frozen
  incomplete  the snapshot lacks text that the run streamed, and so would the
              artifact
  built       the run emitted no snapshot; one can be built from the request and
              the stream
  refused     no projection freezes the run

In every case the artifact omits keys of the events that the contract does not
have.

--details also shows what each projection does with a run and why, the positions
of its snapshots, the differences between the messages folded from request and
stream and the emitted ones, whether the snapshot keeps the ids of streamed
messages, the run's times, parent, sizes and findings, and how often each key
occurs.

With --baseline the text lists each change once, with the runs that it occurs
in. A change affects the contract, and the exit status is 1, if it is about:
  - which runs there are
  - the terminal event or the snapshots of a run
  - the result of a projection
  - whether a snapshot lacks streamed text
  - a key that the artifact takes
  - the source of the times
Other changes are listed but do not affect the exit status. --fail-on applies as
well; with --fail-on none the exit status is never 1.

A baseline is a file written by --write-baseline. It has the shape of every run,
without ids, times and texts; keep it with the integration's code. Runs are
identified by the name of their capture and their number in it. --write-baseline
replaces a baseline, but never another file.

--golden DIR compares every event instead, in the normal form of docs/traces.md,
with DIR/NAME.trace.jsonl for the capture NAME, and prints the events that are
missing, added, changed or moved. A capture without a golden, or a golden
without a capture, is a difference too. --write-golden DIR writes the goldens
that differ and appends --reason to DIR/CHANGES.md. It writes nothing if a
capture is damaged or incomplete, or if lint refuses it and not its golden, and
nothing in CI (CI=true) without --force. DIR/trace.json has the settings, and
matchers for values that are random.

--format sarif (SARIF 2.1.0) and --format junit (JUnit XML) write one document
after all captures have been read, and nothing if interrupted.
` + exitHelp("every run is exact or reduced; with --baseline, no change affects the contract; with only --write-baseline, the file was written; with --golden, all captures equal theirs; with --write-golden, all goldens are as the captures", "a run is chosen, incomplete, built or refused; with --baseline, a change affects the contract; with --fail-on V, a run is V or worse; with --golden, something differs; with --write-golden, a capture cannot become a golden", ""),
		Example: `  p20export compare captures
  p20export compare captures/one-turn --details
  p20export compare captures --fail-on incomplete --quiet
  p20export compare captures --write-baseline baseline.json
  p20export compare fresh --baseline baseline.json
  p20export compare captures --write-golden golden --reason "the first goldens"
  p20export compare fresh --golden golden
  p20export compare captures --contract assay --format json | jq .verdict`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	cmd.Flags().StringVar(&contract, "contract", string(artifact.V1), "limits for artifacts: `v1|assay`; assay adds those of Assay's mapper 5.4.0")
	cmd.Flags().StringVar(&with, "baseline", "", "compare with the baseline in `FILE`, written by --write-baseline")
	cmd.Flags().StringVar(&write, "write-baseline", "", "write the shape of these runs to `FILE`, as a baseline")
	goldens.add(cmd)
	failOn := cli.AddFailOn(cmd, "a run")
	cmd.Flags().BoolVar(&shown.Details, "details", false, "show everything about each run, and count the keys of the events")
	cmd.Flags().BoolVarP(&shown.Quiet, "quiet", "q", false, "show only the number of runs with each verdict")
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
		traced, err := goldens.given(cmd)
		if err != nil {
			return err
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
		if traced {
			return goldens.run(cmd, paths, shown.Quiet, f)
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
			return p.Close(fmt.Errorf("%w; no baseline was written, because it would lack a run", errInput))
		case isUnsynced(err):
			return p.Close(fmt.Errorf("baseline %w", err))
		case err != nil:
			return p.Close(fmt.Errorf("%w: %w", render.ErrOutput, err))
		}
		p.Note("baseline written: %s", write)
		if base == nil && *failOn == "" {
			return p.Close(nil) // these runs are the new expectation
		}
		return p.Close(worst.Err())
	}
	return cmd
}

// contractFlag adds the flag --contract to the error about a baseline that was made
// under another contract.
func contractFlag(path string, err error) error {
	if other, ok := errors.AsType[*baseline.ContractError](err); ok {
		return fmt.Errorf("cannot compare with the baseline %s: it was made with --contract %s; use that contract, or write a new baseline", path, other.Contract)
	}
	return err
}
