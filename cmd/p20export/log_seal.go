package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// threadArgs are the arguments of commands for some threads or all.
func threadArgs(all *bool) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case *all && len(args) > 0:
			return errors.New("give either THREAD or --all, not both")
		case !*all && len(args) == 0:
			return errors.New("name at least one THREAD, or give --all")
		}
		return nil
	}
}

func newLogSeal() *cobra.Command {
	var all bool
	var out string
	var fl sealFlags
	cmd := &cobra.Command{
		Use:   "seal THREAD... | seal --all",
		Short: "Sign what threads have now, so that later changes can be detected",
		Long: `Seal each thread: sign the root of a Merkle tree of its entries, and add that to
the log. p20export log verify computes the tree again, and finds out whether an
entry was changed, removed or added in between. docs/seals.md has the format,
and what a seal shows and does not show.

Keep checkpoints, the signed texts of seals, where nobody can change them, or
hand them out: with -o FILE, or from the key checkpoint of --format json.
Against whoever has the key, only a checkpoint that is elsewhere shows anything.

Before it signs, the command compares the end of the thread with the last seal.
If it differs, it signs nothing. A thread to which nothing was appended since
its last seal is compared, too, and skipped if it is right. p20export log verify
compares whole threads; run it regularly.

Keys are Ed25519; p20export keygen makes them. With a new key, give --trust with
the public key of the old one. With --timestamp, an authority (RFC 3161) adds
the time. With --witness, another party (C2SP tlog-witness) cosigns the seal if
it has seen no other history of the thread. It must know the origin of each
thread and the key; if it does not, the error has both.

` + exitHelp("every thread is sealed", "a thread was refused: its entries are not those of its last seal, no known key has signed that, or a witness, signer or authority failed", "the log could not be used, has no such thread, or -o FILE could not be written, for example because it exists"),
		Example: `  p20export log seal --all --store sqlite:events.db --key seals.key.pem
  p20export log seal THREAD --store sqlite:events.db --key seals.key.pem \
      -o thread-43.checkpoint`,
		ValidArgsFunction: completeThreads,
		Args:              threadArgs(&all),
	}
	f := addStoreFlags(cmd)
	f.addAllTenants(cmd, "with --all: threads")
	cmd.Flags().BoolVar(&all, "all", false, "seal all threads of the tenant")
	cmd.Flags().BoolVar(&fl.otherTenant, "other-tenant", false, "also follow seals of the same thread id in another tenant, from which the thread was imported")
	cmd.Flags().StringVarP(&out, "output", "o", "", "also write the checkpoint of the only THREAD to the new `FILE`, or to standard output if it is -")
	fl.add(cmd, "key", "`FILE` of the private key that signs seals (Ed25519, PKCS#8, PEM; repeatable)")
	format := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.allTenants && !all:
			return errors.New("--all-tenants can only be used with --all")
		case !fl.given():
			return errors.New("--key is missing: the FILE of a private key, which p20export keygen makes; or give --signer")
		case cmd.Flags().Changed("output") && (all || len(args) > 1):
			return errors.New("-o is for one THREAD")
		}
		if cmd.Flags().Changed("output") {
			if err := checkNewFile(out); err != nil {
				return err
			}
		}
		if err := cmp.Or(fl.check(cmd), fl.checkSeal(cmd)); err != nil {
			return err
		}
		log, err := f.open(cmd.Context(), logs.Existing)
		if err != nil {
			return err
		}
		defer log.Close()
		s, end, err := fl.openSeal(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		p := newPrinter(cmd, format)
		if out == "-" {
			p = render.New(cmd.ErrOrStderr(), *format, build.Tool())
		}
		return endSigners(cmd, p.Close(f.seal(cmd, log, s, args, out, p)), end)
	}
	return cmd
}

// each calls do for the named threads, or for all if there are none. Deleted ones are mistakes if
// they are named.
func (f *storeFlags) each(ctx context.Context, log store.Log, ids []string, do func(store.Key) error) error {
	for _, id := range ids {
		if _, err := f.existing(ctx, log, id); err != nil {
			return err
		}
		if err := do(f.key(id)); err != nil {
			return err
		}
	}
	if len(ids) > 0 {
		return nil
	}
	for t, err := range log.Threads(ctx, store.ThreadQuery{Tenant: f.queried()}) {
		if err == nil {
			err = do(t.Key)
		} else {
			err = f.failed(err)
		}
		if err != nil && !errors.Is(err, store.ErrDeleted) { // since it was listed
			return err
		}
	}
	return nil
}

// seal seals the named threads, or all if there are none.
func (f *storeFlags) seal(cmd *cobra.Command, log store.Log, s *seal.Settings, ids []string, out string, p *render.Printer) error {
	var t render.Tally
	err := f.each(cmd.Context(), log, ids, func(key store.Key) error {
		sealed, err := s.Seal(cmd.Context(), log, key)
		row := render.NewLogSealRow(key, sealed)
		if found, ok := errors.AsType[finding.Finding](err); ok {
			row, err = render.NewLogSealRow(key, nil, found), nil
		} else if err != nil {
			return f.failed(fmt.Errorf("thread %s: %w", finding.Quote(key.Thread), err))
		}
		if sealed != nil && out != "" {
			err = writeNew(cmd, out, sealed.Seal.Checkpoint)
		}
		if err == nil && sealed != nil && out != "" && out != "-" {
			row.File = &out
		}
		p.LogSealed(row)
		p.Flush()
		t.AddSeal(row.Verdict)
		return err
	})
	if err != nil {
		return err
	}
	p.LogSealSummary(&t)
	return cmp.Or(t.Status.Err(), f.otherTenants(cmd.Context(), log, ids, t.Total(), p))
}

// otherTenants says that a log has only threads of other tenants, if none of n was looked at.
func (f *storeFlags) otherTenants(ctx context.Context, log store.Log, ids []string, n int, p *render.Printer) error {
	if n > 0 || len(ids) > 0 || f.allTenants {
		return nil
	}
	return f.noThreads(ctx, log, p)
}

// writeNew writes a new file, or standard output if that is -. A file with the same bytes stays.
func writeNew(cmd *cobra.Command, out string, data []byte) error {
	if out == "-" {
		if _, err := cmd.OutOrStdout().Write(data); err != nil {
			return fmt.Errorf("%w: %w", render.ErrOutput, err)
		}
		return nil
	}
	left, err := atomicfile.WriteNew(cmd.Context(), out, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	for _, name := range left {
		warn(cmd, finding.Leftover(name))
	}
	if err != nil {
		return fmt.Errorf("%w: -o %s: %w", render.ErrOutput, finding.Quote(out), err)
	}
	return nil
}
