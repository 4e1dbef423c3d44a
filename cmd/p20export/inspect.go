package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/project/scan"
)

func newInspect() *cobra.Command {
	var messages, state bool
	var at, dialect string
	cmd := &cobra.Command{
		Use:   "inspect CAPTURE...",
		Short: "Show the runs, event counts, snapshots and times of captures",
		Long: `Show every run in each CAPTURE: its ids, its event families with counts, the
text messages it streamed, its MESSAGES_SNAPSHOT events with their positions and
messages, its times and their source, its terminal event and its size. Messages
are counted by role. A snapshot with fewer messages of a role than were streamed
may lack some; compare and freeze check the texts.

A CAPTURE is a capture directory, a plain SSE, NDJSON or JSON array file, or -
for standard input. Any other directory means all captures in it and below it,
finished or not. Symbolic links in it are not followed.

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
      p20export inspect -`,
		Args: cli.OneOrMore("CAPTURE"),
	}
	flags := cmd.Flags()
	flags.BoolVar(&messages, "messages", false, "show the messages that a client has")
	flags.BoolVar(&state, "state", false, "show the state that a client has")
	flags.StringVar(&at, "at", "", "with --messages or --state: after the event with the index `EVENT` (default: the last)")
	flags.StringVar(&dialect, "dialect", reduce.RFC6902.String(), "with --messages or --state: the dialect of JSON Patches, `rfc6902|client`")
	cli.Complete(cmd, "dialect", reduce.Dialects()...)
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		options, err := conversationOptions(cmd, at, dialect, messages, state)
		if err != nil {
			return err
		}
		paths, err := findPaths(cmd, args)
		if err != nil {
			return err
		}
		p := newPrinter(cmd, f)
		worst := render.Done
		for _, path := range paths {
			if messages || state {
				var c scan.Conversation
				cli.Reading(cmd, path, func(progress func(int64)) {
					c = lint.Conversation(cmd.Context(), path, options, progress)
				})
				p.Conversation(c, options)
				worst = worst.Worse(render.StatusOfConversation(c))
			} else {
				var rows []scan.Inspection
				cli.Reading(cmd, path, func(progress func(int64)) { rows = scan.Inspect(cmd.Context(), path, progress) })
				p.Inspection(rows)
				worst = worst.Worse(render.StatusOfInspection(rows))
			}
			if err := interrupted(cmd); err != nil {
				return p.Close(err)
			}
		}
		return p.Close(worst.Err())
	}
	return cmd
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
