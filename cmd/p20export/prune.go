package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/prune"
)

func newPrune() *cobra.Command {
	age := ageFlag(-1)
	var s prune.Settings
	cmd := &cobra.Command{
		Use:   "prune DIR --older-than AGE --frozen-in OUT | prune DIR --older-than AGE --unfrozen",
		Short: "Remove old captures from a directory",
		Long: `Remove the captures in DIR and below it that ended more than AGE ago and whose
frozen evidence is in OUT: every run of the capture has a record in OUT or below
it, next to the artifact and the envelope that it names, and repeating the
projection gives the same files, as p20export verify checks. Captures without
such records are kept, for example those of HTTP errors and of runs that freeze
refuses; --unfrozen removes them too. One of --frozen-in and --unfrozen is
required, so that no capture is removed by accident.

Unfinished captures, and what p20export recover has set aside (*.unfinished),
are kept unless --unfinished is given; their age is the time since the last
change to a file. A capture that is being written is never removed, and neither
is a directory that contains anything but files of a capture. Symbolic links are
not followed.

Verdicts:
  removed    the directory was removed
  removable  the directory would be removed without --dry-run
  kept       the directory was not removed; unless it is too young, a finding
             says why
  error      the directory could not be read or removed (exit status 3)

If prune is interrupted, it leaves at most one directory with a temporary name,
which no command takes for a capture. The next prune removes it. Text output
does not list captures that are kept because of their age.
` + exitHelp("everything that was to be removed was removed", "", "a directory could not be read or removed"),
		Example: `  p20export prune captures --older-than 30d --frozen-in frozen
  p20export prune captures --older-than 90d --unfrozen --unfinished --dry-run`,
		Args:              cli.One("DIR"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	}
	cmd.Flags().Var(&age, "older-than", "remove captures that ended more than this `AGE` ago, such as 36h or 30d (required)")
	cmd.Flags().StringVar(&s.FrozenIn, "frozen-in", "", "remove only captures whose frozen evidence is in the directory `OUT`")
	cmd.Flags().BoolVar(&s.Unfrozen, "unfrozen", false, "also remove captures without frozen evidence")
	cmd.Flags().BoolVar(&s.Unfinished, "unfinished", false, "also remove unfinished captures, and what recover has set aside")
	cmd.Flags().BoolVar(&s.DryRun, "dry-run", false, "only print what would be removed")
	f := cli.AddFormat(cmd)
	cli.CompleteBy(cmd, "frozen-in", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	cli.Complete(cmd, "older-than", "24h", "7d", "30d", "90d")
	cli.Require(cmd, "older-than")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case cmd.Flags().Changed("frozen-in") && s.FrozenIn == "":
			return errors.New("--frozen-in is empty")
		case s.FrozenIn == "" && !s.Unfrozen:
			return errors.New("give --frozen-in OUT to remove only captures whose frozen evidence is in OUT, or --unfrozen to remove others too")
		}
		s.Before = time.Now().Add(-time.Duration(age))
		p := newPrinter(cmd, f)
		var tally render.Tally
		var freed int64
		for row, err := range prune.Dir(cmd.Context(), args[0], s) {
			switch {
			case errors.Is(err, prune.ErrIsCapture):
				return p.Close(fmt.Errorf("%s is a capture; name the directory that contains it", finding.Quote(args[0])))
			case err != nil:
				return p.Close(inputError(err))
			}
			tally.Add(row.Verdict)
			if row.Verdict == prune.Removed || row.Verdict == prune.Removable {
				freed += row.Bytes
			}
			p.Pruned(row)
			if !p.Flush() {
				return p.Close(nil)
			}
		}
		p.PruneSummary(args[0], &tally, freed)
		return p.Close(tally.Status.Err())
	}
	return cmd
}

// ageFlag is the value of --older-than: a duration that may begin with days. It is
// negative if it is not set.
type ageFlag time.Duration

// String implements pflag.Value.
func (f *ageFlag) String() string {
	if *f < 0 {
		return ""
	}
	return time.Duration(*f).String()
}

// Set implements pflag.Value.
func (f *ageFlag) Set(s string) error {
	const day = 24 * time.Hour
	days, rest, found := strings.Cut(s, "d")
	if !found {
		days, rest = "0", s
	}
	n, err := strconv.ParseUint(days, 10, 32)
	var d time.Duration
	if err == nil && (rest != "" || !found) {
		d, err = time.ParseDuration(rest)
	}
	if err != nil || d < 0 || n > uint64((math.MaxInt64-d)/day) {
		return errors.New("not an age such as 36h, 30d or 1d12h")
	}
	*f = ageFlag(time.Duration(n)*day + d)
	return nil
}

// Type implements pflag.Value.
func (*ageFlag) Type() string { return "age" }
