package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/sign"
)

// passphraseFlags say where the passphrase of an encrypted key is.
type passphraseFlags struct {
	file string
	fd   int
	// once is what read returned. A descriptor can be read once.
	once func() ([]byte, error)
}

const noDescriptor = -1

func (fl *passphraseFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&fl.file, "passphrase-file", "", "`FILE` whose first line is the passphrase of the encrypted keys")
	cmd.Flags().IntVar(&fl.fd, "passphrase-fd", noDescriptor, "read the passphrase from the open file descriptor `N`")
	cmd.Flags().Lookup("passphrase-fd").DefValue = "0" // or help would show it
	cmd.MarkFlagsMutuallyExclusive("passphrase-file", "passphrase-fd")
}

func (fl *passphraseFlags) given() bool { return fl.file != "" || fl.fd != noDescriptor }

// maxPassphrase bounds a passphrase, in bytes.
const maxPassphrase = 4 << 10

// read returns the passphrase from the file or the descriptor.
func (fl *passphraseFlags) read(ctx context.Context) ([]byte, error) {
	if fl.once == nil {
		fl.once = sync.OnceValues(func() ([]byte, error) { return fl.readNow(ctx) })
	}
	return fl.once()
}

func (fl *passphraseFlags) readNow(ctx context.Context) (phrase []byte, err error) {
	from := "--passphrase-file " + finding.Quote(fl.file)
	if fl.file != "" {
		phrase, err = record.ReadBounded(fl.file, maxPassphrase)
	} else {
		from = fmt.Sprintf("--passphrase-fd %d", fl.fd)
		f := os.NewFile(uintptr(fl.fd), "the descriptor")
		if fl.fd < 0 || f == nil {
			return nil, fmt.Errorf("%s is not a file descriptor", from)
		}
		defer f.Close() // or signers would have it, too
		phrase, err = io.ReadAll(io.LimitReader(capture.Interruptible(ctx, f), maxPassphrase+1))
	}
	if err == nil && len(phrase) > maxPassphrase {
		err = record.ErrTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errInput, from, err)
	}
	if phrase, err = sign.Passphrase(phrase); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return phrase, nil
}

// askPassphrase asks for a passphrase on the terminal.
func askPassphrase(cmd *cobra.Command, prompt string) ([]byte, error) {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		tty = os.Stdin
	} else {
		defer tty.Close()
	}
	if !term.IsTerminal(int(tty.Fd())) {
		return nil, errors.New("give its passphrase with --passphrase-file or --passphrase-fd, or run the command in a terminal")
	}
	fmt.Fprint(cmd.ErrOrStderr(), prompt)
	defer fmt.Fprintln(cmd.ErrOrStderr())
	before, _ := term.GetState(int(tty.Fd()))
	stop := context.AfterFunc(cmd.Context(), func() {
		term.Restore(int(tty.Fd()), before)
	})
	defer stop()
	type answer struct {
		phrase []byte
		err    error
	}
	read := make(chan answer, 1)
	go func() {
		phrase, err := term.ReadPassword(int(tty.Fd()))
		read <- answer{phrase, err}
	}()
	select {
	case a := <-read:
		if a.err == nil && len(a.phrase) == 0 {
			a.err = errors.New("the passphrase is empty")
		}
		return a.phrase, a.err
	case <-cmd.Context().Done():
		return nil, context.Cause(cmd.Context())
	}
}

// keyFlags are the flags that all signatures of a command have in common.
type keyFlags struct {
	authority string
	passphraseFlags
}

func (fl *keyFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&fl.authority, "timestamp", "", "ask the time-stamp authority at `URL` (RFC 3161) for a token over each signature")
	fl.passphraseFlags.add(cmd)
}

// check checks the flags of a command that can sign for the given purposes.
func (fl *keyFlags) check(cmd *cobra.Command, purposes ...*signFlags) error {
	var signing, files []string // flags
	signs, reads := false, false
	for _, p := range purposes {
		if err := p.checkKeys(); err != nil {
			return err
		}
		files = append(files, "--"+p.keyFlag)
		signing = append(signing, "--"+p.keyFlag)
		if p.programs {
			signing = append(signing, "--signer")
		}
		signs, reads = signs || p.given(), reads || len(p.keys) > 0
	}
	switch {
	case cmd.Flags().Changed("passphrase-file") && fl.file == "":
		return errors.New("--passphrase-file is empty")
	case !signs && cmd.Flags().Changed("timestamp"):
		return fmt.Errorf("--timestamp needs %s: a time-stamp is over a signature", orList(signing))
	case !reads && fl.passphraseFlags.given():
		return fmt.Errorf("a passphrase is only for %s", orList(files))
	case cmd.Flags().Changed("timestamp"):
		return checkAuthority(fl.authority)
	}
	return nil
}

