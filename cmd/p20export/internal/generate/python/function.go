package python

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/cmd/p20export/internal/render"
)

// omitted lists flags that have no parameter: with them, a command writes something else than
// rows, or does not end.
var omitted = []string{"follow", "format", "help", "print-scenarios"}

// function writes the function of a command, and notes the types of its rows.
func (m *module) function(cmd *cobra.Command, written map[string]bool) error {
	path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	name := strings.NewReplacer(" ", "_", "-", "_").Replace(path)
	if isNew, err := m.declare(name, "the command "+path); err != nil || !isNew {
		return err
	}
	var classes []string
	for _, row := range render.RowTypes() {
		if of, _, _ := strings.Cut(row.About, ": "); isOf(of, cmd, path) {
			written[row.Name] = true
			classes = append(classes, m.className(row.Name))
		}
	}
	if classes == nil {
		return fmt.Errorf("no rows are of %s", path)
	}
	synopsis := cli.Synopsis(cmd)
	doc := docstring(cmd.Short + ".\n\n" + strings.Join(synopsis, "\n") + "\n")
	parameters := []string{"*args: StrPath"}
	if !takesArguments(cmd, synopsis) {
		parameters[0] = "*"
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(omitted, f.Name) {
			return
		}
		parameter := strings.ReplaceAll(f.Name, "-", "_")
		if slices.Contains(keywords, parameter) {
			parameter += "_"
		}
		parameters = append(parameters, parameter+": "+flagType(f))
		_, usage := pflag.UnquoteUsage(f)
		doc += docstring("\n" + parameter + ": " + usage)
	})
	signature := ""
	if len(parameters) > 1 || parameters[0] != "*" {
		signature = "\n    " + strings.Join(parameters, ",\n    ") + ",\n"
	}
	doc = indented.ReplaceAllString(doc, "    $0")
	fmt.Fprintf(&m.functions, "\n\ndef %s(%s) -> list[%s]:\n    \"\"\"%s\n    \"\"\"\n    return call(%q, locals())\n",
		name, signature, strings.Join(classes, " | "), strings.TrimSpace(doc), path)
	return nil
}

// indented matches the lines of a docstring that are indented.
var indented = regexp.MustCompile(`(?m)^.`)

// isOf reports whether the description of a row names the command, and not only another one
// whose path has the same word.
func isOf(of string, cmd *cobra.Command, path string) bool {
	for _, parent := range cmd.Root().Commands() {
		for _, sub := range parent.Commands() {
			if other := parent.Name() + " " + sub.Name(); other != path {
				of = strings.ReplaceAll(of, other, "")
			}
		}
	}
	return regexp.MustCompile(`\b` + path + `\b`).MatchString(of)
}

// takesArguments reports whether a command has arguments that are no flags.
func takesArguments(cmd *cobra.Command, synopsis []string) bool {
	return slices.ContainsFunc(synopsis, func(line string) bool {
		rest := strings.TrimPrefix(line, cmd.CommandPath())
		return regexp.MustCompile(`^ \[?[A-Z]`).MatchString(rest)
	})
}

// paths lists the names of the values of flags that are paths.
var paths = []string{"CAPTURE", "DIR", "FILE", "OUT", "RECORD", "REQUEST"}

// flagType returns the type of a parameter, and its default.
func flagType(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	of := "str"
	switch kind := f.Value.Type(); {
	case kind == "bool":
		return "bool = False"
	case kind == "int" || kind == "int64" || kind == "number" || value == "N" || value == "EVENT":
		of = "int"
	case strings.Contains(value, "|"):
		of = literal(strings.Split(value, "|"))
	case slices.Contains(paths, value):
		of = "StrPath"
	}
	if strings.HasPrefix(f.Value.Type(), "string") && f.Value.Type() != "string" {
		return fmt.Sprintf("%s | Sequence[%[1]s] = ()", of)
	}
	return of + " | None = None"
}

// literal returns the type of one of several values. N means any number.
func literal(values []string) string {
	number := ""
	var list []string
	for _, v := range values {
		if v == "N" {
			number = " | int"
			continue
		}
		list = append(list, fmt.Sprintf("%q", v))
	}
	return "Literal[" + strings.Join(list, ", ") + "]" + number
}
