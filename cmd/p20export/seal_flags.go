package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store/seal"
)

// sealFlags are the flags of the commands that seal threads.
type sealFlags struct {
	signFlags
	origin    string
	witnesses []string
	witnessFlags
	before      trustFlags
	otherTenant bool
}

// add adds the flags. keyFlag is --key or --seal.
func (fl *sealFlags) add(cmd *cobra.Command, keyFlag, what string) {
	fl.signFlags.add(cmd, keyFlag, what)
	fl.addSeal(cmd)
}

// addTo adds the flags to a command that also signs for another purpose.
func (fl *sealFlags) addTo(cmd *cobra.Command, common *keyFlags, keyFlag, what string) {
	fl.addKeys(cmd, common, keyFlag, what)
	fl.addSeal(cmd)
}

// addSeal adds the flags that are not those of signFlags.
func (fl *sealFlags) addSeal(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&fl.origin, "origin", "p20export", "`NAME` of the log, which begins the origin of each seal, such as agents.example/log")
	flags.StringArrayVar(&fl.witnesses, "witness", nil, "ask the witness at `URL` to cosign each seal (repeatable)")
	fl.witnessFlags.add(cmd)
	flags.StringArrayVar(&fl.before.paths, "trust", nil, "a seal may follow one by the public keys in the file or directory `PATH`, such as earlier keys (PEM; repeatable)")
}

// checkSeal checks the flags of addSeal.
func (fl *sealFlags) checkSeal(cmd *cobra.Command) error {
	for _, name := range []string{"origin", "witness", "witness-key", "trust"} {
		if !fl.given() && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s needs --%s: the key that signs seals", name, fl.keyFlag)
		}
	}
	if err := seal.CheckOrigin(fl.origin); err != nil {
		return fmt.Errorf("--origin %s: %w", finding.Quote(fl.origin), err)
	}
	for _, s := range fl.witnesses {
		if u, err := url.Parse(s); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("--witness %s is not the http or https URL of a witness", finding.QuoteURL(s))
		}
	}
	if len(fl.witnesses) > 0 && len(fl.witnessKeys) == 0 {
		return errors.New("--witness needs --witness-key: the key with which the witness signs")
	}
	return nil
}

// openSeal reads the keys and starts the signers. The function end must be called; it ends the
// signers.
func (fl *sealFlags) openSeal(ctx context.Context, cmd *cobra.Command) (*seal.Settings, func() error, error) {
	witnesses, err := fl.witnessFlags.read()
	if err != nil {
		return nil, nil, err
	}
	before, err := fl.before.read()
	if err != nil {
		return nil, nil, err
	}
	s, end, err := fl.signFlags.open(ctx, cmd)
	if err != nil {
		return nil, nil, err
	}
	settings := &seal.Settings{Name: fl.origin, Signers: s.Signers, Trust: before, OtherTenant: fl.otherTenant, Authority: s.Authority, Witnesses: fl.witnesses, WitnessKeys: witnesses}
	if err := settings.Check(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("--%s: %w", fl.keyFlag, err), end())
	}
	return settings, end, nil
}

// openServer is openSeal for a server, which seals the last threads after the signal that ends it.
// The settings are nil if it seals none.
func (fl *sealFlags) openServer(cmd *cobra.Command) (*seal.Settings, func() error, error) {
	if !fl.given() {
		return nil, func() error { return nil }, nil
	}
	return fl.openSeal(context.WithoutCancel(cmd.Context()), cmd)
}

// witnessFlags name the witnesses that are known.
type witnessFlags struct{ witnessKeys []string }

func (fl *witnessFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&fl.witnessKeys, "witness-key", nil, "cosignatures of the witness with this `KEY` count: NAME+HASH+BASE64 (repeatable)")
}

// read returns the keys.
func (fl *witnessFlags) read() ([]seal.WitnessKey, error) {
	var all []seal.WitnessKey
	for _, key := range fl.witnessKeys {
		v, err := seal.ParseWitness(key)
		if err != nil {
			return nil, fmt.Errorf("--witness-key %s: %w", finding.Quote(key), err)
		}
		if slices.ContainsFunc(all, func(w seal.WitnessKey) bool { return w.Name() == v.Name() && w.KeyHash() == v.KeyHash() }) {
			return nil, fmt.Errorf("--witness-key %s is given twice", finding.Quote(key))
		}
		all = append(all, v)
	}
	return all, nil
}

// sealPolicyFlags say whose seals are trusted.
type sealPolicyFlags struct {
	trustFlags
	origin string
	witnessFlags
	quorum int
	at     string
}

func (fl *sealPolicyFlags) add(cmd *cobra.Command) {
	fl.trustFlags.add(cmd)
	fl.witnessFlags.add(cmd)
	cmd.Flags().StringVar(&fl.origin, "origin", "", "only seals of the log with this `NAME` count (default: any)")
	cmd.Flags().IntVar(&fl.quorum, "require-witnesses", 0, "fail unless `N` of the witnesses have cosigned the seal; needs --origin")
	cmd.Flags().StringVar(&fl.at, "at", "", "judge keys as of this `TIME` (RFC 3339) where there is no time-stamp (default: now)")
}

// policy returns what the flags demand.
func (fl *sealPolicyFlags) policy(cmd *cobra.Command) (p *seal.Policy, err error) {
	p = &seal.Policy{Quorum: fl.quorum, Name: fl.origin}
	if p.Trust, err = fl.trustFlags.read(); err != nil {
		return nil, err
	}
	if p.Trust == nil || p.Trust.Keys() == 0 {
		return nil, errors.New("--trust PATH is missing: the file of the public key of those who seal the log")
	}
	if !seal.CanVerify(p.Trust) {
		return nil, errors.New("--trust has no Ed25519 key, and only those sign seals")
	}
	if cmd.Flags().Changed("origin") {
		if err := seal.CheckOrigin(fl.origin); err != nil {
			return nil, fmt.Errorf("--origin %s: %w", finding.Quote(fl.origin), err)
		}
	}
	if p.Witnesses, err = fl.witnessFlags.read(); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("require-witnesses") && (fl.quorum < 1 || fl.quorum > len(p.Witnesses)) {
		return nil, fmt.Errorf("--require-witnesses %d: there are %d keys of witnesses, with --witness-key", fl.quorum, len(p.Witnesses))
	}
	if fl.quorum > 0 && fl.origin == "" {
		return nil, errors.New("--require-witnesses needs --origin: witnesses know a thread by the name of its log")
	}
	if cmd.Flags().Changed("at") {
		if p.At, err = sign.ParseTime(fl.at); err != nil {
			return nil, fmt.Errorf("--at %s: %w", finding.Quote(fl.at), err)
		}
	}
	return p, nil
}
