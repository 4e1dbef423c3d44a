package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

func newLog() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Keep event streams in an append-only log, and read them",
		Long: `Keep the event streams of threads in an append-only log: an SQLite file or a
PostgreSQL database. A log keeps the exact bytes of events and requests, and the
times at which they arrived. Each thread has entries at the positions 1, 2, 3
and so on. Entries are only appended; the only thing that can be deleted is a
whole thread.

Every subcommand needs --store URL, or the environment variable P20EXPORT_STORE:

  sqlite:FILE                    a file; import, proxy and serve create it
  postgres://USER@HOST/DATABASE  a database, which must exist

A password in --store is refused, because other users can see command lines.
Give it with --password-file, or as for psql in PGPASSWORD or PGPASSFILE.
P20EXPORT_STORE may contain it. It is never printed.

A log is a tool for those who run agents. It is never evidence: p20export freeze
makes artifacts from captures.
` + exitHelp("the work was done", "a file, a thread or a proof was refused, or nothing was deleted because the question was not answered with y", "the log could not be used, or has no such thread"),
		Example: `  p20export log import captures/ --store sqlite:events.db
  p20export log threads --store sqlite:events.db
  p20export log cat THREAD --store sqlite:events.db --follow`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return fmt.Errorf("unknown command %q; the commands are %s", args[0], strings.Join(subcommands(cmd), ", "))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLogImport(), newLogExport(), newLogThreads(), newLogRuns(), newLogCat(), newLogRestore(), newLogView(), newLogStat(), newLogPack(), newLogSeal(), newLogVerify(), newLogProve(), newLogCheckProof(), newLogDelete())
	return cmd
}

// subcommands returns the names of the subcommands of a command.
func subcommands(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return names
}

func newLogThreads() *cobra.Command {
	var since, until timeFlag
	var deleted, newest bool
	cmd := &cobra.Command{
		Use:   "threads [THREAD...]",
		Short: "List the threads of a log",
		Long: `List the threads of a log with the number of their entries and runs, the size
of the entries' data, and the time of the last append. Without THREAD, list all
that the flags select, ordered by their ids, or with --newest the one first to
which something was appended last. Times are UTC.

TIME is a time in RFC 3339, a date, or an age such as 36h or 30d.
` + exitHelp("the threads were listed", "", "the log could not be used, or has no such thread"),
		Example: `  p20export log threads --store sqlite:events.db
  p20export log threads --store sqlite:events.db --since 24h --newest`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeThreads,
	}
	f := addStoreFlags(cmd)
	f.addAllTenants(cmd, "threads")
	cmd.Flags().Var(&since, "since", "only threads that were last appended to at `TIME` or later")
	cmd.Flags().Var(&until, "until", "only threads that were last appended to before `TIME`")
	cmd.Flags().BoolVar(&deleted, "deleted", false, "also list deleted threads")
	cmd.Flags().BoolVar(&newest, "newest", false, "list the threads first that were last appended to")
	completeTimes(cmd)
	format := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && f.allTenants:
			return errors.New("--all-tenants lists threads; it cannot be used with THREAD")
		case len(args) > 0 && (since.set || until.set || deleted || newest):
			return errors.New("--since, --until, --deleted and --newest are about all threads; they cannot be used with THREAD")
		}
		log, err := f.open(cmd.Context(), logs.Existing)
		if err != nil {
			return err
		}
		defer log.Close()
		p := newPrinter(cmd, format)
		for _, id := range args {
			t, err := f.thread(cmd.Context(), log, id)
			if err != nil {
				return p.Close(err)
			}
			p.LogThread(t, f.allTenants)
		}
		if len(args) > 0 {
			return p.Close(nil)
		}
		q := store.ThreadQuery{Tenant: f.queried(), From: since.Time, To: until.Time, Deleted: deleted, Newest: newest}
		listed := false
		for t, err := range log.Threads(cmd.Context(), q) {
			if err != nil {
				return p.Close(f.failed(err))
			}
			listed = true
			p.LogThread(t, f.allTenants)
		}
		if !listed && !f.allTenants && !since.set && !until.set && !deleted {
			err = f.noThreads(cmd.Context(), log, p)
		}
		return p.Close(err)
	}
	return cmd
}

// noThreads says that the threads of a log are those of other tenants.
func (f *storeFlags) noThreads(ctx context.Context, log store.Log, p *render.Printer) error {
	for t, err := range log.Threads(ctx, store.ThreadQuery{}) {
		if err != nil {
			return f.failed(err)
		}
		p.Note("no threads; those of other tenants, such as %s, are listed with --all-tenants", finding.Quote(t.Tenant))
		break
	}
	return nil
}

