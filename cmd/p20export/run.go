package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
	"github.com/p20export/p20export/cmd/p20export/internal/signals"
	"github.com/p20export/p20export/envelope/lineage"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
)

// These errors mark failures that are not mistakes on the command line.
var (
	errInput   = errors.New("cannot read the input")
	errHarness = errors.New("cannot run the harness")
	errServe   = errors.New("cannot serve")
	errKeys    = errors.New("cannot write the keys")
	errSigner  = errors.New("cannot sign")
)

// run runs the program with the arguments and returns its exit status.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signals.Context(context.Background())
	defer stop()
	ctx = atomicfile.WithOnWait(ctx, func(dir string) {
		fmt.Fprintf(stderr, "p20export: waiting for another program that is writing to %s\n", finding.Printable(dir))
	})
	args = cli.WholeHelp(args)
	out := &cli.Output{Writer: stdout}
	root := newRoot(args, out, stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	var why signals.Ended
	if errors.As(context.Cause(ctx), &why) && err != nil {
		if cmd.Flags().Lookup("listen") == nil { // the logs of servers report signals
			fmt.Fprintln(stderr, "p20export: interrupted by", why.Name())
		}
		return 128 + int(why.Signal)
	}
	if out.Err != nil && !errors.Is(err, render.ErrOutput) {
		err = fmt.Errorf("%w: %w", render.ErrOutput, out.Err) // while writing help or completion
	}
	var done render.Status
	switch {
	case err == nil:
		return int(render.Done)
	case errors.As(err, &done):
		return int(done)
	}
	for line := range strings.Lines("p20export: " + cli.HideURLs(finding.ErrorText(err), args) + "\n") {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintln(stderr, finding.Printable(line))
		}
	}
	if errors.Is(err, render.ErrOutput) || errors.Is(err, errInput) || errors.Is(err, errHarness) || errors.Is(err, errServe) || errors.Is(err, errKeys) || errors.Is(err, errSigner) || errors.Is(err, errStore) || errors.Is(err, lineage.ErrFork) || errors.Is(err, cli.ErrListen) || isUnsynced(err) {
		return int(render.Failed)
	}
	fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
	return int(render.Usage)
}

// isUnsynced reports whether err says that everything was written but may not
// survive a crash.
func isUnsynced(err error) bool {
	_, ok := errors.AsType[*atomicfile.UnsyncedError](err)
	return ok
}

type command struct {
	name, group string
	new         func() *cobra.Command
}

// The groups of commands in the help, in the order in which they are used.
const (
	groupRecord    = "Record runs"
	groupStore     = "Keep captures and logs"
	groupExamine   = "Examine captures"
	groupFreeze    = "Freeze and check artifacts"
	groupSign      = "Sign records"
	groupExport    = "Export artifacts"
	groupReference = "Reference"
)

// commands lists the subcommands of the root command in the order of the help.
var commands = []command{
	{"capture", groupRecord, newCapture}, {"proxy", groupRecord, newProxy}, {"serve", groupRecord, newServe}, {"discover", groupRecord, newDiscover},
	{"replay", groupRecord, newReplay}, {"ready", groupRecord, newReady},
	{"recover", groupStore, newRecover}, {"prune", groupStore, newPrune}, {"log", groupStore, newLog},
	{"compare", groupExamine, newCompare}, {"inspect", groupExamine, newInspect}, {"lint", groupExamine, newLint}, {"report", groupExamine, newReport}, {"compact", groupExamine, newCompact}, {"lineage", groupExamine, newLineage},
	{"freeze", groupFreeze, newFreeze}, {"validate", groupFreeze, newValidate}, {"diff", groupFreeze, newDiff}, {"verify", groupFreeze, newVerify},
	{"keygen", groupSign, newKeygen}, {"sign", groupSign, newSign}, {"timestamp", groupSign, newTimestamp},
	{"assay", groupExport, newAssay},
	{"explain", groupReference, newExplain}, {"schema", groupReference, newSchema}, {"version", groupReference, newVersion},
}

