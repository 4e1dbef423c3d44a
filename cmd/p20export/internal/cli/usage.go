package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// helpColumns is the maximum width of the help of a command, in columns.
const helpColumns = 80

// Usage sets the usage function of the root command and its subcommands. The usage is
// at most 80 columns wide; the commands of a group are in the order given by order.
func Usage(root *cobra.Command, order []string) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n")
		for _, line := range Synopsis(cmd) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		if cmd.HasExample() {
			fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
		}
		for _, g := range cmd.Groups() {
			appendCommands(&b, g.Title, inGroup(cmd, g.ID, order))
		}
		appendCommands(&b, "Commands", inGroup(cmd, "", nil))
		if cmd.HasAvailableLocalFlags() {
			fmt.Fprintf(&b, "\nFlags:\n%s", cmd.LocalFlags().FlagUsagesWrapped(helpColumns))
		}
		if cmd.HasAvailableSubCommands() {
			fmt.Fprintf(&b, "\n\"%s COMMAND --help\" shows the help of a command.\n", cmd.CommandPath())
		}
		_, err := cmd.OutOrStderr().Write([]byte(b.String()))
		return err
	})
}

// Synopsis returns the forms in which a command can be called. In cmd.Use they are
// separated by " | " and the name of the command.
func Synopsis(cmd *cobra.Command) (lines []string) {
	before := ""
	if cmd.HasParent() {
		before = cmd.Parent().CommandPath() + " "
	}
	name := cmd.Name() + " "
	for form := range strings.SplitSeq(cmd.Use, " | "+name) {
		line := before + name + strings.TrimPrefix(form+" ", name)
		if cmd.HasAvailableFlags() {
			line += "[flags]"
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	if cmd.HasAvailableSubCommands() {
		lines = append(lines, cmd.CommandPath()+" COMMAND")
	}
	return lines
}

// inGroup returns the commands of a group: first those in order, then the others.
func inGroup(cmd *cobra.Command, id string, order []string) (list []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.GroupID == id && !c.Hidden {
			list = append(list, c)
		}
	}
	at := func(c *cobra.Command) int {
		if i := slices.Index(order, c.Name()); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(list, func(a, b *cobra.Command) int { return cmp.Compare(at(a), at(b)) })
	return list
}

func appendCommands(b *strings.Builder, title string, list []*cobra.Command) {
	if len(list) == 0 {
		return
	}
	width := 10
	for _, c := range list {
		width = max(width, len(c.Name()))
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, c := range list {
		fmt.Fprintf(b, "  %-*s  %s\n", width, c.Name(), c.Short)
	}
}