func newLogRuns() *cobra.Command {
	var since, until timeFlag
	var id, parent string
	var ends []string
	cmd := &cobra.Command{
		Use:   "runs [THREAD]",
		Short: "List the runs of a thread or of a log",
		Long: `List the runs of each thread in the order of their positions, which need not be
that of their times: AT, the position of RUN_STARTED, the number and size of
their events, and how they ended:

  open         neither the run nor its stream has ended
  finished     RUN_FINISHED
  interrupted  RUN_FINISHED with an interrupt, which waits for an answer
  cancelled    RUN_FINISHED that says that the run was cancelled
  failed       RUN_ERROR
  cut          the stream ended, or began another run, before the run had ended

Without THREAD, list the runs of all threads. A run id need not be unique in a
thread; AT identifies a run. Times are UTC.

TIME is a time in RFC 3339, a date, or an age such as 36h or 30d.
` + exitHelp("the runs were listed", "", "the log could not be used, or has no such thread"),
		Example: `  p20export log runs THREAD --store sqlite:events.db
  p20export log runs --store sqlite:events.db --since 24h --end failed,cut
  p20export log runs THREAD --store sqlite:events.db --format json |
      jq -r .run_id`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeThread,
	}
	f := addStoreFlags(cmd)
	f.addAllTenants(cmd, "runs of the threads")
	flags := cmd.Flags()
	flags.StringVar(&id, "run", "", "only runs with the run `ID`")
	flags.StringVar(&parent, "parent", "", "only runs whose parent has the run `ID`; '' selects runs without a parent")
	flags.Var(&since, "since", "only runs that began at `TIME` or later")
	flags.Var(&until, "until", "only runs that began before `TIME`")
	flags.StringSliceVar(&ends, "end", nil, "only runs with one of these `ENDS`: "+strings.Join(runEnds(), ", "))
	cli.Complete(cmd, "end", runEnds()...)
	cli.Complete(cmd, "run")
	cli.Complete(cmd, "parent")
	completeTimes(cmd)
	format := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := store.RunQuery{Tenant: f.queried(), From: since.Time, To: until.Time}
		for _, end := range ends {
			if !slices.Contains(runEnds(), end) {
				return fmt.Errorf("--end %q must be one of %s", end, strings.Join(runEnds(), ", "))
			}
			q.Ends = append(q.Ends, store.RunEnd(end))
		}
		if cmd.Flags().Changed("run") {
			q.ID = &id
		}
		if cmd.Flags().Changed("parent") {
			q.Parent = &parent
		}
		if len(args) > 0 && f.allTenants {
			return errors.New("--all-tenants lists the runs of all threads; it cannot be used with THREAD")
		}
		log, err := f.open(cmd.Context(), logs.Existing)
		if err != nil {
			return err
		}
		defer log.Close()
		if len(args) > 0 {
			if _, err := f.existing(cmd.Context(), log, args[0]); err != nil {
				return err
			}
			q.Thread = &args[0]
		}
		p := newPrinter(cmd, format)
		for r, err := range log.Runs(cmd.Context(), q) {
			if err != nil {
				return p.Close(f.failed(err))
			}
			p.LogRun(r, len(args) == 0)
		}
		return p.Close(nil)
	}
	return cmd
}

// runEnds returns the values of --end.
func runEnds() []string {
	return []string{string(store.Open), string(store.Finished), string(store.Interrupted), string(store.Cancelled), string(store.Failed), string(store.Cut)}
}

// timeFlag is the value of --since and --until: a time, or an age before now.
type timeFlag struct {
	time.Time
	set bool
}

// String implements pflag.Value.
func (f *timeFlag) String() string {
	if !f.set {
		return ""
	}
	return artifact.FormatTime(f.Time)
}

// Set implements pflag.Value.
func (f *timeFlag) Set(s string) error {
	var age ageFlag
	t, err := artifact.ParseTime(s)
	if err != nil {
		t, err = time.Parse(time.DateOnly, s)
	}
	if err != nil && age.Set(s) == nil {
		t, err = time.Now().Add(-time.Duration(age)), nil
	}
	if err != nil {
		return errors.New("not a time such as 2026-01-31T12:00:00Z, a date such as 2026-01-31, or an age such as 36h or 30d")
	}
	f.Time, f.set = t, true
	return nil
}

// Type implements pflag.Value.
func (*timeFlag) Type() string { return "time" }

func completeTimes(cmd *cobra.Command) {
	for _, name := range []string{"since", "until"} {
		cli.Complete(cmd, name, "1h", "24h", "7d", "30d")
	}
}
