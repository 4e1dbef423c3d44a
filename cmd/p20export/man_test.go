package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/p20export/p20export/cmd/p20export/internal/build"
	"github.com/p20export/p20export/cmd/p20export/internal/cli"
	"github.com/p20export/p20export/internal/testkit"
)

var manDir = flag.String("man", "", "write the man pages into this directory, dated by SOURCE_DATE_EPOCH")

// TestMan creates the man page of every command from its help. With -man, it writes the pages
// to files.
func TestMan(t *testing.T) {
	date := time.Unix(0, 0)
	if *manDir != "" {
		seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
		if err != nil {
			t.Fatalf("SOURCE_DATE_EPOCH: %v", err)
		}
		date = time.Unix(seconds, 0)
	}
	root := newRoot(nil, io.Discard, io.Discard)
	for _, cmd := range allCommands(root) {
		page := manPage(cmd, date)
		checkMan(t, cmd, page)
		if *manDir != "" {
			testkit.Write(t, filepath.Join(*manDir, manName(cmd)+".1"), page)
		}
	}
}

// manSections lists the sections of a page, in order. Commands that only look something up
// have no section about files.
var manSections = []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"}

// checkMan fails if a page lacks a section, or words of the help.
func checkMan(t *testing.T, cmd *cobra.Command, page string) {
	t.Helper()
	var sections []string
	for section := range strings.SplitSeq(page, "\n.SH ") {
		title, text, _ := strings.Cut(section, "\n")
		if strings.HasPrefix(title, ".TH ") {
			continue
		}
		sections = append(sections, strings.Trim(title, `"`))
		if words := strings.Fields(manRequest.ReplaceAllString(text, "")); len(words) < 3 {
			t.Errorf("%s: the section %s is empty", manName(cmd), title)
		}
	}
	want := slices.DeleteFunc(slices.Clone(manSections), func(s string) bool { return s == "FILES" && cmd.GroupID == groupReference })
	if !slices.Equal(sections, want) {
		t.Errorf("%s has the sections %v", manName(cmd), sections)
	}
	plain := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\(dq`, `"`, `\(ha`, "^", `\(ti`, "~", `\(ga`, "`", `\e`, `\`, `\[u00A7]`, "§", `\[u2026]`, "…", `\&`, "", `\fB`, "", `\fI`, "", `\fR`, "")
	words := strings.Join(strings.Fields(plain.Replace(manRequest.ReplaceAllString(page, ""))), " ")
	for word := range strings.FieldsSeq(cmd.Long + " " + cmd.Example) {
		if word = strings.TrimRight(word, ".;,:"); word != "Exit" && word != "status" && !strings.Contains(words, word) {
			t.Errorf("%s lacks %q", manName(cmd), word)
		}
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !manRequest.MatchString(line) {
			t.Errorf("%s: a line that troff would obey: %s", manName(cmd), line)
		}
	}
}

// manRequest matches a troff request or macro, up to its text.
var manRequest = regexp.MustCompile(`(?m)^\.(TH|SH|PP|TP|nf|fi|nh|ad l|RS 4|RE)\b ?`)

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the man page of a command.
func manPage(cmd *cobra.Command, date time.Time) string {
	var b strings.Builder
	section := func(title string) { fmt.Fprintf(&b, ".SH %q\n", title) }
	fmt.Fprintf(&b, ".TH %q 1 %q \"p20export %s\"\n.nh\n.ad l\n", strings.ToUpper(manName(cmd)), date.UTC().Format(time.DateOnly), build.Version)
	section("NAME")
	manFill(&b, manName(cmd)+" - "+strings.ToLower(cmd.Short[:1])+cmd.Short[1:])
	section("SYNOPSIS")
	b.WriteString(".nf\n")
	for _, line := range cli.Synopsis(cmd) {
		rest := strings.TrimPrefix(line, cmd.CommandPath())
		fmt.Fprintf(&b, "\\fB%s\\fR%s\n", troff(cmd.CommandPath()), troff(rest))
	}
	b.WriteString(".fi\n")

	section("DESCRIPTION")
	about, status, ok := strings.Cut(cmd.Long, "\nExit status:\n")
	switch {
	case ok:
	case cmd.HasParent():
		_, status, _ = strings.Cut(exitHelp("success", "", ""), "Exit status:\n")
	default:
		_, status, _ = strings.Cut(exitHelp("completed, and every check passed", "completed, but a check failed or a run was refused", ""), "Exit status:\n")
	}
	first, rest, _ := strings.Cut(about, "\n\n")
	manFill(&b, first)
	for block := range strings.SplitSeq(rest, "\n\n") {
		if block != "" {
			manBlock(&b, block)
		}
	}
	if list := inOrder(cmd.Commands()); len(list) > 0 {
		b.WriteString(".PP\nCommands:\n")
		for _, c := range list {
			manListed(&b, "B", c.Name(), c.Short)
		}
	}
	section("OPTIONS")
	cmd.InitDefaultHelpFlag()
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { manFlag(&b, f) })
	section("EXIT STATUS")
	manBlock(&b, status)
	section("ENVIRONMENT")
	for _, v := range manEnvironment {
		if len(v.commands) == 0 || slices.Contains(v.commands, cmd.Name()) {
			manListed(&b, "B", v.name, v.text)
		}
	}
	if cmd.GroupID != groupReference {
		section("FILES")
		for _, v := range manFiles {
			if len(v.commands) == 0 || slices.Contains(v.commands, cmd.Name()) {
				manListed(&b, "I", v.name, v.text)
			}
		}
	}
	section("EXAMPLES")
	example := cmp.Or(cmd.Example, "  "+cmd.CommandPath()+" bash")
	b.WriteString(".nf\n")
	for line := range strings.Lines(example + "\n") {
		b.WriteString(troff(strings.TrimPrefix(line, "  ")))
	}
	b.WriteString(".fi\n")
	section("SEE ALSO")
	var also []string
	if cmd.HasParent() {
		also = append(also, manName(cmd.Parent()))
		for _, c := range cmd.Parent().Commands() {
			if c != cmd && c.GroupID == cmd.GroupID {
				also = append(also, manName(c))
			}
		}
	}
	if cmd.Name() != "completion" { // its commands have no pages
		for _, c := range cmd.Commands() {
			also = append(also, manName(c))
		}
	}
	for _, name := range also {
		fmt.Fprintf(&b, "\\fB%s\\fR(1),\n", troff(name))
	}
	b.WriteString(troff("https://github.com/p20export/p20export/tree/main/docs") + "\n")
	return b.String()
}

// manItem matches the first line of a list item: its name and its text.
var manItem = regexp.MustCompile(`^  (\S+(?: \S+)*)  +(\S.*)$`)

// inOrder sorts commands in the order of the root command's help.
func inOrder(list []*cobra.Command) []*cobra.Command {
	at := func(c *cobra.Command) int {
		if i := slices.IndexFunc(commands, func(o command) bool { return o.name == c.Name() }); i >= 0 {
			return i
		}
		return len(commands)
	}
	return slices.SortedStableFunc(slices.Values(list), func(a, b *cobra.Command) int { return cmp.Compare(at(a), at(b)) })
}

// manFill writes text of a paragraph.
func manFill(b *strings.Builder, text string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+len(troff(word)) > 78 {
			b.WriteString(line + "\n")
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += troff(word)
	}
	b.WriteString(line + "\n")
}

// manListed writes a list item with its name in a font.
func manListed(b *strings.Builder, font, name, text string) {
	fmt.Fprintf(b, ".TP\n\\f%s%s\\fR\n", font, troff(name))
	manFill(b, text)
}

// manBlock writes a paragraph of help. It fills text, formats list items as a list, and keeps
// other indented lines unchanged.
func manBlock(b *strings.Builder, block string) {
	lines := strings.Split(strings.Trim(block, "\n"), "\n")
	for len(lines) > 0 {
		indented := strings.HasPrefix(lines[0], "  ")
		n := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "  ") != indented })
		if n < 0 {
			n = len(lines)
		}
		if indented {
			manIndented(b, lines[:n])
		} else {
			b.WriteString(".PP\n")
			manFill(b, strings.Join(lines[:n], " "))
		}
		lines = lines[n:]
	}
}

func manIndented(b *strings.Builder, lines []string) {
	var items [][2]string
	for _, line := range lines {
		m := manItem.FindStringSubmatch(line)
		switch {
		case m != nil && !strings.HasPrefix(line, "    "):
			items = append(items, [2]string{m[1], m[2]})
		case items != nil && strings.HasPrefix(line, "    "):
			items[len(items)-1][1] += " " + line
		default:
			b.WriteString(".PP\n.RS 4\n.nf\n")
			for _, line := range lines {
				b.WriteString(troff(strings.TrimPrefix(line, "  ")) + "\n")
			}
			b.WriteString(".fi\n.RE\n")
			return
		}
	}
	for _, item := range items {
		manListed(b, "B", item[0], item[1])
	}
}

func manFlag(b *strings.Builder, f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	b.WriteString(".TP\n")
	if f.Shorthand != "" {
		fmt.Fprintf(b, "\\fB\\-%s\\fR, ", f.Shorthand)
	}
	fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", troff(f.Name))
	if value != "" {
		fmt.Fprintf(b, " \\fI%s\\fR", troff(value))
	}
	b.WriteString("\n")
	if !slices.Contains([]string{"", "false", "0", "0s", "[]"}, f.DefValue) {
		usage += " (default " + f.DefValue + ")"
	}
	manFill(b, usage)
}

// troff escapes text for troff.
func troff(text string) string {
	var b strings.Builder
	if strings.HasPrefix(text, ".") {
		b.WriteString(`\&`)
	}
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// manEnvironment lists the variables that the program reads, with the commands that read
// them. A variable without commands is read by all of them.
var manEnvironment = []struct {
	name, text string
	commands   []string
}{
	{"HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "The proxy for requests to endpoints, and the hosts that are contacted directly.", []string{"p20export", "capture", "discover"}},
	{storeVariable, "The URL of the log if there is no --store. It may contain a password.", []string{"p20export", "log", "serve"}},
	{"PGPASSWORD, PGPASSFILE", "The password of a PostgreSQL database, or a file with passwords, as for psql.", []string{"p20export", "log", "lineage", "proxy", "serve"}},
	{"TMPDIR", "The directory of temporary files, instead of /tmp. The files are unnamed if the system supports that.", []string{"p20export", "compact", "compare", "report", "validate", "verify", "assay"}},
	{"NO_COLOR", "If it is set and not empty, text has no colours. Without it, text has colours only on a terminal, and only if TERM is not dumb.", nil},
}

// manFiles lists the files that commands read and write, in the same form.
var manFiles = []struct {
	name, text string
	commands   []string
}{
	{"capture.json", "The manifest of a capture, with the sizes and digests of the other files in the directory, such as response.sse, request.json and arrivals.tsv. It is written last.", nil},
	{"NAME.artifact.json", "A frozen artifact.", []string{"p20export", "freeze", "validate", "diff", "verify", "assay"}},
	{"NAME.envelope.ndjson", "The bounded envelope of an artifact: the three events it was made from.", []string{"p20export", "freeze", "validate", "verify"}},
	{"NAME.record.json", "How an artifact was made: its projection, digests and every omission.", []string{"p20export", "freeze", "validate", "verify", "assay"}},
	{"LOG-serve", "The lock of the server that runs agents, next to the SQLite file of a log. It is empty, and stays there.", []string{"serve"}},
	{"harness.json", "The description of a harness, with the command that starts its server.", []string{"discover"}},
	{"expected.json", "The expected results of a harness's captures.", []string{"discover"}},
}
