package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/ordered"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/project/scan"
)

func newInspect() *cobra.Command {
	var messages, state bool
	var at, dialect string
	cmd := &cobra.Command{
		Use:   "inspect CAPTURE... | inspect --from-list FILE | inspect --from-tar FILE",
		Short: "Show the runs, event counts, snapshots and times of captures",
		Long: `Show every run in each CAPTURE: its ids, its event families with counts, the
text messages it streamed, its MESSAGES_SNAPSHOT events with their positions and
messages, its times and their source, its terminal event and its size. Messages
are counted by role. A snapshot with fewer messages of a role than were streamed
may lack some; compare and freeze check the texts.

A CAPTURE is a capture directory, a plain SSE, NDJSON or JSON array file, or -
for standard input. Any other directory means all captures in it and below it,
finished or not. Symbolic links in it are not followed.

` + cli.BatchHelp("captures", "each capture directory in the archive is one capture, and every file outside such a directory is a capture too") + `

Events are counted from 0, as in a record, but runs and snapshots from 1.
inspect lists the problems of a run, but its exit status does not depend on
them.

--messages shows the messages that a client has after the last event, or after
the event --at, and --state the state. They begin with those in request.json and
continue through all runs. They do not affect artifacts and are not evidence.

The rules are those of @ag-ui/client 1.0.0. It ends a run at an event that it
refuses; inspect names the first such event and goes on. It skips events that
cannot have an effect, and warns. JSON Patches follow RFC 6902, or, with
--dialect client, what the client does.
` + exitHelp("every capture has a run and was not changed; other problems are only shown", "a capture has no run, or was changed after it was closed", ""),
		Example: `  p20export inspect captures/one-turn
  p20export inspect --format json captures | jq .families
  p20export inspect --messages captures/backend-tool
  p20export inspect --state --at 7 --format json run.sse | jq .state
  curl -sN -d @request.json -H 'Content-Type: application/json' URL |
      p20export inspect -
  p20export inspect --from-tar captures.tar.gz --format json | jq -r .terminal`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	flags := cmd.Flags()
	flags.BoolVar(&messages, "messages", false, "show the messages that a client has")
	flags.BoolVar(&state, "state", false, "show the state that a client has")
	flags.StringVar(&at, "at", "", "with --messages or --state: after the event with the index `EVENT` (default: the last)")
	flags.StringVar(&dialect, "dialect", reduce.RFC6902.String(), "with --messages or --state: the dialect of JSON Patches, `rfc6902|client`")
	cli.Complete(cmd, "dialect", reduce.Dialects()...)
	batch := cli.AddBatch(cmd, "captures")
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		options, err := conversationOptions(cmd, at, dialect, messages, state)
		if err != nil {
			return err
		}
		src, err := openInputs(cmd, batch, args)
		if err != nil {
			return err
		}
		defer src.Close()
		p := newPrinter(cmd, f)
		if messages || state {
			return p.Close(inspectAll(cmd, p, src, batch, args, func(ctx context.Context, in *inputs.Input, progress scan.Progress) inspected {
				c := lint.Conversation(ctx, in, options, progress)
				return inspected{render.StatusOfConversation(c), func() { p.Conversation(c, options) }}
			}))
		}
		return p.Close(inspectAll(cmd, p, src, batch, args, func(ctx context.Context, in *inputs.Input, progress scan.Progress) inspected {
			rows := scan.Inspect(ctx, in, progress)
			return inspected{render.StatusOfInspection(rows), func() { p.Inspection(rows) }}
		}))
	}
	return cmd
}

// inspected is the result of inspecting a capture, and prints it.
type inspected struct {
	status render.Status
	print  func()
}

// inspectAll inspects the captures of a source and prints the results. A list or archive
// that cannot be read to its end has a result of its own, after those of its captures.
func inspectAll(cmd *cobra.Command, p *render.Printer, src *inputs.Source, batch *cli.Batch, args []string, inspect func(context.Context, *inputs.Input, scan.Progress) inspected) error {
	if isSingle(batch, args) {
		var one inspected
		cli.Reading(cmd, args[0], func(progress func(int64)) { one = inspect(cmd.Context(), inputs.File(args[0]), progress) })
		one.print()
		return cmp.Or(interrupted(cmd), one.status.Err())
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	defer batch.Relax()()
	worst, count, missing := render.Done, map[render.Status]int{}, ""
	shown := p.NewBatchProgress(cmd.ErrOrStderr(), "captures", src.InBytes(), src.Progress, func() string { return render.InspectionCounts(count) })
	defer shown.End()
	all, sourceError := inputsOf(ctx, src)
	for one := range ordered.Map(ctx, batch.Jobs, all, func(_ int, in *inputs.Input) inspected {
		defer in.Close()
		return inspect(ctx, in, nil)
	}) {
		one.print()
		count[one.status]++
		worst = worst.Worse(one.status)
		if shown.Done(); !p.Flush() {
			stop()
			break
		}
	}
	shown.End()
	if err := interrupted(cmd); err != nil {
		return err
	}
	switch err := sourceError(); {
	case err != nil && batch.HasArguments():
		return inputError(err)
	case err != nil:
		inspect(ctx, inputs.Failed(cmp.Or(batch.List, batch.Tar), err), nil).print()
		worst, missing = render.Failed, unread(batch)
	}
	if !batch.HasArguments() {
		p.InspectionSummary(count, missing)
	}
	return worst.Err()
}

// conversationOptions returns the settings for --messages and --state.
func conversationOptions(cmd *cobra.Command, at, dialect string, messages, state bool) (o scan.ConversationOptions, err error) {
	o.Messages, o.State = messages, state
	for _, name := range []string{"at", "dialect"} {
		if cmd.Flags().Changed(name) && !messages && !state {
			return o, fmt.Errorf("--%s needs --messages or --state", name)
		}
	}
	if o.At = -1; cmd.Flags().Changed("at") {
		switch o.At, err = strconv.Atoi(at); {
		case errors.Is(err, strconv.ErrRange):
			return o, fmt.Errorf("--at %s: no capture has so many events", at)
		case err != nil:
			return o, fmt.Errorf("--at %q: give the index of an event, which is a number", at)
		case o.At < 0:
			return o, fmt.Errorf("--at %d: events are counted from 0", o.At)
		}
	}
	if o.Dialect, err = reduce.ParseDialect(dialect); err != nil {
		return o, fmt.Errorf("--dialect: %w", err)
	}
	return o, nil
}
