package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/docs"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

// catFlags are the flags of log cat.
type catFlags struct {
	after   int64
	run     string
	follow  bool
	framing string
	format  *render.Format
}

func newLogCat() *cobra.Command {
	var c catFlags
	cmd := &cobra.Command{
		Use:   "cat THREAD",
		Short: "Print the events of a thread, and follow it",
		Long: `Print the events of a thread in their order. Events of streams that were open at
the same time alternate; --run selects one run.

  --framing ndjson  one event per line (default)
  --framing sse     server-sent events; their id is the position
  --format json     a row for each entry, also for requests and ends of streams,
                    with its position, run, stream, kind and time of arrival

Events are printed byte for byte, except those that the framing cannot express:
an event with a line break that is JSON is printed on one line, without space
between its tokens; other text with a line break is printed as a JSON string
(with sse, this is only needed for carriage returns). On a terminal, characters
that it could act on are escaped.

With --follow, print each further event when it is appended, by any process,
until a signal, or until the reader of a pipe is gone. The thread must exist.
With --run, stop when the run has ended. To continue later, give the last
position with --after; only --framing sse and --format json print positions.
` + exitHelp("the events were printed", "", "the log could not be used, or has no such thread or run"),
		Example: `  p20export log cat THREAD --store sqlite:events.db
  p20export log cat THREAD --store sqlite:events.db --run r1 --framing sse
  p20export log cat THREAD --store sqlite:events.db --after 1200 --follow`,
		Args:              cli.One("THREAD"),
		ValidArgsFunction: completeThread,
	}
	f := addStoreFlags(cmd)
	flags := cmd.Flags()
	flags.Int64Var(&c.after, "after", 0, "only entries after this `POSITION`")
	flags.StringVar(&c.run, "run", "", "only the run with this `ID`, or that begins at a position, as in '#17'")
	flags.BoolVarP(&c.follow, "follow", "f", false, "wait for further entries")
	flags.StringVar(&c.framing, "framing", string(capture.NDJSON), "print the events as `ndjson|sse`")
	cli.Complete(cmd, "after")
	cli.Complete(cmd, "run")
	cli.Complete(cmd, "framing", string(capture.NDJSON), string(capture.SSE))
	c.format = cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch framing := capture.Framing(c.framing); {
		case framing != capture.NDJSON && framing != capture.SSE:
			return fmt.Errorf("--framing %q must be ndjson or sse", c.framing)
		case c.after < 0:
			return errors.New("--after is a position, which cannot be negative")
		}
		if err := cli.CheckTextFlags(cmd, *c.format, "framing"); err != nil {
			return err
		}
		log, t, err := f.openThread(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		defer log.Close()
		ctx, end := cli.WithReader(cmd)
		defer end()
		p := newPrinter(cmd, c.format)
		err = c.cat(ctx, f, log, t, p)
		if errors.Is(context.Cause(ctx), cli.ErrReaderGone) {
			return nil
		}
		return p.Close(err)
	}
	return cmd
}

// cat prints the entries of a thread that the flags select.
func (c *catFlags) cat(ctx context.Context, f *storeFlags, log store.Log, t store.Thread, p *render.Printer) error {
	var run store.Run // zero for all
	from, follow := c.after, c.follow
	if c.run != "" {
		var err error
		if run, err = f.run(ctx, log, t.Thread, c.run); err != nil {
			return err
		}
		from, follow = max(from, run.Start-1), follow && run.End == store.Open
		if follow {
			from = min(from, run.Last) // the run may end before the position of --after
		}
	}
	which := store.Selection{After: from, To: run.Last} // 0 for all
	if *c.format != render.JSON {
		which.Kinds = []store.Kind{store.Event, store.Closing}
	}
	entries := log.Select(ctx, t.Key, which)
	if follow {
		entries = log.Follow(ctx, t.Key, min(from, t.Last)) // up to c.after, nothing is printed
	}
	for e, err := range entries {
		switch {
		case errors.Is(err, store.ErrDeleted):
			return f.failed(fmt.Errorf("thread %s was deleted while it was read", finding.Quote(t.Thread)))
		case err != nil:
			return f.failed(err)
		case e.Position > c.after && (run.Start == 0 || e.Run == run.Start):
			c.print(p, e)
		}
		if follow && e.Position >= t.Last && !p.Flush() {
			return nil
		}
		if run.Start > 0 && runEnded(e, &run, follow) {
			return nil
		}
	}
	return nil
}

