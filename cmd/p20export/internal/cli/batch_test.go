package cli

import (
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// The inputs are given in exactly one way, and every error names the way out.
func TestBatchFlags(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"a b", ""},
		{"--from-list list", ""},
		{"--from-tar -", ""},
		{"--jobs 256 a", ""},
		{"", "name at least one CAPTURE, or give the captures with --from-list or --from-tar"},
		{"--jobs 2", "name at least one CAPTURE, or give the captures with --from-list or --from-tar"},
		{"--from-list - --from-tar -", "give either --from-list or --from-tar, not both"},
		{"--from-list list a", `give either arguments or --from-list, not both; the list can also contain the argument "a"`},
		{"--from-tar tar a", `give either arguments or --from-tar, not both; use a second command for the argument "a"`},
		{"--from-tar=", "--from-tar is empty; name a file, or - for standard input"},
		{"--from-list= a", "--from-list is empty; name a file, or - for standard input"},
		{"--jobs 0 a", `invalid argument "0" for "--jobs" flag: must be a number from 1 to 256`},
		{"--jobs 257 a", `invalid argument "257" for "--jobs" flag: must be a number from 1 to 256`},
		{"--jobs many a", `invalid argument "many" for "--jobs" flag: must be a number from 1 to 256`},
	} {
		cmd := &cobra.Command{Use: "inspect", Args: OneOrMore("CAPTURE"), Run: func(*cobra.Command, []string) {}, SilenceErrors: true, SilenceUsage: true}
		b := AddBatch(cmd, "captures")
		if b.Jobs != min(runtime.GOMAXPROCS(0), maxJobs) {
			t.Errorf("%d jobs by default", b.Jobs)
		}
		cmd.SetOut(io.Discard)
		cmd.SetArgs(strings.Fields(test.args))
		got := ""
		if err := cmd.Execute(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.args, got, test.want)
		}
		if strings.HasPrefix(test.args, "--jobs 256") && b.Jobs != 256 {
			t.Errorf("%s: %d jobs", test.args, b.Jobs)
		}
	}
}

// The help does not depend on the machine, and fits its columns.
func TestBatchHelp(t *testing.T) {
	cmd := &cobra.Command{Use: "inspect", Args: OneOrMore("CAPTURE")}
	AddBatch(cmd, "captures")
	usage := cmd.Flags().FlagUsagesWrapped(helpColumns)
	if !strings.Contains(strings.Join(strings.Fields(usage), " "), "--jobs N work on N captures at the same time (default: the number of CPUs)") {
		t.Error(usage)
	}
	help := BatchHelp("captures", "each capture directory in it is a capture, and so is every other file")
	lines := strings.Split(help, "\n")
	if len(lines) < 8 || !slices.Contains(lines, "") {
		t.Errorf("%q", help)
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > helpColumns || strings.HasSuffix(line, " ") {
			t.Errorf("%q", line)
		}
	}
}