// orList returns names with commas and "or".
func orList(names []string) string {
	n := len(names) - 1
	if n == 0 {
		return names[0]
	}
	return strings.Join(names[:n], ", ") + " or " + names[n]
}

// signFlags are the flags of the commands that sign.
type signFlags struct {
	keyFlag  string // the name of the flag for keys
	keys     []string
	commands []string
	programs bool // there is the flag --signer
	*keyFlags
}

// add adds the flags. keyFlag is the name of the flag for keys.
func (fl *signFlags) add(cmd *cobra.Command, keyFlag, what string) {
	fl.programs = true
	cmd.Flags().StringArrayVar(&fl.commands, "signer", nil, "sign with the key of a program, which a shell starts with `COMMAND` (repeatable)")
	fl.addKeys(cmd, &keyFlags{}, keyFlag, what)
	fl.keyFlags.add(cmd)
}

// addKeys adds only the flag for keys, which have flags in common with others.
func (fl *signFlags) addKeys(cmd *cobra.Command, common *keyFlags, keyFlag, what string) {
	fl.keyFlag, fl.keyFlags = keyFlag, common
	cmd.Flags().StringArrayVar(&fl.keys, keyFlag, nil, what)
}

// given reports whether there is a key.
func (fl *signFlags) given() bool { return len(fl.keys)+len(fl.commands) > 0 }

// check checks that the flags can be used together.
func (fl *signFlags) check(cmd *cobra.Command) error { return fl.keyFlags.check(cmd, fl) }

// checkKeys checks the flags that name keys.
func (fl *signFlags) checkKeys() error {
	switch {
	case slices.Contains(fl.keys, ""):
		return fmt.Errorf("--%s is empty; name the file of a private key", fl.keyFlag)
	case slices.Contains(fl.commands, ""):
		return errors.New("--signer is empty; give the command of a program")
	}
	return nil
}

// checkAuthority checks the URL of a time-stamp authority.
func checkAuthority(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("--timestamp %s is not the http or https URL of a time-stamp authority", finding.QuoteURL(s))
	}
	return nil
}

