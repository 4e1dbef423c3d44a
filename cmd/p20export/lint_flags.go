package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/lint"
)

// lintFlags are the flags of lint.
type lintFlags struct {
	protocol, failOn, config, origin string
	rules, off, require              []string
	group                            bool
	batch                            *cli.Batch
	format                           *render.Format

	out, input string
	endpoint   requestFlags
}

func (fl *lintFlags) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&fl.protocol, "protocol", "", "rules of AG-UI `auto|0.x|1.0|1.1|draft`: of the declared version, or of this one (default auto)")
	flags.StringVar(&fl.failOn, "fail-on", "", "exit with status 1 if a finding is an `error|warning|info`, or worse (default error)")
	flags.StringArrayVar(&fl.rules, "rule", nil, "`RULE=SEVERITY`: the findings of this rule, such as G15, are error, warning or info (repeatable)")
	flags.StringArrayVar(&fl.off, "off", nil, "do not report the findings of this `RULE` (repeatable)")
	flags.StringSliceVar(&fl.require, "require", nil, "the `FEATURES` that each capture has to exercise, with commas between; docs/lint.md lists them (repeatable)")
	flags.StringVar(&fl.config, "config", "", "read the settings from `FILE` instead of lint.json")
	flags.BoolVar(&fl.group, "group", false, "list each rule once, with its findings in all captures")
	flags.StringVar(&fl.origin, "origin", "", "with a URL: check that a browser gives the response to pages of `ORIGIN`, such as https://app.example")
	flags.StringVarP(&fl.out, "output", "o", "", "with a URL: keep the capture in `DIR`, new or empty")
	flags.StringVar(&fl.input, "input", "", "with a URL: `REQUEST` to post, an AG-UI run input as JSON; - is standard input")
	fl.endpoint.addFlags(cmd)
	fl.batch = cli.AddBatch(cmd, "captures")
	fl.format = cli.AddFormat(cmd, render.SARIF, render.JUnit, render.GitHub)
	protocols := []string{string(event.Auto)}
	for _, p := range event.Protocols() {
		protocols = append(protocols, string(p))
	}
	cli.Complete(cmd, "protocol", protocols...)
	cli.Complete(cmd, "fail-on", string(finding.Error), string(finding.Warning), string(finding.Info))
	cli.Complete(cmd, "off", lint.RuleNames()...)
	cli.Complete(cmd, "require", lint.Features()...)
}

// options returns the settings of the configuration file and of the flags, which win, and
// the origin.
func (fl *lintFlags) options(cmd *cobra.Command) (lint.Options, string, error) {
	config, err := loadLintConfig(cmd.Context(), fl.config)
	if err != nil {
		return lint.Options{}, "", err
	}
	fail := func(err error) (lint.Options, string, error) { return lint.Options{}, "", err }
	o := lint.Options{Protocol: cmp.Or(config.Protocol, event.Auto), FailOn: cmp.Or(config.FailOn, finding.Error)}
	if o.Policy, err = config.Policy(); err != nil {
		return fail(err)
	}
	if fl.protocol != "" {
		if o.Protocol, err = event.ParseProtocol(fl.protocol); err != nil {
			return fail(fmt.Errorf("unknown protocol %q: %w", fl.protocol, err))
		}
	}
	if fl.failOn != "" {
		if o.FailOn, err = lint.ParseSeverity(fl.failOn); err != nil {
			return fail(fmt.Errorf("--fail-on %s: %w", finding.Quote(fl.failOn), err))
		}
	}
	for _, rule := range fl.rules {
		name, severity, ok := strings.Cut(rule, "=")
		if !ok {
			return fail(fmt.Errorf("--rule %s must be RULE=SEVERITY, such as G15=warning", finding.Quote(rule)))
		}
		if finding.Severity(severity) == lint.Off {
			return fail(fmt.Errorf("--rule %s: to turn a rule off, use --off %s", finding.Quote(rule), finding.Escape(name)))
		}
		if err := o.Policy.Set(name, finding.Severity(severity)); err != nil {
			return fail(fmt.Errorf("--rule %s: %w", finding.Quote(rule), err))
		}
	}
	for _, rule := range fl.off {
		if err := o.Policy.Set(rule, lint.Off); err != nil {
			return fail(fmt.Errorf("--off %s: %w", finding.Quote(rule), err))
		}
	}
	if cmd.Flags().Changed("require") {
		if err := o.Policy.SetRequired(fl.require); err != nil {
			return fail(fmt.Errorf("--require: %w", err))
		}
	}
	if fl.origin != "" {
		if err := lint.CheckOrigin(fl.origin); err != nil {
			return fail(fmt.Errorf("--origin %w", err))
		}
	}
	return o, cmp.Or(fl.origin, config.Origin), nil
}

// checkNoEndpoint returns an error if a flag is given that needs a URL.
func (fl *lintFlags) checkNoEndpoint(cmd *cobra.Command) error {
	for _, name := range []string{"input", "output", "origin", "framing", "header", "label", "timeout", "max-bytes"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is only for a URL", name)
		}
	}
	return nil
}

// isMissing reports whether a file does not exist.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
