// Package cli has what the commands of this program share: the flag --format,
// completion and help, stricter than cobra's own.
package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/p20export/p20export/cmd/p20export/internal/render"
)

// formatFlag is the value of a command's --format: one of those it has.
type formatFlag struct {
	to *render.Format
	of []string
}

// String implements pflag.Value.
func (f formatFlag) String() string { return string(*f.to) }

// Set implements pflag.Value.
func (f formatFlag) Set(s string) error {
	if !slices.Contains(f.of, s) {
		last := len(f.of) - 1
		return fmt.Errorf("the formats are %s and %s", strings.Join(f.of[:last], ", "), f.of[last])
	}
	*f.to = render.Format(s)
	return nil
}

// Type implements pflag.Value.
func (f formatFlag) Type() string { return strings.Join(f.of, "|") }

// AddFormat gives a command its --format flag: text, json and those named.
func AddFormat(cmd *cobra.Command, more ...render.Format) *render.Format {
	f := render.Text
	flag := formatFlag{to: &f, of: []string{string(render.Text), string(render.JSON)}}
	usage := "format of the results; json is one object per line"
	for _, m := range more {
		flag.of = append(flag.of, string(m))
	}
	if len(more) > 0 {
		usage += ", the others are one document at the end"
	}
	cmd.Flags().Var(flag, "format", usage)
	Complete(cmd, "format", flag.of...)
	return &f
}

// failOnFlag is the value of a command's --fail-on.
type failOnFlag struct{ to *render.FailOn }

// String implements pflag.Value.
func (f failOnFlag) String() string { return string(*f.to) }

// Set implements pflag.Value.
func (f failOnFlag) Set(s string) error {
	all := render.FailOns()
	if !slices.Contains(all, s) {
		return fmt.Errorf("it is one of %s", strings.Join(all, ", "))
	}
	*f.to = render.FailOn(s)
	return nil
}

// Type implements pflag.Value.
func (failOnFlag) Type() string { return "VERDICT" }

// AddFailOn gives a command its --fail-on flag. What names the runs that count.
func AddFailOn(cmd *cobra.Command, what string) *render.FailOn {
	var on render.FailOn
	all := render.FailOns()
	cmd.Flags().Var(failOnFlag{&on}, "fail-on", "exit with status 1 if "+what+" has this verdict or a worse one: "+strings.Join(all[1:], ", ")+"; none: never")
	Complete(cmd, "fail-on", all...)
	return &on
}

// CheckTextFlags reports flags that are given and shape only text, where another
// format is asked for, or two of them at once.
func CheckTextFlags(cmd *cobra.Command, f render.Format, flags ...string) error {
	given := ""
	for _, name := range flags {
		switch {
		case !cmd.Flags().Changed(name):
		case f != render.Text:
			return fmt.Errorf("--%s goes with --format text; --format %s has everything as it is", name, f)
		case given != "":
			return fmt.Errorf("give either --%s or --%s", given, name)
		default:
			given = name
		}
	}
	return nil
}

// Complete offers a flag's values to the shell.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	CompleteBy(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteBy offers a flag's values to the shell as they are known then.
func CompleteBy(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // the flag does not exist: a mistake of this program's
	}
}

// Require makes flags required. The error of those that are missing says what each
// is for.
func Require(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag does not exist: a mistake of this program's
		}
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		var missing []string
		for _, name := range flags {
			if !cmd.Flags().Changed(name) {
				missing = append(missing, missingFlag(cmd, name))
			}
		}
		if missing == nil {
			return nil
		}
		return errors.New(strings.Join(missing, "; "))
	}
}

func missingFlag(cmd *cobra.Command, name string) string {
	f := cmd.Flags().Lookup(name)
	name = "--" + name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand
	}
	usage := strings.ReplaceAll(f.Usage, "`", "") // around the name of the value
	return fmt.Sprintf("%s is missing: %s", name, strings.TrimSuffix(usage, " (required)"))
}

// Reading does work that reads a file, and shows on standard error how far it is.
func Reading(cmd *cobra.Command, path string, work func(progress func(int64))) {
	shown, progress := render.NewReading(cmd.ErrOrStderr(), path)
	defer shown.End()
	work(progress)
}

// OneOrMore requires at least one argument; what names it in the error.
func OneOrMore(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("name at least one %s", what)
		}
		return nil
	}
}

// One requires exactly one argument; what names it in the error.
func One(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("name one %s, not %d", what, len(args))
		}
		return nil
	}
}

// Output is standard output. It keeps the first error of writing, which cobra does
// not return for help, and takes for a fault of the command line elsewhere.
type Output struct {
	io.Writer
	Err error
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.Err == nil {
		o.Err = err
	}
	return n, err
}

// Fd returns the descriptor of a file, which may be a terminal.
func (o *Output) Fd() uintptr {
	if f, ok := o.Writer.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// WholeHelp makes help be written at once, so that cobra says nothing of its own
// about an error of that: Output has it.
func WholeHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var text bytes.Buffer
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		_, _ = out.Write(text.Bytes())
	})
}

// Help is cobra's help command, but that an unknown topic is a usage error.
func Help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Long:    "Show the help of a command, as p20export COMMAND --help does.",
		Example: "  p20export help freeze",
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
		if !cmd.Hidden {
			all = append(all, cmd.Name())
		}
	}
	return all
}

// StrictCompletion makes an unknown shell a usage error: what completion prints
// is sourced.
func StrictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Short = "Print a shell completion script"
		cmd.Long = cmd.Short + ".\nThe help of each shell's command explains how to load the script."
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return fmt.Errorf("shell %q is not known; the shells are %s", args[0], strings.Join(names(cmd), ", "))
		}
	}
}

// PlainUsages takes the quotes around the names of values out of what flags say of
// themselves. Help takes them out itself, and completion does not.
func PlainUsages(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	for _, c := range cmd.Commands() {
		PlainUsages(c)
	}
}