// newRoot returns the root command. If the first argument names a subcommand, only
// that subcommand is added; otherwise all of them are, and cobra's completion command.
func newRoot(args []string, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "p20export",
		Short: "Freeze one captured AG-UI run into a small evidence artifact",
		Long: `p20export turns one captured AG-UI run (the event stream an AI agent sends to
its user interface) into a small frozen artifact: the messages of one snapshot,
the run's ids and times, the event that ended it, and nothing more.

Start with three commands: capture records a run, inspect shows what is in it,
and freeze creates the artifact. To try the examples below, use the address of
your agent and a file that contains a request to it.

If you maintain an integration, p20export discover URL reports whether it
qualifies.

An artifact claims to be portable compacted message-history evidence for one
bounded run envelope, as defined by P20, the plan of this evidence lane. It does
not claim stream fidelity, replay completeness, state sync or branch
correctness.`,
		Example: `  p20export capture http://127.0.0.1:8011/ --input request.json -o captures/mine
  p20export inspect captures/mine
  p20export freeze captures/mine -o frozen`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	// Cobra's own version flag executes a template. Templates call methods by name,
	// so with them the linker would keep every exported method.
	version := root.Flags().BoolP("version", "v", false, "print the version")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*version {
			return cmd.Help()
		}
		line := "p20export " + build.Version
		if from := build.From().String(); from != "" {
			line += " (" + from + ")"
		}
		_, err := fmt.Fprintln(stdout, line)
		return err
	}
	root.SetOut(stdout) // before the completion command is created, which keeps it
	root.SetErr(stderr)
	named := slices.IndexFunc(commands, func(c command) bool { return len(args) > 0 && c.name == args[0] })
	root.CompletionOptions.DisableDefaultCmd = named >= 0
	var order []string
	for i, c := range commands {
		if order = append(order, c.name); !root.ContainsGroup(c.group) {
			root.AddGroup(&cobra.Group{ID: c.group, Title: c.group})
		}
		if named < 0 || named == i {
			sub := c.new()
			sub.GroupID = c.group
			root.AddCommand(sub)
		}
	}
	root.SetHelpCommand(cli.Help(root))
	root.SetHelpCommandGroupID(groupReference)
	root.SetCompletionCommandGroupID(groupReference)
	cli.Usage(root, order)
	cli.BufferHelp(root)
	if named < 0 {
		cli.StrictCompletion(root)
	}
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		cli.UnquoteUsages(root)
	}
	return root
}

// exitColumn is the column of the descriptions of exit statuses in the help.
const exitColumn = 17

// exitHelp returns the end of a command's help: the exit statuses that the command
// can have. The arguments describe the statuses 0, 1 and 3. An empty one omits the
// status 1. An empty three is replaced by the description of most commands.
func exitHelp(zero, one, three string) string {
	return exitStatuses(zero, one, three, "stopped by SIGHUP, SIGINT or SIGTERM")
}

// serverExitHelp is like exitHelp for a command that serves until a signal. Then it ends, or
// cuts off, what it serves.
func serverExitHelp(what, three string) string {
	return exitStatuses("stopped by a signal without cutting off "+what, "", three, "stopped by SIGHUP, SIGINT or SIGTERM, which cut off "+what)
}

func exitStatuses(zero, one, three, signaled string) string {
	const wrongLine = "the command line is wrong, or the Go runtime failed, for example without memory; standard error then has a stack trace"
	var b strings.Builder
	b.WriteString("\nExit status:")
	for _, status := range [][2]string{
		{"0", zero}, {"1", one}, {"2", wrongLine}, {"3", cmp.Or(three, "the work could not be completed")},
		{"129, 130, 143", signaled},
	} {
		if status[1] == "" {
			continue
		}
		column := exitColumn
		fmt.Fprintf(&b, "\n  %-13s ", status[0])
		for word := range strings.FieldsSeq(status[1]) {
			if column+len(word) > 80 {
				b.WriteString("\n" + strings.Repeat(" ", exitColumn-1))
				column = exitColumn
			}
			b.WriteString(" " + word)
			column += len(word) + 1
		}
	}
	return b.String()
}

// newPrinter returns a printer for the results of a command.
func newPrinter(cmd *cobra.Command, f *render.Format) *render.Printer {
	return render.New(cmd.OutOrStdout(), *f, build.Tool())
}

// interrupted returns the cause of the cancellation of a command's context, or nil.
func interrupted(cmd *cobra.Command) error { return context.Cause(cmd.Context()) }