// runEnded reports whether an entry ends the run or is after its end. The end of an open run is
// not known.
func runEnded(e *store.Entry, run *store.Run, open bool) bool {
	if !open {
		return e.Position >= run.Last
	}
	switch {
	case e.Stream != run.Stream || e.Position <= run.Start:
		return false
	case e.Kind == store.End || e.Run != run.Start && e.Run != 0:
		return true
	}
	return e.Type == envelope.RunFinished || e.Type == envelope.RunError
}

// print prints an entry in the form that the flags choose.
func (c *catFlags) print(p *render.Printer, e *store.Entry) {
	switch {
	case *c.format == render.JSON:
		p.LogEntry(e)
	case e.Kind == store.Event || e.Kind == store.Closing:
		p.LogEvent(e, capture.Framing(c.framing))
	}
}

// run returns the run of a thread with an id, or that begins at a position, as in "#17".
func (f *storeFlags) run(ctx context.Context, log store.Log, thread, id string) (store.Run, error) {
	all := store.RunQuery{Tenant: &f.tenant, Thread: &thread}
	named := all
	named.ID = &id
	found, err := collect(log.Runs(ctx, named), maxSimilar)
	if position, isPosition := strings.CutPrefix(id, "#"); err == nil && len(found) == 0 && isPosition {
		start, parseErr := strconv.ParseInt(position, 10, 64)
		for run, err := range log.Runs(ctx, all) {
			if err == nil && parseErr == nil && run.Start < start {
				continue
			}
			if err != nil {
				return run, f.failed(err)
			}
			if run.Start == start {
				return run, nil
			}
			break
		}
		return store.Run{}, f.failed(fmt.Errorf("no run of thread %s begins at the position %s\nnext: p20export log runs THREAD lists the positions", finding.Quote(thread), finding.Escape(position)))
	}
	switch {
	case err != nil:
		return store.Run{}, f.failed(err)
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return store.Run{}, f.failed(f.unknownRun(ctx, log, all, id))
	}
	return store.Run{}, f.failed(ambiguous(found))
}

// collect returns the runs of a query, at most most of them.
func collect(runs iter.Seq2[store.Run, error], most int) (list []store.Run, err error) {
	for run, err := range runs {
		if err != nil {
			return list, err
		}
		if list = append(list, run); len(list) == most {
			break
		}
	}
	return list, nil
}

// unknownRun returns the error for a run that does not exist.
func (f *storeFlags) unknownRun(ctx context.Context, log store.Log, all store.RunQuery, id string) error {
	list, err := collect(log.Runs(ctx, all), maxSimilar)
	if err != nil {
		return err
	}
	var names []string
	for _, run := range list {
		if run.ID != "" {
			names = append(names, run.ID)
		}
	}
	err = fmt.Errorf("thread %s has no run %s", finding.Quote(*all.Thread), finding.Quote(id))
	if names == nil {
		return err
	}
	return fmt.Errorf("%w\nnext: the most similar are %s; p20export log runs THREAD lists all", err, quoted(docs.NearestOf(id, slices.Compact(slices.Sorted(slices.Values(names))))))
}

// maxListed is the number of positions that an error lists.
const maxListed = 10

// ambiguous returns the error for several runs with the same id.
func ambiguous(runs []store.Run) error {
	var at []string
	for _, run := range runs[:min(len(runs), maxListed)] {
		at = append(at, strconv.FormatInt(run.Start, 10))
	}
	list := strings.Join(at, ", ")
	if len(runs) > maxListed {
		list += " and others"
	}
	count := strconv.Itoa(len(runs))
	if len(runs) == maxSimilar {
		count += " or more"
	}
	return fmt.Errorf("%s runs of thread %s have the id %s; they begin at the positions %s\nnext: choose one by its position, as in --run '#%s'",
		count, finding.Quote(runs[0].Thread), finding.Quote(runs[0].ID), list, at[0])
}
