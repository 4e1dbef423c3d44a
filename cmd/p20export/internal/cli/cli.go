// Package cli contains what the commands of this program share: common flags,
// completion and help, which are stricter than cobra's own.
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

// formatFlag is the value of --format. It accepts the formats that the command has.
type formatFlag struct {
	target  *render.Format
	allowed []string
}

// String implements pflag.Value.
func (f formatFlag) String() string { return string(*f.target) }

// Set implements pflag.Value.
func (f formatFlag) Set(s string) error {
	if !slices.Contains(f.allowed, s) {
		last := len(f.allowed) - 1
		return fmt.Errorf("the formats are %s and %s", strings.Join(f.allowed[:last], ", "), f.allowed[last])
	}
	*f.target = render.Format(s)
	return nil
}

// Type implements pflag.Value.
func (f formatFlag) Type() string { return strings.Join(f.allowed, "|") }

// AddFormat adds the flag --format to a command. It accepts text, json and the formats
// in more.
func AddFormat(cmd *cobra.Command, more ...render.Format) *render.Format {
	f := render.Text
	flag := formatFlag{target: &f, allowed: []string{string(render.Text), string(render.JSON)}}
	usage := "format of the results; json is one object per line"
	for _, m := range more {
		flag.allowed = append(flag.allowed, string(m))
	}
	if len(more) > 0 {
		usage += ", the others are one document at the end"
	}
	cmd.Flags().Var(flag, "format", usage)
	Complete(cmd, "format", flag.allowed...)
	return &f
}

// failOnFlag is the value of --fail-on.
type failOnFlag struct{ target *render.FailOn }

// String implements pflag.Value.
func (f failOnFlag) String() string { return string(*f.target) }

// Set implements pflag.Value.
func (f failOnFlag) Set(s string) error {
	all := render.FailOns()
	if !slices.Contains(all, s) {
		return fmt.Errorf("must be one of %s", strings.Join(all, ", "))
	}
	*f.target = render.FailOn(s)
	return nil
}

// Type implements pflag.Value.
func (failOnFlag) Type() string { return "VERDICT" }

// AddFailOn adds the flag --fail-on to a command. The parameter what describes the
// runs it applies to.
func AddFailOn(cmd *cobra.Command, what string) *render.FailOn {
	var on render.FailOn
	all := render.FailOns()
	cmd.Flags().Var(failOnFlag{&on}, "fail-on", "exit with status 1 if "+what+" has this verdict or a worse one: "+strings.Join(all[1:], ", ")+"; none: never")
	Complete(cmd, "fail-on", all...)
	return &on
}

// CheckTextFlags returns an error if one of the named flags, which affect only text,
// is given with another format, or if two of them are given.
func CheckTextFlags(cmd *cobra.Command, f render.Format, flags ...string) error {
	given := ""
	for _, name := range flags {
		switch {
		case !cmd.Flags().Changed(name):
		case f != render.Text:
			return fmt.Errorf("--%s can only be used with --format text; --format %s always contains everything", name, f)
		case given != "":
			return fmt.Errorf("give either --%s or --%s, not both", given, name)
		default:
			given = name
		}
	}
	return nil
}

// Complete sets the values that completion offers for a flag.
func Complete(cmd *cobra.Command, flag string, values ...string) {
	CompleteBy(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// CompleteBy sets the function that completes the values of a flag.
func CompleteBy(cmd *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // the flag does not exist: a programming error
	}
}

// Require makes flags required. The error for missing flags includes their usage.
func Require(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the flag does not exist: a programming error
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
	usage := strings.ReplaceAll(f.Usage, "`", "") // quotes around the name of the value
	return fmt.Sprintf("%s is missing: %s", name, strings.TrimSuffix(usage, " (required)"))
}

// Reading calls work, which reads a file, and shows its progress on standard error.
func Reading(cmd *cobra.Command, path string, work func(progress func(int64))) {
	shown, progress := render.NewReadingProgress(cmd.ErrOrStderr(), path)
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

// Output is standard output. It stores the first write error: cobra ignores it when
// printing help, and elsewhere treats it as a mistake on the command line.
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

// Fd returns the file descriptor of standard output, or an invalid one if it is not a
// file.
func (o *Output) Fd() uintptr {
	if f, ok := o.Writer.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// BufferHelp buffers help and writes it in a single write, so that cobra does not print a
// write error itself. Output stores the error. If the help has more than two screens, --help
// prints the beginning, unless it lists commands; all of it is printed by FullHelp.
func BufferHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var text bytes.Buffer
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		if bytes.Count(text.Bytes(), []byte("\n")) > twoScreens && !cmd.HasAvailableSubCommands() && cmd.Annotations[fullHelp] == "" {
			text.Reset()
			text.WriteString(shortHelp(cmd))
		}
		_, _ = out.Write(text.Bytes())
	})
}

// twoScreens is the number of lines of two terminals of the usual size.
const twoScreens = 48

// fullHelp is the key of the annotation of a command whose whole help is printed.
const fullHelp = "p20export-full-help"

// FullHelp prints the whole help of a command.
func FullHelp(cmd *cobra.Command) error {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[fullHelp] = "yes"
	cmd.InitDefaultHelpFlag() // as for --help
	return cmd.Help()
}

// WholeHelp returns the arguments that print the whole help, if args ask for it with --help
// and --all, and else args.
func WholeHelp(args []string) []string {
	has := func(flag string) bool { return slices.Contains(args, flag) }
	if !has("--all") || !has("--help") && !has("-h") || has("--") {
		return args
	}
	return append([]string{"help"}, slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })...)
}

// shortHelp returns what most people need of the help of a command: what it does, how it is
// called, examples, and the names of the flags.
func shortHelp(cmd *cobra.Command) string {
	var b strings.Builder
	about, rest, _ := strings.Cut(cmd.Long, "\n\n")
	if strings.HasSuffix(about, ":") { // what it announces follows
		next, _, _ := strings.Cut(rest, "\n\n")
		about += "\n\n" + next
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n", strings.TrimSpace(about))
	for _, line := range Synopsis(cmd) {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	fmt.Fprintf(&b, "\nExamples:\n%s\n\nFlags:\n ", cmd.Example)
	column := 1
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := " --" + f.Name
		if f.Shorthand != "" {
			name = " -" + f.Shorthand + "," + name
		}
		if column+len(name) > helpColumns {
			b.WriteString("\n ")
			column = 1
		}
		b.WriteString(name)
		column += len(name)
	})
	fmt.Fprintf(&b, "\n\n\"%s --help --all\" and the man page\ndescribe the flags, the exit statuses and everything else.\n", cmd.CommandPath())
	return b.String()
}

// Help returns a help command like cobra's, except that an unknown command is a usage
// error.
func Help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Long:    "Show the whole help of a command, as p20export COMMAND --help --all does.\nWithout --all, --help shows the beginning of a long one.",
		Example: "  p20export help freeze",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return names(root), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return FullHelp(cmd)
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

// StrictCompletion makes an unknown shell a usage error, because shells source the
// output of completion.
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
			return fmt.Errorf("unknown shell %q; the shells are %s", args[0], strings.Join(names(cmd), ", "))
		}
	}
}

// UnquoteUsages removes the quotes around the names of values from the usage of all
// flags. Help removes them itself, but completion does not.
func UnquoteUsages(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	for _, c := range cmd.Commands() {
		UnquoteUsages(c)
	}
}
