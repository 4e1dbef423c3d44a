package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture/replay"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/monitor"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/finding"
)

func newReplay() *cobra.Command {
	var speed, match, ids string
	var origins []string
	cmd := &cobra.Command{
		Use:   "replay CAPTURE|DIR --listen ADDRESS",
		Short: "Answer requests with recorded runs, as if it were the agent",
		Long: `Serve recorded responses over HTTP, so that a front end or a test can use real
runs without the agent and its model. Every POST request, to any path, gets a
recorded response: the same status, content type, bytes, pauses and end. A
response that broke off when it was recorded breaks off again. No model is
asked, and no run happens.

A CAPTURE, which is a capture directory or a plain SSE, NDJSON or JSON array
file, answers every request. DIR means all captures in it and below it, without
the unfinished ones, and with --ids without those in which ids cannot be found,
such as responses with an unknown content coding; each has a line on standard
error. --match says which of them answers a request:

  order  the first capture answers the first request, the second the second, and
         so on, in the order in which they were started (default for DIR)
  input  the capture whose request has exactly the same last user message. If a
         message has several texts, they are joined. Several captures with the
         same message take turns, and begin again after the last

If no capture answers a request, the response is 404 with the reason.

--speed divides the pauses: 1 keeps them, 10 makes them ten times shorter, and 0
removes them. The time before the headers was not recorded: they are sent at
once. Captures without arrival times, such as imported files, are sent without
pauses.

--ids request replaces the thread id and the run id in RUN_STARTED, RUN_FINISHED
and RUN_ERROR, and in the input of RUN_STARTED, with those of the request, for
clients that compare them. It replaces the ids of the first run and of the
recorded request; other ids, such as parentRunId, stay. In MESSAGES_SNAPSHOT and
in that input, user messages get the ids of the user messages of the request
with the same text, up to the first message that the request does not have, so
that a client shows the conversation in order.
A response that was altered has the header P20export-Altered: ids, and is sent
without content coding. All others are sent byte for byte as they are stored,
also if they are compressed.

A page in a browser can read the responses only if it has the same origin, or if
--allow-origin gives its origin: the scheme, host and port of its address.

Every capture is verified when it is loaded, and again while it is sent: if it
was changed, replay does not start, or breaks off the response. replay listens
only on a loopback address and refuses requests for other host names, unless
--allow-remote is given. It logs to standard error; the first line with the
message "listening" has the address, and no line contains content of a capture.
Ctrl-C stops it.
` + serverExitHelp("responses", "a capture cannot be read, was changed or cannot be replayed, or the address cannot be used"),
		Example: `  p20export replay captures/one-turn --listen 127.0.0.1:8011
  p20export replay captures --listen 127.0.0.1:8011 --match input --speed 0
  p20export replay captures --listen 127.0.0.1:0 --ids request --log-format json
  p20export replay captures --listen 127.0.0.1:8011 \
      --allow-origin http://localhost:5173`,
		Args: cli.One("CAPTURE or DIR"),
	}
	flags := cmd.Flags()
	flags.StringVar(&speed, "speed", "1", "divide the recorded pauses by `N`; 1 keeps them, and 0 removes them")
	cli.Complete(cmd, "speed", "1", "0", "10")
	flags.StringVar(&match, "match", "", "which capture answers a request: `order|input` (default: order for DIR, and a CAPTURE answers every request)")
	cli.Complete(cmd, "match", string(replay.MatchOrder), string(replay.MatchInput))
	flags.StringVar(&ids, "ids", "", "replace thread and run ids, and those of user messages; `IDS` request takes those of the request (default: as recorded)")
	cli.Complete(cmd, "ids", "request")
	flags.StringArrayVar(&origins, "allow-origin", nil, "let pages of this `ORIGIN` read responses in a browser, such as http://localhost:5173, or * for all (repeatable)")
	cli.Complete(cmd, "allow-origin")
	server := cli.AddServer(cmd)
	cli.Require(cmd, "listen")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := replaySettings(speed, match, ids, flags.Changed("ids"))
		if err != nil {
			return err
		}
		if err := checkURL(args[0]); err != nil {
			return err
		}
		if err := server.CheckAddress("listen", server.Address); err != nil {
			return err
		}
		s.AnyHost = server.AllowRemote
		for _, o := range origins {
			origin, err := replay.ParseOrigin(o)
			if err != nil {
				return fmt.Errorf("--allow-origin %s: %w", finding.QuoteURL(o), err)
			}
			s.AllowedOrigins = append(s.AllowedOrigins, origin)
		}
		_, stop := signals.UntilSecond(cmd.Context(), signals.Together)
		defer stop()
		log, out := monitor.OpenLog(cmd.ErrOrStderr(), server.LogFormat)
		defer out.Close()
		s.Log = log
		r, err := replay.New(cmd.Context(), args[0], s)
		if err != nil {
			if cause := interrupted(cmd); cause != nil {
				return cause
			}
			return replayError(err)
		}
		l, err := server.Listen("listen", server.Address)
		if err != nil {
			return err
		}
		s.Log.Info("listening", "address", l.Addr().String(), "captures", r.Len(), "match", string(r.Match()))
		err = r.Serve(cmd.Context(), l)
		if err != nil && interrupted(cmd) == nil {
			return fmt.Errorf("%w: %w", errServe, err)
		}
		return err
	}
	return cmd
}

// replayError returns the error for captures that cannot be replayed, with the next step.
func replayError(err error) error {
	next := ""
	switch {
	case errors.Is(err, replay.ErrNoRequests):
		next = "store the request with the capture: p20export capture --from FILE --request REQUEST; or use --match order"
	case errors.Is(err, replay.ErrIDs):
		next = "leave out --ids, or name captures without this one"
	case errors.Is(err, replay.ErrNoEvents):
		next = "name a capture directory, or a file with an SSE stream, NDJSON lines or a JSON array of events"
	default:
		return inputError(err)
	}
	return fmt.Errorf("%w: %w\nnext: %s", errInput, err, next)
}

// replaySettings returns the settings that the flags describe.
func replaySettings(speed, match, ids string, altered bool) (s replay.Settings, err error) {
	if s.Speed, err = replay.ParseSpeed(speed); err != nil {
		return s, fmt.Errorf("--speed %q: %w", speed, err)
	}
	matches := []replay.Match{"", replay.MatchOrder, replay.MatchInput}
	if s.Match = replay.Match(match); !slices.Contains(matches, s.Match) {
		return s, fmt.Errorf("--match %q: must be order or input", match)
	}
	if s.RequestIDs = altered; altered && ids != "request" {
		return s, fmt.Errorf("--ids %q: must be request, or left out to keep the recorded ids", ids)
	}
	return s, nil
}
