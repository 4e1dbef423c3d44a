package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/envelope/compact"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/rewrite"
)

func newCompact() *cobra.Command {
	var out, mode, framing, dialect string
	cmd := &cobra.Command{
		Use:   "compact CAPTURE -o FILE",
		Short: "Write a copy of a capture with its deltas merged",
		Long: `Write a copy of the events of CAPTURE in which the deltas of each text message
and each tool call are merged into one event. The copy is for logs, debugging
and other programs. It is not evidence: freeze the capture, not the copy.

CAPTURE is a capture directory, a plain SSE, NDJSON or JSON array file, or - for
standard input. It need not contain a run. FILE has the framing of the capture,
or the one that --framing gives. -o - writes to standard output, and the summary
to standard error.

Modes:
  stream    the Stream Compaction page of AG-UI: one event with the whole text
            per message and one with all arguments per call. Events in between
            move behind the message or call; all others are unchanged
  client    what compactEvents of @ag-ui/client 1.0.0 does: as stream, but the
            state events of a run become one STATE_SNAPSHOT if one of them is a
            snapshot, metadata is merged, and the events that begin and end a
            run stay in their place. A message that is open at the end of its
            run follows that end, where lint refuses it; the warning is
            written_after_run
  snapshot  the serialization proposal of AG-UI: each run ends with one
            MESSAGES_SNAPSHOT of its whole conversation, and one STATE_SNAPSHOT
            if the state is known, which replace the events of messages and
            state. Messages already in the conversation are removed from the
            input of the run. A run with a parentRunId continues the
            conversation of that run, and the first run the messages and the
            state of the capture's request.json. Patches follow RFC 6902, or,
            with --dialect client, what the client does

Events that do not change keep their bytes. docs/compaction.md has an example
and lists what is lost. Only mode snapshot merges the events whose types end in
_CHUNK.

FILE is written completely or not at all, after the whole capture was read and
its digests were checked. An existing file is never replaced; one with the same
bytes counts as written. If a message, a call or a conversation is longer than
64 MiB, more than 256 MiB of events wait for the end of a message or call, the
conversations at the ends of runs take more than 512 MiB or, written, more than
4 GiB and 16 times the length of the capture, nothing is written.
` + exitHelp("the copy was written", "the capture contains something that is not an event, exceeds a limit, or was changed after it was closed", ""),
		Example: `  p20export compact captures/one-turn -o one-turn.sse
  p20export compact run.sse -o run.ndjson --mode client --framing ndjson
  p20export compact run.ndjson -o - | jq -r .type | sort | uniq -c`,
		Args: cli.One("CAPTURE"),
	}
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "`FILE` to write the copy to, or - for standard output (required)")
	flags.StringVar(&mode, "mode", string(compact.ModeStream), "how to compact: `stream|client|snapshot`")
	cli.Complete(cmd, "mode", compact.Modes()...)
	flags.StringVar(&framing, "framing", "", "write the copy as `sse|ndjson|json` (default: the framing of the capture)")
	cli.Complete(cmd, "framing", string(capture.SSE), string(capture.NDJSON), string(capture.JSON))
	flags.StringVar(&dialect, "dialect", reduce.RFC6902.String(), "with --mode snapshot: the dialect of JSON Patches, `rfc6902|client`")
	cli.Complete(cmd, "dialect", reduce.Dialects()...)
	f := cli.AddFormat(cmd)
	cli.Require(cmd, "output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := compactSettings(mode, framing, flags.Changed("framing"))
		if err != nil {
			return err
		}
		if s.Dialect, err = reduce.ParseDialect(dialect); err != nil {
			return fmt.Errorf("--dialect: %w", err)
		}
		if flags.Changed("dialect") && s.Mode != compact.ModeSnapshot {
			return errors.New("--dialect needs --mode snapshot")
		}
		if err := checkURL(args[0]); err != nil {
			return err
		}
		if err := checkNoBundles(args[0]); err != nil {
			return err
		}
		if err := checkSingle(cmd, args[0]); err != nil {
			return err
		}
		if err := checkCopy(args[0], out); err != nil {
			return err
		}
		var row rewrite.Row
		results := cmd.OutOrStdout()
		cli.Reading(cmd, args[0], func(progress func(int64)) {
			s.Progress = progress
			if out != "-" {
				row = rewrite.WriteFile(cmd.Context(), args[0], out, s)
				return
			}
			results = cmd.ErrOrStderr()
			row, err = rewrite.Write(cmd.Context(), args[0], cmd.OutOrStdout(), s)
		})
		p := render.New(results, *f, build.Tool())
		if cause := interrupted(cmd); cause != nil {
			return p.Close(cause)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", render.ErrOutput, err)
		}
		p.Compaction(row)
		return p.Close(render.StatusOf(row.Verdict).Err())
	}
	return cmd
}

// compactSettings returns the settings that the flags describe.
func compactSettings(mode, framing string, framed bool) (s rewrite.Settings, err error) {
	if s.Mode, err = compact.ParseMode(mode); err != nil {
		return s, fmt.Errorf("--mode: %w", err)
	}
	if framed {
		if s.Framing, err = capture.ParseFraming(framing); err != nil {
			return s, fmt.Errorf("--framing: %w", err)
		}
	}
	return s, nil
}

// checkSingle returns an error if path is not a capture, but a directory with captures.
func checkSingle(cmd *cobra.Command, path string) error {
	if !capture.IsSearchRoot(path) {
		return nil
	}
	found, err := capture.Find(cmd.Context(), []string{path})
	if err != nil || found[0].Path == path {
		return nil // reading it reports the error
	}
	return fmt.Errorf("%s is a directory of captures; name one of them, such as %s", finding.Quote(path), finding.Quote(found[0].Path))
}

// checkCopy returns an error if out cannot be the name of a copy of the capture at path.
func checkCopy(path, out string) error {
	if err := checkNewFile(out); err != nil || out == "-" {
		return err
	}
	return rewrite.CheckOut(path, out)
}
