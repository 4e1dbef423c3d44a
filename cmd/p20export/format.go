package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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

// addFormat gives a command its --format flag: text, json and those named.
func addFormat(cmd *cobra.Command, more ...render.Format) *render.Format {
	f := render.Text
	flag := formatFlag{to: &f, of: []string{string(render.Text), string(render.JSON)}}
	usage := "how results are written; json is one object a line"
	for _, m := range more {
		flag.of = append(flag.of, string(m))
	}
	if len(more) > 0 {
		usage += ", the others are one document at the end"
	}
	cmd.Flags().Var(flag, "format", usage)
	complete(cmd, "format", flag.of...)
	return &f
}

// complete offers a flag's values to the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist: a mistake of this program's
	}
}
