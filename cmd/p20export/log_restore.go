package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/restore"
)

// restoreFlags are the flags of log restore.
type restoreFlags struct {
	run, fork, input, dialect string
	at                        int64
	omitHistory               bool
	given                     func(flag string) bool
	format                    *render.Format
}

func newLogRestore() *cobra.Command {
	var r restoreFlags
	cmd := &cobra.Command{
		Use:   "restore THREAD [--run ID | --at POSITION]",
		Short: "Show the messages and the state of a thread, at any time",
		Long: `Restore the messages and the state of a thread as they were at the end of a run,
or after the entry at a position. Without --run and --at, the run is the last
that began. The conversation of a run is that of its parent, as far as the
parent got before the run began, then its request, and then its events:
p20export lineage shows the parents.

How a request is read (--input):
  full        a request has the whole conversation, which replaces the history
  normalized  a request may omit what the history has: messages with new ids are
              added, and the state, if there is one, replaces the history's
  auto        normalized for runs with a parentRunId, and full for the others;
              messages that repeat the history with other ids replace it, and
              activities and reasoning stay that clients keep but do not send

With --fork NEWRUN, print a request (RunAgentInput) that continues the run, with
parentRunId, the conversation, and the tools, the context and the forwardedProps
of the run's own request. Add the next message of the user, or if the run waits
for answers to interrupts, add them in resume.

What is restored is not evidence.
` + exitHelp("the conversation was printed", "", "the log could not be used, has no such thread, run or position, or the run cannot be continued"),
		Example: `  p20export log restore THREAD --store sqlite:events.db
  p20export log restore THREAD --store sqlite:events.db --at 120 --format json
  p20export log restore THREAD --store sqlite:events.db --run r1 --fork r2 |
      curl -sN -H 'Content-Type: application/json' -d @- http://127.0.0.1:8011/`,
		Args:              cli.One("THREAD"),
		ValidArgsFunction: completeThread,
	}
	f := addStoreFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&r.run, "run", "", "at the end of the run with this `ID`, or that begins at a position, as in '#17'")
	flags.Int64Var(&r.at, "at", 0, "after the entry at this `POSITION`")
	flags.StringVar(&r.fork, "fork", "", "print a request that continues the run, with the run id `NEWRUN`")
	flags.BoolVar(&r.omitHistory, "omit-history", false, "with --fork: omit messages and state, for agents that have them")
	flags.StringVar(&r.input, "input", string(restore.Auto), "what requests have: `auto|full|normalized`")
	flags.StringVar(&r.dialect, "dialect", reduce.RFC6902.String(), "dialect of JSON Patches: `rfc6902|client`")
	cli.Complete(cmd, "run")
	cli.Complete(cmd, "at")
	cli.Complete(cmd, "fork")
	cli.Complete(cmd, "input", restore.Inputs()...)
	cli.Complete(cmd, "dialect", reduce.Dialects()...)
	r.format = cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.given = cmd.Flags().Changed
		options, err := r.options()
		if err != nil {
			return err
		}
		log, err := f.open(cmd.Context(), logs.Existing)
		if err != nil {
			return err
		}
		defer log.Close()
		t, result, err := r.restore(cmd.Context(), f, log, args[0], options)
		if err != nil {
			return err
		}
		if r.fork != "" {
			return r.printFork(cmd, t, result)
		}
		p := newPrinter(cmd, r.format)
		p.Restored(t, result)
		return p.Close(nil)
	}
	return cmd
}

// options checks the flags and returns the options of the restore.
func (r *restoreFlags) options() (o restore.Options, err error) {
	switch {
	case r.given("run") && r.given("at"):
		return o, errors.New("give either --run or --at, not both")
	case r.given("run") && r.run == "":
		return o, errors.New("--run is empty")
	case r.given("at") && r.at < 1:
		return o, fmt.Errorf("--at %d: positions are counted from 1", r.at)
	case r.given("fork") && r.fork == "":
		return o, errors.New("--fork is empty")
	case r.given("fork") && r.given("at"):
		return o, errors.New("--fork continues a whole run, because a request cannot name a position in it; use --run")
	case r.omitHistory && r.fork == "":
		return o, errors.New("--omit-history can only be used with --fork")
	case r.fork != "" && *r.format != render.Text:
		return o, errors.New("--fork prints a request, which is JSON; it cannot be used with --format")
	}
	if o.Input, err = restore.ParseInput(r.input); err != nil {
		return o, fmt.Errorf("--input: %w", err)
	}
	if o.Dialect, err = reduce.ParseDialect(r.dialect); err != nil {
		return o, fmt.Errorf("--dialect: %w", err)
	}
	return o, nil
}

// restore restores the conversation that the flags select.
func (r *restoreFlags) restore(ctx context.Context, f *storeFlags, log store.Log, id string, o restore.Options) (*restore.Thread, *restore.Result, error) {
	if _, err := f.existing(ctx, log, id); err != nil {
		return nil, nil, err
	}
	var run store.Run
	if r.run != "" { // before the thread is opened, so that it has the run
		var err error
		if run, err = f.run(ctx, log, id, r.run); err != nil {
			return nil, nil, err
		}
	}
	t, err := restore.Open(ctx, log, f.key(id), o)
	if err != nil {
		return nil, nil, f.failed(err)
	}
	var result *restore.Result
	nodes := t.Graph.Nodes
	switch {
	case r.at > 0:
		result, err = t.At(ctx, r.at)
		if errors.Is(err, restore.ErrPosition) {
			err = fmt.Errorf("thread %s has no position %d: the last is %d", finding.Quote(id), r.at, t.Last)
		}
	case len(nodes) == 0:
		err = fmt.Errorf("thread %s has no run", finding.Quote(id))
	default:
		n := nodes[len(nodes)-1]
		for _, other := range nodes {
			if other.Position == run.Start {
				n = other
			}
		}
		result, err = t.Run(ctx, n)
	}
	if err != nil {
		return nil, nil, f.failed(err)
	}
	return t, result, nil
}

// printFork prints a request that continues the run of a result. Findings go to standard
// error.
func (r *restoreFlags) printFork(cmd *cobra.Command, t *restore.Thread, result *restore.Result) error {
	form := lineage.Full
	if r.omitHistory {
		form = lineage.Normalized
	}
	in, err := t.Fork(result, r.fork, form)
	if err != nil {
		return err
	}
	text := event.AppendRunInput(nil, in)
	about := render.New(cmd.ErrOrStderr(), render.Text, build.Tool())
	about.Findings(result.Findings)
	if err := about.Close(nil); err != nil {
		return err
	}
	p := newPrinter(cmd, r.format)
	p.Raw(append(text, '\n'))
	return p.Close(nil)
}
