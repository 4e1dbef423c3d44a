package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/logs"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/transfer"
)

func newLogVerify() *cobra.Command {
	var all bool
	var against []string
	var fl sealPolicyFlags
	cmd := &cobra.Command{
		Use:   "verify THREAD... | verify --all",
		Short: "Check that threads were not changed since they were sealed",
		Long: `Compute the Merkle tree of each thread from its entries, and compare it with
every seal that the log has, and with those that you have from elsewhere
(--against): a checkpoint, a proof, or an export, which has the entries too.

  unchanged  the entries up to the last seal are those that were sealed
  rewritten  an entry is not the one that was sealed
  cut_off    the thread has fewer entries than were sealed
  forked     seals by trusted keys contradict each other
  broken     a seal or a file of --against is damaged or not by a trusted key,
             or too few witnesses have cosigned
  unsealed   no seal by a trusted key covers any entry
  erased     the thread was deleted, and its last seal says what it had.
             Deletion is not signed: keep a record of what you delete

docs/seals.md says what to do about each.

A seal is one digest: if entries were changed, the first of them is between the
last seal that still matches and the first that does not. With an export, it is
found exactly. Entries after the last seal are not covered by it.

Without --against, the command cannot notice what the holder of the key has
sealed again, nor that the end of a thread was removed with its seals.

` + exitHelp("every thread is unchanged or erased", "a thread is not, --all found no thread, or a file of --against is of none", "the log could not be used, or has no such thread"),
		Example: `  p20export log verify --all --store sqlite:events.db --trust seals.pub.pem
  p20export log verify THREAD --store sqlite:events.db --trust seals.pub.pem \
      --against thread-43.checkpoint --against monday.ndjson.zst`,
		ValidArgsFunction: completeThreads,
		Args:              threadArgs(&all),
	}
	f := addStoreFlags(cmd)
	f.addAllTenants(cmd, "with --all: threads")
	cmd.Flags().BoolVar(&all, "all", false, "verify all threads of the tenant, also deleted ones")
	cmd.Flags().StringArrayVar(&against, "against", nil, "compare with the checkpoint, proof or export in `FILE` (repeatable); - is standard input, for a checkpoint or a proof")
	fl.add(cmd)
	format := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.allTenants && !all {
			return errors.New("--all-tenants can only be used with --all")
		}
		policy, err := fl.policy(cmd)
		if err != nil {
			return err
		}
		known, end, err := readKnown(cmd.Context(), against)
		if err != nil {
			return err
		}
		defer end()
		log, err := f.open(cmd.Context(), logs.Existing)
		if err != nil {
			return err
		}
		defer log.Close()
		p := newPrinter(cmd, format)
		v := &logVerification{storeFlags: f, cmd: cmd, log: log, policy: policy, known: known, p: p}
		return p.Close(v.run(args))
	}
	return cmd
}

// knownFile is what a file of --against says.
type knownFile struct {
	seal.Known
	thread *transfer.ThreadFile // if it is an export
	used   bool
}

// isOf reports whether a file is of a thread. An export does not name its tenant.
func (k *knownFile) isOf(key store.Key, tenant string) bool {
	if k.thread != nil {
		return key.Thread == k.thread.Thread && key.Tenant == tenant
	}
	return k.IsOf(key)
}

// readKnown reads the files of --against. The function end must be called.
func readKnown(ctx context.Context, paths []string) (all []*knownFile, end func(), err error) {
	end = func() {
		for _, k := range all {
			if k.thread != nil {
				k.thread.Close()
			}
		}
	}
	for _, path := range paths {
		k := &knownFile{}
		err := transfer.ErrNotThread
		if info, unread := os.Stat(path); unread == nil && info.Mode().IsRegular() { // others can be read once
			k.thread, err = transfer.OpenThread(ctx, path)
		}
		switch {
		case err == nil:
			k.Known = k.thread.Known(ctx)
		case errors.Is(err, transfer.ErrNotThread):
			var data []byte
			if data, err = capture.ReadInput(ctx, path, seal.MaxProofBytes); err == nil {
				k.Known, err = seal.ReadKnown(path, withPlainLines(data))
			}
		}
		if err != nil {
			end()
			return nil, nil, fmt.Errorf("--against %s: %w", finding.Quote(path), inputError(err))
		}
		k.From = finding.Printable(path)
		all = append(all, k)
	}
	return all, end, nil
}

// withPlainLines returns a text whose lines end with line feeds, also the last: mails and clipboards
// change them.
func withPlainLines(text []byte) []byte {
	return append(bytes.TrimRight(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), "\n"), '\n')
}

// logVerification is the work of log verify.
type logVerification struct {
	*storeFlags
	cmd    *cobra.Command
	log    store.Log
	policy *seal.Policy
	known  []*knownFile
	p      *render.Printer
	tally  render.Tally
}

func (v *logVerification) run(ids []string) error {
	ctx := v.cmd.Context()
	for _, id := range ids {
		key := v.key(id)
		// A file that is of another thread or tenant is a finding, if only one thread is named.
		known := v.of(key, len(ids) == 1)
		t := store.Thread{Key: key}
		if len(v.of(key, false)) == 0 { // otherwise it is a finding that it does not exist
			var err error
			if t, err = v.thread(ctx, v.log, id); err != nil {
				return err
			}
		}
		if err := v.verify(t, known); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		for t, err := range v.log.Threads(ctx, store.ThreadQuery{Tenant: v.queried(), Deleted: true}) {
			if err != nil {
				return v.failed(err)
			}
			if err := v.verify(t, v.of(t.Key, false)); err != nil {
				return err
			}
		}
	}
	for _, k := range v.known {
		if !k.used {
			row := seal.Row{Verdict: seal.CutOff, Findings: []finding.Finding{
				finding.New(finding.ThreadCutOff, "none of the threads is that of %s; if it was imported into another tenant, name the thread and the tenant", k.From),
			}}
			v.add(row)
		}
	}
	if len(ids) != 1 {
		v.p.LogVerifySummary(&v.tally)
	}
	if v.tally.Total() == 0 {
		if err := v.otherTenants(ctx, v.log, ids, 0, v.p); err != nil {
			return err
		}
		return render.Negative // nothing was verified
	}
	return v.tally.Status.Err()
}

// of returns what is known of a thread.
func (v *logVerification) of(key store.Key, only bool) (known []seal.Known) {
	for _, k := range v.known {
		if only && (k.thread == nil || k.thread.Thread == key.Thread) || k.isOf(key, v.tenant) {
			k.used = true
			known = append(known, k.Known)
		}
	}
	return known
}

// verify verifies a thread and prints the result.
func (v *logVerification) verify(t store.Thread, known []seal.Known) error {
	shown, progress := render.NewVerifyProgress(v.cmd.ErrOrStderr(), t)
	row, err := v.policy.Verify(v.cmd.Context(), watchedLog{v.log, progress}, t.Key, known...)
	shown.End()
	if err != nil {
		return v.failed(fmt.Errorf("thread %s: %w", finding.Quote(t.Thread), err))
	}
	v.add(row)
	return nil
}

func (v *logVerification) add(row seal.Row) {
	v.p.LogVerified(row)
	v.p.Flush()
	v.tally.Add(row.Verdict)
}
