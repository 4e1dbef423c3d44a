package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/finding"
)

// What marks errors that are not of the command line.
var (
	errInput   = errors.New("cannot read the input")
	errHarness = errors.New("cannot run the harness")
)

// signalled is why a context ended.
type signalled struct{ syscall.Signal }

func (s signalled) Error() string { return s.Signal.String() }

// Is makes it the cancellation that it causes.
func (s signalled) Is(target error) bool { return target == context.Canceled }

// run is the whole program: it returns its exit status.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var why signalled
	if errors.As(context.Cause(ctx), &why) && err != nil {
		return 128 + int(why.Signal)
	}
	var done render.Status
	switch {
	case err == nil:
		return int(render.Done)
	case errors.As(err, &done):
		return int(done)
	}
	for line := range strings.Lines("p20export: " + err.Error() + "\n") {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(stderr, finding.Printable(line))
		}
	}
	if errors.Is(err, render.ErrOutput) || errors.Is(err, errInput) || errors.Is(err, errHarness) {
		return int(render.Failed)
	}
	fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
	return int(render.Usage)
}

// withSignals returns a context that the first SIGINT, SIGTERM or SIGHUP ends;
// the second one ends the program.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(signalled{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// untilSecondSignal returns a context that a signal after the end of ctx ends,
// instead of the program; the one after that ends the program.
func untilSecondSignal(ctx context.Context) (context.Context, func()) {
	kill, cancel := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	awaited := 2
	if ctx.Err() != nil {
		awaited = 1
	}
	go func() {
		defer signal.Stop(signals)
		for range awaited {
			select {
			case <-signals:
			case <-kill.Done():
				return
			}
		}
		cancel()
	}()
	return kill, cancel
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "p20export",
		Short: "Freeze one captured AG-UI run into a small evidence artifact",
		Long: `p20export turns one captured AG-UI run (the event stream an AI agent sends its
user interface) into a small frozen artifact: who said what, in which run, how
it ended, and nothing more.

It claims portable compacted message-history evidence for one bounded run
envelope (P20). It does not claim stream fidelity, replay completeness, state
sync or branch correctness.

  capture    record a run from an endpoint, or import a file
  discover   run a list of scenarios against an endpoint, a capture of each
  compare    hold captures against the contract, and against a baseline
  inspect    look into a capture
  report     make one HTML page to look at captures
  freeze     project a capture's runs to artifacts
  validate   judge an artifact or a bounded envelope
  verify     repeat a projection from the raw capture and compare
  assay      put artifacts into Assay's events and bundles, and check bundles
  schema     list or print the JSON Schemas of these files`,
		Example: `  p20export capture http://127.0.0.1:8011/ --input request.json -o captures/one-turn
  p20export inspect captures/one-turn
  p20export freeze captures/one-turn -o frozen
  p20export validate frozen/one-turn.artifact.json
  p20export verify frozen/one-turn.artifact.json \
      --record frozen/one-turn.record.json --capture captures/one-turn`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("p20export {{.Version}}\n")
	root.AddCommand(newCapture(), newDiscover(), newInspect(), newReport(), newFreeze(), newValidate(), newVerify(), newCompare(), newAssay(), newSchema(), newVersion())
	root.SetHelpCommand(newHelp(root))
	strictCompletion(root)
	return root
}

// newHelp is cobra's help command, but that an unknown topic is a usage error.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		Long:  "Help about any command, as p20export COMMAND --help gives it.",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return names(root), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return cmd.Help()
		},
	}
}

func names(root *cobra.Command) (all []string) {
	for _, cmd := range root.Commands() {
		all = append(all, cmd.Name())
	}
	return all
}

// strictCompletion makes an unknown shell a usage error: what completion prints
// is sourced.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return fmt.Errorf("shell %q is not known; the shells are %s", args[0], strings.Join(names(cmd), ", "))
		}
	}
}

const exitHelp = `
Exit status: 0 done and good; 1 done and the verdict is negative; 2 the command
line is wrong; 3 it could not be done; 130 or 143 interrupted.`

// oneOrMore wants at least one argument, and says of what.
func oneOrMore(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("name at least one %s", what)
		}
		return nil
	}
}

// newPrinter returns the printer of a command's results.
func newPrinter(cmd *cobra.Command, f *render.Format) *render.Printer {
	return render.New(cmd.OutOrStdout(), *f, tool())
}

// reading does work that reads a file, and shows on standard error how far it is.
func reading(cmd *cobra.Command, path string, work func(progress func(int64))) {
	shown, progress := render.NewReading(cmd.ErrOrStderr(), path)
	defer shown.End()
	work(progress)
}

// interrupted returns why the context of a command ended, or nil.
func interrupted(cmd *cobra.Command) error { return context.Cause(cmd.Context()) }
