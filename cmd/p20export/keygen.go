package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project/sign"
)

// Suffixes of the files of keygen.
const (
	privateSuffix = ".key.pem"
	publicSuffix  = ".pub.pem"
)

func newKeygen() *cobra.Command {
	var (
		kind       string
		encrypt    bool
		passphrase passphraseFlags
	)
	cmd := &cobra.Command{
		Use:   "keygen NAME",
		Short: "Make a pair of keys for signing records and seals",
		Long: `Make a pair of keys:

  NAME` + privateSuffix + `   the private key (PKCS#8, PEM), which only its owner can read
                 (mode 0600). Whoever has it can sign
  NAME` + publicSuffix + `   the public key, for --trust of p20export verify and log verify

They sign records (p20export sign) and, if they are Ed25519, seals of threads
(p20export log seal). Existing files are never overwritten. OpenSSL and other
programs read both.

With --encrypt, the private key is encrypted with a passphrase, which is asked
for on the terminal, or is in a file or comes from a descriptor. It is never
taken from the command line or from the environment.

` + exitHelp("the pair was written", "", ""),
		Example: `  p20export keygen release-2026
  p20export keygen release-2026 --encrypt
  p20export keygen ci --type ecdsa-p256`,
		Args: cli.One("NAME"),
	}
	cmd.Flags().StringVar(&kind, "type", string(sign.Ed25519), "`TYPE` of the keys: ed25519 or ecdsa-p256")
	cmd.Flags().BoolVar(&encrypt, "encrypt", false, "encrypt the private key with a passphrase")
	passphrase.add(cmd)
	f := cli.AddFormat(cmd)
	cli.Complete(cmd, "type", string(sign.Ed25519), string(sign.ECDSAP256))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir, name := filepath.Split(args[0])
		if name == "" || name == "." || name == ".." {
			return fmt.Errorf("%s is not the beginning of a file name", finding.Quote(args[0]))
		}
		if finding.Escape(name) != name {
			return fmt.Errorf("the name %s has characters that a trust file cannot show", finding.Quote(name))
		}
		key, err := sign.NewPrivateKey(sign.KeyType(kind))
		if err != nil {
			return fmt.Errorf("--type: %w", err)
		}
		var phrase []byte
		switch {
		case passphrase.given():
			phrase, err = passphrase.read(cmd.Context())
		case encrypt:
			phrase, err = askTwice(cmd)
		}
		if err != nil {
			return err
		}
		private, err := key.PEM(phrase)
		if err != nil {
			return err
		}
		public := fmt.Appendf(nil, "name: %s\n%s", name, key.Public().PEM())
		row := render.KeyPair{PrivateKey: args[0] + privateSuffix, PublicKey: args[0] + publicSuffix, KeyID: key.Public().ID, Type: key.Public().Type}
		if err := writePair(cmd.Context(), filepath.Clean(dir), name, private, public); err != nil {
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%w; keys are never overwritten, choose another NAME", err)
			}
			return fmt.Errorf("%w: %w", errKeys, err)
		}
		p := newPrinter(cmd, f)
		p.KeyPair(row)
		return p.Close(nil)
	}
	return cmd
}

// askTwice asks for a new passphrase.
func askTwice(cmd *cobra.Command) ([]byte, error) {
	phrase, err := askPassphrase(cmd, "Passphrase for the new key: ")
	if err != nil {
		return nil, fmt.Errorf("--encrypt: the new key needs a passphrase; %w", err)
	}
	again, err := askPassphrase(cmd, "The same again: ")
	if err != nil {
		return nil, err
	}
	if string(phrase) != string(again) {
		return nil, errors.New("the two passphrases differ")
	}
	return phrase, nil
}

// writePair writes both files, or none.
func writePair(ctx context.Context, dir, name string, private, public []byte) error {
	d, err := atomicfile.OpenDirectory(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	first, err := d.StagePrivate(private)
	if err != nil {
		return err
	}
	defer first.Discard()
	second, err := d.Stage(public)
	if err != nil {
		return err
	}
	defer second.Discard()
	never := func(_, _ *io.SectionReader) (bool, error) { return false, nil }
	err = d.Publish(ctx, atomicfile.Named{Staged: first, Name: name + privateSuffix, Same: never}, atomicfile.Named{Staged: second, Name: name + publicSuffix, Same: never})
	if err != nil {
		return err
	}
	return d.Sync()
}
