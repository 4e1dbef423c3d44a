package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/project/scan"
)

func newInspect() *cobra.Command {
	var messages, state bool
	var at int
	var dialect string
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
inspect lists the problems of a run, but does not check anything.

--messages shows the messages that a client has after the last event, or after
the event --at, and --state the state. They begin with those in request.json and
continue through all runs. The rules are those of @ag-ui/client 1.0.0, which
refuses some streams; inspect ignores what has no effect, with a warning. JSON
Patches follow RFC 6902, or, with --dialect client, what the client does.
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
	flags.IntVar(&at, "at", 0, "with --messages or --state: after the event with the index `EVENT` (default: the last)")
	flags.StringVar(&dialect, "dialect", reduce.RFC6902.String(), "with --messages or --state: the dialect of JSON Patches, `rfc6902|client`")
	cli.Complete(cmd, "dialect", reduce.Dialects()...)
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		options, err := conversationOptions(cmd, at, dialect, messages || state)
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
					c = scan.ReadConversation(cmd.Context(), path, options, progress)
				})
				p.Conversation(c, messages, state)
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
func conversationOptions(cmd *cobra.Command, at int, dialect string, asked bool) (o scan.ConversationOptions, err error) {
	for _, name := range []string{"at", "dialect"} {
		if cmd.Flags().Changed(name) && !asked {
			return o, fmt.Errorf("--%s needs --messages or --state", name)
		}
	}
	if o.At = at; !cmd.Flags().Changed("at") {
		o.At = -1
	} else if at < 0 {
		return o, fmt.Errorf("--at %d: events are counted from 0", at)
	}
	if o.Dialect, err = reduce.ParseDialect(dialect); err != nil {
		return o, fmt.Errorf("--dialect: %w", err)
	}
	return o, nil
}
