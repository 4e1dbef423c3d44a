package cli

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// maxJobs is the maximum of --jobs. More jobs would only use more memory and open files.
const maxJobs = 256

// Batch has the values of the flags that AddBatch adds.
type Batch struct {
	// Jobs is the number of inputs to work on at the same time.
	Jobs int
	// List is the file with the names of the inputs, and Tar the archive with the
	// inputs. At most one of them is not empty; "-" is standard input.
	List, Tar string
}

// jobsFlag is the value of --jobs. It has no default text, because the default depends
// on the machine.
type jobsFlag struct{ target *int }

// String implements pflag.Value.
func (jobsFlag) String() string { return "" }

// Set implements pflag.Value.
func (f jobsFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxJobs {
		return fmt.Errorf("must be a number from 1 to %d", maxJobs)
	}
	*f.target = n
	return nil
}

// Type implements pflag.Value.
func (jobsFlag) Type() string { return "N" }

// AddBatch adds the flags --jobs, --from-list and --from-tar to a command. The inputs of
// the command are either its arguments, which cmd.Args checks, or are in a list or an
// archive. The parameter inputs is their name in the plural, for example "captures".
func AddBatch(cmd *cobra.Command, inputs string) *Batch {
	b := AddSequence(cmd, inputs)
	b.Jobs = min(runtime.GOMAXPROCS(0), maxJobs)
	cmd.Flags().Var(jobsFlag{&b.Jobs}, "jobs", "work on `N` "+inputs+" at the same time (default: the number of CPUs)")
	Complete(cmd, "jobs")
	return b
}

// AddSequence is like AddBatch for a command that works on one input after the other. It
// has no flag --jobs.
func AddSequence(cmd *cobra.Command, inputs string) *Batch {
	b := &Batch{Jobs: 1}
	flags := cmd.Flags()
	flags.StringVar(&b.List, "from-list", "", "read the names of the "+inputs+" from `FILE`, one per line or separated by NUL bytes; - is standard input")
	flags.StringVar(&b.Tar, "from-tar", "", "read the "+inputs+" from the tar archive `FILE`; - is standard input")
	CompleteBy(cmd, "from-tar", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return ArchiveSuffixes(), cobra.ShellCompDirectiveFilterFileExt
	})
	cmd.Args = b.check(inputs, cmd.Args)
	return b
}

// ArchiveSuffixes returns the usual suffixes of the names of archives, without the dot.
func ArchiveSuffixes() []string { return []string{"tar", "tar.gz", "tgz", "tar.zst"} }

// HasArguments reports whether the inputs are the arguments of the command.
func (b *Batch) HasArguments() bool { return b.List == "" && b.Tar == "" }

// ballast is the size of the memory that Relax allocates. It bounds the additional memory
// of a batch.
const ballast = 16 << 20

// Relax lets a batch allocate more before garbage is collected, until the caller calls
// the returned function. The inputs of most batches are small, so almost everything is
// garbage, and the heap would be collected for every few of them. Relax allocates memory
// that is never written, which counts for the pace of the collector but needs no pages.
func (b *Batch) Relax() (end func()) {
	unused := make([]byte, ballast)
	return func() { runtime.KeepAlive(unused) }
}

// check returns a function that checks that the inputs are given in exactly one way.
// Arguments are checked by args.
func (b *Batch) check(inputs string, args cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, list []string) error {
		given := ""
		for _, name := range []string{"from-list", "from-tar"} {
			switch {
			case !cmd.Flags().Changed(name):
			case cmd.Flags().Lookup(name).Value.String() == "":
				return fmt.Errorf("--%s is empty; name a file, or - for standard input", name)
			case given != "":
				return errors.New("give either --from-list or --from-tar, not both")
			default:
				given = name
			}
		}
		switch {
		case given == "from-list" && len(list) > 0:
			return fmt.Errorf("give either arguments or --from-list, not both; the list can also contain the argument %q", list[0])
		case given == "from-tar" && len(list) > 0:
			return fmt.Errorf("give either arguments or --from-tar, not both; use a second command for the argument %q", list[0])
		case given != "":
			return nil
		}
		err := args(cmd, list)
		if err != nil && len(list) == 0 {
			return fmt.Errorf("%w, or give the %s with --from-list or --from-tar", err, inputs)
		}
		return err
	}
}

// BatchHelp returns a paragraph of help, without a line break at its end, about the flags
// that AddBatch adds. The parameter archive says what the members of an archive are: it
// continues the sentence "With --from-tar FILE, ".
func BatchHelp(inputs, archive string) string {
	return wrapHelp("The " + inputs + " can also be in a list or an archive. With --from-list FILE, every " +
		"line of FILE is an argument; if FILE contains NUL bytes, they separate the arguments " +
		"(find -print0). With --from-tar FILE, " + archive + ". The archive may be compressed " +
		"with gzip or zstd. Members that are links, or that have an absolute name, a name with " +
		".. or a repeated name, are refused. FILE can be - for standard input.\n\n" +
		"--jobs does not affect the results or their order, only the speed. " +
		"A failure does not stop the other " + inputs + ".")
}

// wrapHelp wraps paragraphs of help at 80 columns.
func wrapHelp(text string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString("\n\n")
		}
		column := 0
		for word := range strings.FieldsSeq(paragraph) {
			switch {
			case column == 0:
			case column+1+len(word) > helpColumns:
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += len(word)
		}
	}
	return b.String()
}
