package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/transfer"
)

func newLogImport() *cobra.Command {
	var s transfer.ImportSettings
	cmd := &cobra.Command{
		Use:   "import CAPTURE... | FILE...",
		Short: "Append captures, or exported threads, to a log",
		Long: `Append captures to a log, or threads that p20export log export wrote. A log in
an SQLite file is created if it does not exist.

CAPTURE is a capture directory, a directory to search for captures, a plain SSE,
NDJSON or JSON array file, or - for standard input. It becomes one stream of
entries: its request, its events byte for byte with their times of arrival, and
how the response ended. The entries belong to the thread that the first
RUN_STARTED names; from a RUN_STARTED with another thread on, the rest belongs
to that. Without a RUN_STARTED, the thread is that of the request, or --thread.

FILE is a thread in the portable form, compressed or not. It is recognized by
its content. Its entries keep their positions: the thread must have the entries
before the first one, and no others at the positions of the file. The tenant is
that of --tenant. Seals of the file must be of its entries. The log gets those
that it does not have. With --trust PATH, a file with a seal that no key in PATH
has signed is refused; entries after the last seal, and files without seals, are
imported as without --trust.

Nothing is appended twice. A file that was imported before adds nothing, and an
import that was interrupted continues where it stopped. If the log has other
entries than the file, the file is refused. A capture by the proxy is known by
the name of its directory, other files by their digest.

A file is read twice: its digests are checked before anything is appended. So a
damaged or unfinished capture and an incomplete export append nothing. A
capture without events or a request, and one whose response is no event stream,
as of a request that failed, has nothing to append and is skipped. Files are
imported one after the other, in the given order: give the captures of a
conversation in the order in which they were made.

With --from-list FILE, every line of FILE is an argument; if FILE contains NUL
bytes, they separate the arguments. With --from-tar FILE, the captures in the
archive are imported; threads in the portable form must be extracted first.
` + exitHelp("the log has all entries of all files", "a file was refused: it is damaged, the log has other entries, a seal is not of its entries or not trusted, or nothing names its thread", "the log could not be used, or a file could not be read"),
		Example: `  p20export log import captures/ --store sqlite:events.db
  p20export log import unnamed.sse --thread order-1 --store sqlite:events.db
  p20export log import order-1.ndjson.zst --store postgres://app@db/events`,
		Args: cobra.MinimumNArgs(1),
	}
	f := addStoreFlags(cmd)
	var trusted trustFlags
	trusted.add(cmd)
	cmd.Flags().StringVar(&s.Thread, "thread", "", "the `ID` of the thread of captures that do not name one")
	cli.Complete(cmd, "thread")
	batch := cli.AddSequence(cmd, "files")
	format := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		trust, err := trusted.read()
		if err != nil {
			return err
		}
		if trust != nil {
			s.Policy = &seal.Policy{Trust: trust}
		}
		src, err := openInputs(cmd, batch, args)
		if err != nil {
			return err
		}
		defer src.Close()
		log, err := f.open(cmd.Context(), logs.Create)
		if err != nil {
			return err
		}
		defer log.Close()
		s.Tenant = f.tenant
		p := newPrinter(cmd, format)
		return p.Close(importAll(cmd, p, src, batch, func(in *inputs.Input) transfer.Row {
			defer in.Close()
			return transfer.Import(cmd.Context(), log, in, s)
		}))
	}
	return cmd
}

// importAll imports the files of a source, one after the other, and prints the results. A
// list or archive that cannot be read to its end has a result of its own.
func importAll(cmd *cobra.Command, p *render.Printer, src *inputs.Source, batch *cli.Batch, one func(*inputs.Input) transfer.Row) error {
	var tally render.Tally
	missing := ""
	shown := p.NewBatchProgress(cmd.ErrOrStderr(), "files", src.InBytes(), src.Progress, tally.Counts)
	defer shown.End()
	all, sourceError := inputsOf(cmd.Context(), src)
	add := func(row transfer.Row) {
		tally.Add(row.Verdict)
		p.Imported(row)
	}
	for in := range all {
		row := one(in)
		if interrupted(cmd) != nil {
			break
		}
		add(row)
		if shown.Done(); !p.Flush() {
			break
		}
	}
	shown.End()
	if err := interrupted(cmd); err != nil {
		return err
	}
	if err := sourceError(); err != nil {
		if batch.HasArguments() {
			return inputError(err)
		}
		add(one(inputs.Failed(cmp.Or(batch.List, batch.Tar), err)))
		missing = unread(batch)
	}
	p.ImportSummary(&tally, missing)
	return tally.Status.Err()
}
