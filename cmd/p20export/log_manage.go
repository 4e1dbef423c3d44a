package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
)

func newLogStat() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stat",
		Short: "Show the size of a log",
		Long: `Show how many threads, runs and entries a log has, of all tenants, how many of
the entries are packed, and the size of the log on disk.
` + exitHelp("the size was shown", "", "the log could not be used"),
		Example: "  p20export log stat --store sqlite:events.db",
		Args:    cobra.NoArgs,
	}
	f := addStoreFlag(cmd)
	format := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		log, err := f.open(cmd.Context(), logs.Existing)
		if err != nil {
			return err
		}
		defer log.Close()
		s, err := log.Stat(cmd.Context())
		if err != nil {
			return f.failed(err)
		}
		p := newPrinter(cmd, format)
		p.LogStat(f.address.String(), s)
		return p.Close(nil)
	}
	return cmd
}

func newLogPack() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "pack THREAD... | pack --all",
		Short: "Compress the entries of ended runs",
		Long: `Compress the entries of runs and streams that have ended (zstd). Nothing else
changes: every command and every reader sees the same entries, byte for byte.
The compressed form is read back and compared before the entries are removed, in
the same transaction. If pack is interrupted, run it again.

Successive entries wait until they are worth a pack: at least 64 KiB, or as much
as is packed of the thread. What follows a full pack (1 MiB) and is not worth
its own goes into it. So a thread can be packed after each run.

Threads without anything to pack are not listed.
` + exitHelp("everything that is worth packing is packed", "", "the log could not be used, or has no such thread"),
		Example: `  p20export log pack --all --store sqlite:events.db
  p20export log pack THREAD --store sqlite:events.db`,
		ValidArgsFunction: completeThreads,
		Args:              threadArgs(&all),
	}
	f := addStoreFlags(cmd)
	f.addAllTenants(cmd, "with --all: threads")
	cmd.Flags().BoolVar(&all, "all", false, "pack all threads of the tenant")
	format := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.allTenants && !all {
			return errors.New("--all-tenants can only be used with --all")
		}
		log, err := f.open(cmd.Context(), logs.Existing)
		if err != nil {
			return err
		}
		defer log.Close()
		p := newPrinter(cmd, format)
		return p.Close(f.pack(cmd.Context(), log, args, p))
	}
	return cmd
}

// pack packs the named threads, or all if there are none.
func (f *storeFlags) pack(ctx context.Context, log store.Log, ids []string, p *render.Printer) error {
	var threads, entries int64
	packOne := func(key store.Key) error {
		r, err := log.Pack(ctx, key)
		if err != nil {
			return f.failed(fmt.Errorf("thread %s: %w", finding.Quote(key.Thread), err))
		}
		if threads++; r.Entries > 0 {
			entries += r.Entries
			p.LogPacked(key, r)
			p.Flush()
		}
		return nil
	}
	if err := f.each(ctx, log, ids, packOne); err != nil {
		return err
	}
	p.Note("%s: %s packed", render.Counted(threads, "thread", "threads"), render.Counted(entries, "entry", "entries"))
	return nil
}

// errUnconfirmed reports that the user did not confirm a deletion.
var errUnconfirmed = errors.New("nothing was deleted")

func newLogDelete() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete THREAD...",
		Short: "Delete whole threads, with all their entries",
		Long: `Delete all entries of each THREAD, with the ids of its runs and streams. What
remains is a mark with the ids of tenant and thread, the numbers and sizes of
what was deleted, and the times, so that nothing can be appended to the thread.

Nothing less than a thread can be deleted, and nothing can be restored. All
threads must exist; otherwise, none is deleted. A thread that was deleted before
is reported again. On a terminal, delete asks before it deletes; --yes answers.

The database erases the data as far as it can. Backups, replicas, and captures
from which the thread was imported are not touched; p20export prune removes
captures.
` + exitHelp("all threads were deleted", "the question was not answered with y; nothing was deleted", "the log could not be used, or has no such thread"),
		Example: `  p20export log delete THREAD --store sqlite:events.db
  p20export log delete THREAD --store postgres://me@db/agents --yes`,
		Args:              cli.OneOrMore("THREAD"),
		ValidArgsFunction: completeThreads,
	}
	f := addStoreFlags(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	format := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		log, err := f.open(cmd.Context(), logs.Existing)
		if err != nil {
			return err
		}
		defer log.Close()
		threads := make([]store.Thread, len(args))
		for i, id := range args {
			if threads[i], err = f.thread(cmd.Context(), log, id); err != nil {
				return err
			}
		}
		if !yes {
			if err := confirmDeletion(cmd, threads); err != nil {
				return err
			}
		}
		p := newPrinter(cmd, format)
		for _, t := range threads {
			was, err := log.Delete(cmd.Context(), t.Key)
			if err != nil {
				return p.Close(f.failed(err))
			}
			p.LogDeleted(was, !t.DeletedAt.IsZero())
			p.Flush()
		}
		return p.Close(nil)
	}
	return cmd
}

// confirmDeletion asks whether threads shall be deleted if standard input and standard error
// are terminals.
func confirmDeletion(cmd *cobra.Command, threads []store.Thread) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stderr.Fd())) {
		return nil
	}
	var entries int64
	for _, t := range threads {
		if t.DeletedAt.IsZero() {
			entries += t.Last
		}
	}
	what := render.Plural(len(threads), "thread", "threads")
	if len(threads) == 1 {
		what = "thread " + finding.Quote(threads[0].Thread)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Delete %s with %s? They cannot be restored. [y/N] ", what, render.Counted(entries, "entry", "entries"))
	answer, err := bufio.NewReader(capture.Interruptible(cmd.Context(), os.Stdin)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return inputError(err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "p20export: %v\n", errUnconfirmed)
	return render.Negative
}
