package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/sign"
)

func newSign() *cobra.Command {
	var fl signFlags
	cmd := &cobra.Command{
		Use:   "sign RECORD|DIR... --key FILE",
		Short: "Sign records",
		Long: `Sign the record of a frozen run with a private key. A record names the capture,
the artifact and the envelope by their digests, so a signature of the record
covers them. A DIR means the records in it and below it.

The signature of NAME.record.json is NAME.record.dsse.json beside it: a DSSE
envelope with the exact bytes of the record. The record is only read. It shows
that someone who has the private key signed these bytes; not that the capture
is true, and without a time-stamp not when. docs/signatures.md says more.

Several keys make several signatures. If the record is signed already, what
is there stays, and signatures by other keys are added. A record whose artifact
or envelope beside it was changed is refused; p20export verify also compares
them with the capture, and should be run before.

Keys are Ed25519 or ECDSA with P-256, in PKCS#8 PEM files, encrypted or not;
p20export keygen makes them. With --signer, a program signs, for example with a
key in a hardware module; docs/signatures.md has the lines that it reads and
writes, and an example for PKCS#11.

With --timestamp, a time-stamp authority (RFC 3161) is asked for a token over
all signatures of the record, which shows that they existed at that time, as far
as the authority is trusted. It is stored in NAME.record.tsr. After that, no
signature can be added. Without --timestamp, no network is used; p20export
timestamp adds a token later.

` + exitHelp("every record is signed", "a record was refused: a file beside it is not of it, or a signer or authority failed", ""),
		Example: `  p20export sign frozen --key release-2026.key.pem
  p20export sign frozen/one-turn.record.json --key release-2026.key.pem \
      --timestamp https://authority.example/tsr
  p20export sign frozen --key ours.key.pem --passphrase-file passphrase
  p20export sign frozen --signer './signer.sh MODULE TOKEN ID PIN-FILE'`,
		Args: cli.OneOrMore("RECORD or DIR"),
	}
	fl.add(cmd, "key", "`FILE` of a private key (PKCS#8, PEM; repeatable)")
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !fl.given() {
			return errors.New("--key is missing: the FILE of a private key, which p20export keygen makes; or give --signer")
		}
		if err := fl.check(cmd); err != nil {
			return err
		}
		paths, err := findRecords(cmd, args)
		if err != nil {
			return err
		}
		s, end, err := fl.open(cmd.Context(), cmd)
		if err != nil {
			return err
		}
		return endSigners(cmd, signAll(cmd, f, paths, s), end)
	}
	return cmd
}

func newTimestamp() *cobra.Command {
	var authority string
	cmd := &cobra.Command{
		Use:   "timestamp RECORD|DIR... --timestamp URL",
		Short: "Add time-stamps to the signatures of records",
		Long: `Ask a time-stamp authority (RFC 3161) for a token over the signature of each
record, and store it in NAME.record.tsr beside NAME.record.dsse.json. The token
shows that all signatures in that file existed at its time, as far as the
authority is trusted: the operator of this program cannot backdate it. A DIR
means the records in it and below it. Existing tokens stay as they are.

The authority receives the SHA-256 of the signature file and nothing else. The
answer is checked before it is stored: it must be a token over this file, made
for this request, with a valid signature. Whether the authority can be trusted
is for those to say who verify: p20export verify --trust.

openssl ts -verify -data NAME.record.dsse.json -in NAME.record.tsr
-CAfile AUTHORITY.pem checks a token without this program.

` + exitHelp("every record has a token", "a record is not signed, or a file beside it is not of it, or the authority gave no token", ""),
		Example: `  p20export timestamp frozen --timestamp https://authority.example/tsr`,
		Args:    cli.OneOrMore("RECORD or DIR"),
	}
	cmd.Flags().StringVar(&authority, "timestamp", "", "`URL` of the time-stamp authority (required)")
	cli.Require(cmd, "timestamp")
	f := cli.AddFormat(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkAuthority(authority); err != nil {
			return err
		}
		paths, err := findRecords(cmd, args)
		if err != nil {
			return err
		}
		return signAll(cmd, f, paths, &sign.Settings{Authority: authority})
	}
	return cmd
}

// findRecords returns the records that the arguments name.
func findRecords(cmd *cobra.Command, args []string) ([]string, error) {
	if err := checkFiles(args...); err != nil {
		return nil, err
	}
	for _, arg := range args {
		if strings.HasSuffix(arg, record.Suffix) {
			continue
		}
		info, err := os.Stat(arg)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errInput, err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%s is not named like a record; name a *%s or a directory", finding.Quote(arg), record.Suffix)
		}
	}
	paths, err := sign.Find(cmd.Context(), args)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errInput, err)
	}
	return paths, nil
}

// signAll signs records, and prints each row when its files are durable.
func signAll(cmd *cobra.Command, f *render.Format, paths []string, s *sign.Settings) error {
	p := newPrinter(cmd, f)
	var tally render.Tally
	progress := p.NewBatchProgress(cmd.ErrOrStderr(), "records", false, func() (done, total int64) { return 0, int64(len(paths)) }, tally.Counts)
	defer progress.End()
	for row := range sign.Records(cmd.Context(), paths, s) {
		tally.Add(row.Verdict)
		p.Signed(row)
		progress.Done()
		if !p.Flush() {
			return p.Close(nil)
		}
	}
	progress.End()
	if err := interrupted(cmd); err != nil {
		return p.Close(err)
	}
	if len(paths) > 1 {
		p.SignSummary(&tally)
	}
	return p.Close(tally.Status.Err())
}