// open reads the keys and starts the signers, which are killed when ctx ends. The function
// end must be called; it ends the signers.
func (fl *signFlags) open(ctx context.Context, cmd *cobra.Command) (s *sign.Settings, end func() error, err error) {
	s = &sign.Settings{Authority: fl.authority}
	failed := func(command string, err error) error {
		return fmt.Errorf("%w: --signer %s: %s", errSigner, finding.Quote(command), messageOf(err))
	}
	var started []*sign.Command
	end = func() (err error) {
		for i, one := range started {
			if ended := one.Close(); ended != nil {
				err = errors.Join(err, failed(fl.commands[i], ended))
			}
		}
		return err
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	ids := make(map[string]bool)
	add := func(one sign.Signer, from string) error {
		if id := one.Public().ID; ids[id] {
			return fmt.Errorf("%s is a key that was given twice", from)
		} else {
			ids[id] = true
		}
		s.Signers = append(s.Signers, one)
		return nil
	}
	var phrase []byte
	if fl.passphraseFlags.given() {
		if phrase, err = fl.passphraseFlags.read(cmd.Context()); err != nil {
			return nil, end, err
		}
	}
	for _, path := range fl.keys {
		key, err := readKey(cmd, fl.keyFlag, path, phrase)
		if err == nil {
			err = add(key, fmt.Sprintf("--%s %s", fl.keyFlag, finding.Quote(path)))
		}
		if err != nil {
			return nil, end, err
		}
	}
	for _, command := range fl.commands {
		one, err := sign.Start(ctx, command)
		if err == nil {
			started = append(started, one)
			err = add(one, "--signer "+finding.Quote(command))
		} else {
			err = failed(command, err)
		}
		if err != nil {
			return nil, end, err
		}
	}
	return s, end, nil
}

// endSigners ends the signers of a command whose error is err, or nil. It prints their error
// if it is not the one of the command.
func endSigners(cmd *cobra.Command, err error, end func() error) error {
	ended := end()
	if err == nil || ended == nil {
		return cmp.Or(err, ended)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "p20export: %s\n", finding.Printable(ended.Error()))
	return err
}

// messageOf returns the message of a finding without its code.
func messageOf(err error) string {
	f, _ := finding.FromError(err)
	return f.Message
}

// maxKeyBytes bounds the file of a private key.
const maxKeyBytes = 64 << 10

// readKey reads a private key. It warns if others can read the file.
func readKey(cmd *cobra.Command, flag, path string, phrase []byte) (*sign.PrivateKey, error) {
	data, err := record.ReadBounded(path, maxKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("%w: --%s: %w", errInput, flag, err)
	}
	key, err := sign.ParsePrivateKey(data, phrase)
	if errors.Is(err, sign.ErrEncrypted) {
		if phrase, err = askPassphrase(cmd, fmt.Sprintf("Passphrase of %s: ", finding.Printable(path))); err == nil {
			key, err = sign.ParsePrivateKey(data, phrase)
		} else {
			err = fmt.Errorf("%w; %w", sign.ErrEncrypted, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", flag, finding.Quote(path), err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		warn(cmd, finding.New(finding.KeyExposed, "%s has the mode %04o, so others can read the private key", finding.Quote(path), info.Mode().Perm()))
	}
	return key, nil
}

// warn prints a finding to standard error.
func warn(cmd *cobra.Command, f finding.Finding) {
	p := render.New(cmd.ErrOrStderr(), render.Text, build.Tool())
	p.Findings([]finding.Finding{f})
	_ = p.Close(nil)
}

// trustFlags name those whose signatures and time-stamps are trusted.
type trustFlags struct{ paths []string }

func (fl *trustFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&fl.paths, "trust", nil, "trust the public keys and the certificates of time-stamp authorities in the file or directory `PATH` (PEM; repeatable)")
}

// read reads the trust files. It returns nil if there are none.
func (fl *trustFlags) read() (*sign.Trust, error) {
	if len(fl.paths) == 0 {
		return nil, nil
	}
	if slices.Contains(fl.paths, "") {
		return nil, errors.New("--trust is empty")
	}
	t, err := sign.ReadTrust(fl.paths...)
	if err != nil {
		return nil, fmt.Errorf("--trust: %w", err)
	}
	return t, nil
}

// policyFlags say what is demanded of signatures.
type policyFlags struct {
	trustFlags
	signature, timestamp bool
	threshold            int
	at                   string
}

func (fl *policyFlags) add(cmd *cobra.Command) {
	fl.trustFlags.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&fl.signature, "require-signature", false, "with --trust: fail if a record is not signed by a trusted key")
	flags.BoolVar(&fl.timestamp, "require-timestamp", false, "with --trust: fail without a signature and a time-stamp of a trusted authority")
	flags.IntVar(&fl.threshold, "threshold", 1, "with --trust: fail if fewer than `N` trusted keys have signed a record")
	flags.Lookup("threshold").DefValue = "0" // 1 is demanded only if it is given
	flags.StringVar(&fl.at, "at", "", "with --trust: judge keys as of this `TIME` (RFC 3339) where there is no time-stamp (default: now)")
}

// policy returns what the flags demand.
func (fl *policyFlags) policy(cmd *cobra.Command) (p *sign.Policy, err error) {
	changed := cmd.Flags().Changed
	p = &sign.Policy{RequireSignature: fl.signature || changed("threshold"), RequireTimestamp: fl.timestamp, Threshold: fl.threshold}
	if p.Trust, err = fl.read(); err != nil {
		return nil, err
	}
	for _, name := range []string{"require-signature", "require-timestamp", "threshold", "at"} {
		if p.Trust == nil && changed(name) {
			return nil, fmt.Errorf("--%s needs --trust: the public keys that are trusted", name)
		}
	}
	if p.Trust == nil {
		return p, nil
	}
	if changed("at") {
		if p.At, err = sign.ParseTime(fl.at); err != nil {
			return nil, fmt.Errorf("--at %s: %w", finding.Quote(fl.at), err)
		}
	}
	switch keys := p.Trust.Keys(); {
	case keys == 0:
		return nil, errors.New("--trust: there is no public key, only certificates; nothing could be signed")
	case fl.threshold < 1:
		return nil, errors.New("--threshold must be at least 1")
	case fl.threshold > keys:
		return nil, fmt.Errorf("--threshold %d: only %s trusted", fl.threshold, render.Plural(keys, "key is", "keys are"))
	case p.RequireTimestamp && p.Trust.Authorities() == 0:
		return nil, errors.New("--require-timestamp: --trust has no certificate of a time-stamp authority")
	}
	return p, nil
}
