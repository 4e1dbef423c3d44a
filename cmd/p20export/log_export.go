package main

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

func newLogExport() *cobra.Command {
	var out string
	var after int64
	cmd := &cobra.Command{
		Use:   "export THREAD -o FILE",
		Short: "Write a thread of a log to a file",
		Long: `Write a thread to FILE in the portable form, for backups and for other programs.
p20export log import reads it back: the thread then has the same entries at the
same positions, byte for byte. If the name of FILE ends with .zst, it is
compressed with zstd. -o - writes to standard output, and the summary to
standard error.

The portable form is NDJSON. The first line names the schema, ` + transfer.Schema + `,
the thread, and the position after which the entries begin. Each further line is
an entry with its position, stream, kind, time of arrival and data, where known.
The data is in one of three keys:

  json    JSON text without line breaks and without space around it
  text    other text, as a JSON string
  base64  data that is not UTF-8, or has control characters

If the thread has seals, they follow the entries, and the schema is
` + transfer.SealedSchema + `. Each has its size and its checkpoint, and the time-stamp token
in Base64, if it has one.

The last line has the number of entries and the SHA-256 of all lines before it.
So a file that was cut or changed is noticed. Equal threads have equal files.
The tenant is not part of the file.

For an incremental backup, give --after the last position of the previous file.
Import the files in their order. The file has the seals of that position and of
later ones.

FILE is written completely or not at all. An existing file is never replaced;
one with the same bytes counts as written.
` + exitHelp("the file was written", "a seal of the thread is malformed", "the log could not be used, has no such thread, or the file could not be written"),
		Example: `  p20export log export THREAD -o thread.ndjson.zst --store sqlite:events.db
  p20export log export THREAD -o more.ndjson --after 120 \
      --store sqlite:events.db
  p20export log export THREAD -o - --store sqlite:events.db | jq -c .json`,
		Args:              cli.One("THREAD"),
		ValidArgsFunction: completeThread,
	}
	f := addStoreFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&out, "output", "o", "", "`FILE` to write the thread to, or - for standard output (required)")
	flags.Int64Var(&after, "after", 0, "only entries after this `POSITION`")
	cli.Complete(cmd, "after")
	format := cli.AddFormat(cmd)
	cli.Require(cmd, "output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if after < 0 {
			return errors.New("--after is a position, which cannot be negative")
		}
		if err := checkNewFile(out); err != nil {
			return err
		}
		log, t, err := f.openThread(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		defer log.Close()
		if after > t.Last {
			return f.failed(fmt.Errorf("thread %s has no position %d; its last is %d", finding.Quote(t.Thread), after, t.Last))
		}
		row := exportThread(cmd, log, t, out, after)
		results := cmd.OutOrStdout()
		if out == "-" {
			results = cmd.ErrOrStderr()
		}
		p := render.New(results, *format, build.Tool())
		if err := interrupted(cmd); err != nil {
			return p.Close(err)
		}
		p.Exported(row)
		return p.Close(render.StatusOf(row.Verdict).Err())
	}
	return cmd
}

// exportThread writes a thread to a file, or to standard output, and shows the progress.
func exportThread(cmd *cobra.Command, log store.Log, t store.Thread, out string, after int64) transfer.ExportRow {
	shown, progress := render.NewExportProgress(cmd.ErrOrStderr(), cmd.OutOrStdout(), out, t.Last-after)
	defer shown.End()
	log = watchedLog{log, func(position int64) { progress(position - after) }}
	if out == "-" {
		return transfer.Export(cmd.Context(), log, t.Key, cmd.OutOrStdout(), after)
	}
	return transfer.ExportFile(cmd.Context(), log, t.Key, out, after)
}

// watchedLog is a log that reports the positions of the entries that are read from it.
type watchedLog struct {
	store.Log
	read func(position int64)
}

// Read implements store.Log.
func (l watchedLog) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range l.Log.Read(ctx, key, after) {
			if err == nil {
				l.read(e.Position)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
