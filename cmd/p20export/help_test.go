package main

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/p20export/p20export/internal/testkit"
)

// allCommands returns every command of a program, except those that cobra creates for each
// shell.
func allCommands(root *cobra.Command) []*cobra.Command {
	root.InitDefaultHelpCmd()
	list := []*cobra.Command{root}
	for _, cmd := range root.Commands() {
		if list = append(list, cmd); cmd.Name() != "completion" {
			list = append(list, cmd.Commands()...)
		}
	}
	return list
}

// Help fits a terminal of 80 columns, and two of its screens, unless it lists commands. With --all it has everything.
func TestHelpFits(t *testing.T) {
	short := 0
	for _, cmd := range allCommands(newRoot(nil, io.Discard, io.Discard)) {
		help := func(args ...string) string {
			var out bytes.Buffer
			args = append(strings.Fields(cmd.CommandPath())[1:], args...)
			if status := run(args, &out, io.Discard); status != 0 || out.Len() < 100 {
				t.Errorf("%q: exit status %d\n%s", args, status, out.String())
			}
			for line := range strings.Lines(out.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("%q: a line of %d columns: %s", args, n, line)
				}
			}
			return out.String()
		}
		first, all := help("--help"), help("--help", "--all")
		if n := strings.Count(first, "\n"); n > 48 && !cmd.HasAvailableSubCommands() {
			t.Errorf("%s: the help has %d lines", cmd.CommandPath(), n)
		}
		if first != all {
			short++
			if !strings.Contains(first, "--help --all") {
				t.Errorf("%s: the help does not say that there is more:\n%s", cmd.CommandPath(), first)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && (!strings.Contains(first, "--"+f.Name) || !strings.Contains(all, "--"+f.Name+" ")) {
				t.Errorf("%s: the help lacks --%s", cmd.CommandPath(), f.Name)
			}
		})
	}
	if short < 10 {
		t.Errorf("only %d commands have more help", short)
	}
}

// valueName matches the allowed names of flag values: NAME, KEY=VALUE, or the list of
// possible values.
var valueName = regexp.MustCompile(`^([A-Z]+(=[A-Z]+)?|'[A-Z]+: [A-Z]+'|[a-z0-9.N]+(\|[a-z0-9.N]+)+)$`)

// Help names the value of a flag by its meaning, not by its Go type.
func TestFlagsNameTheirValues(t *testing.T) {
	flags := 0
	for _, cmd := range allCommands(newRoot(nil, io.Discard, io.Discard)) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			flags++
			name, _ := pflag.UnquoteUsage(f)
			if f.Value.Type() == "bool" && name == "" || f.Value.Type() != "bool" && valueName.MatchString(name) {
				return
			}
			t.Errorf("%s --%s: its value is called %q", cmd.CommandPath(), f.Name, name)
		})
	}
	if flags < 50 {
		t.Errorf("only %d flags were looked at", flags)
	}
}

// The help of the root command and docs/commands.md list every command once, in the same order.
func TestCommandsAreListedOnce(t *testing.T) {
	var out bytes.Buffer
	run([]string{"--help"}, &out, io.Discard)
	listed := regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`).FindAllStringSubmatch(out.String(), -1)
	var order, want []string
	for _, m := range listed {
		order = append(order, m[1])
	}
	for _, c := range commands {
		want = append(want, c.name)
	}
	if want = append(want, "completion", "help"); !slices.Equal(order, want) {
		t.Errorf("help lists %v, want %v", order, want)
	}
	var shown []string
	for _, m := range regexp.MustCompile("(?m)^\\| `p20export ([a-z]+)").FindAllStringSubmatch(string(testkit.Read(t, "../../docs/commands.md")), -1) {
		if !slices.Contains(shown, m[1]) {
			shown = append(shown, m[1])
		}
	}
	order = slices.DeleteFunc(order, func(name string) bool { return !slices.Contains(shown, name) })
	if !slices.Equal(shown, order) || len(shown) < len(commands)-1 {
		t.Errorf("commands.md lists %v, help %v", shown, order)
	}
}

// exampleWord matches a word of an example's command line, or a shell operator.
var exampleWord = regexp.MustCompile(`'[^']*'|[^\s']+`)

// Every example in help is a command line that the program accepts.
func TestExamples(t *testing.T) {
	for _, cmd := range allCommands(newRoot(nil, io.Discard, io.Discard)) {
		if cmd.Example == "" && cmd.Name() != "completion" {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		text := regexp.MustCompile(`(\\|\|)\n +`).ReplaceAllString(cmd.Example, "$1 ")
		for line := range strings.Lines(text) {
			line = strings.ReplaceAll(line, `\ `, "")
			_, line, ok := strings.Cut(line, "p20export ")
			if !ok {
				t.Errorf("%s: an example without the program: %s", cmd.CommandPath(), line)
				continue
			}
			var args []string
			for _, word := range exampleWord.FindAllString(line, -1) {
				if word == "|" || word == ">" || word == "<" {
					break
				}
				args = append(args, strings.Trim(word, "'"))
			}
			root := newRoot(args, io.Discard, io.Discard)
			root.InitDefaultHelpCmd()
			named, rest, err := root.Find(args)
			if err == nil && cmd.HasParent() && named.CommandPath() != cmd.CommandPath() && !strings.HasPrefix(named.CommandPath(), cmd.CommandPath()+" ") {
				t.Errorf("%s: an example of another command: %s", cmd.CommandPath(), line)
			}
			if err == nil {
				err = named.ParseFlags(rest)
			}
			if err == nil {
				err = named.ValidateArgs(named.Flags().Args())
			}
			if err == nil {
				err = named.ValidateRequiredFlags()
			}
			if err != nil {
				t.Errorf("%s: %s: %v", cmd.CommandPath(), strings.TrimSpace(line), err)
			}
		}
	}
}
