// Command check runs the lanes of this repository's checks, and prints a table of them:
//
//	check test       everything that needs only git and Go, one line for each suite
//	check all        test, and every lane that needs more, except those named in -skip
//	check doctor     the tools that the lanes need, and the Debian packages that bring them
//	check packages   the Debian packages of the tools of the lanes that are missing
//	check stress     test five times and the lane race twice, beside four busy processes
//	check nightly    the parts that take hours, all or those of -only; writes docs/verification.md
//
// It runs in the root of the repository and uses only the standard library, so that it works
// before a module is downloaded. The Makefile calls it. The exit status is 0 if everything
// passed, 1 if a lane failed or its tool is missing, 2 if the command line is wrong, and 130
// if it was interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 1 && args[0] == "busy" {
		return busy()
	}
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	skip := flags.String("skip", "", "lanes of all to leave out, with commas between")
	only := flags.String("only", "", "the parts of nightly to run, with commas between; all when empty")
	found := flags.String("found", "", "with nightly: what the parts found, and what was mended")
	jobs := flags.Int("jobs", 2, "how many lanes run at the same time")
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		fmt.Fprintln(os.Stderr, "check: usage: check test|all|doctor|packages|stress|nightly [flags]")
		return 2
	}
	if flags.Parse(args[1:]) != nil || flags.NArg() > 0 || *jobs < 1 {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch args[0] {
	case "test":
		err = checkTest(ctx)
	case "all":
		err = checkAll(ctx, *skip, *jobs)
	case "doctor":
		doctor(ctx, os.Stdout)
	case "packages":
		for _, t := range missing(ctx, tools) {
			needed := slices.ContainsFunc(lanes, func(l lane) bool { return l.needs(t.name) })
			if needed && t.debian != "" && t.unpack == "" {
				fmt.Println(t.debian)
			}
		}
	case "stress":
		err = stress(ctx)
	case "nightly":
		err = nightly(ctx, *only, *found)
	default:
		fmt.Fprintf(os.Stderr, "check: %s is not one of test, all, doctor, packages, stress and nightly\n", args[0])
		return 2
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "check: interrupted")
		return 130
	case err != nil:
		fmt.Fprintln(os.Stderr, "check:", err)
		return 1
	}
	return 0
}

// checkTest runs the lane test, and prints a line for each suite.
func checkTest(ctx context.Context) error {
	if err := require(ctx, []lane{testLane}); err != nil {
		return err
	}
	r := newRunner(os.Stdout)
	r.run(ctx, testLane)
	return r.close(true)
}

// checkAll runs every lane except those in skip. Lanes whose tools are missing are found
// before any lane starts.
func checkAll(ctx context.Context, skip string, jobs int) error {
	skipped, err := parseNames(skip, names(lanes))
	if err != nil {
		return fmt.Errorf("SKIP: %w", err)
	}
	var wanted []lane
	for _, l := range lanes {
		if !skipped[l.name] {
			wanted = append(wanted, l)
		}
	}
	if err := require(ctx, wanted); err != nil {
		return err
	}
	r := newRunner(os.Stdout)
	r.runAll(ctx, wanted, jobs)
	for _, l := range lanes {
		if skipped[l.name] {
			r.results = append(r.results, result{name: l.name, note: "skipped: named in SKIP"})
		}
	}
	return r.close(false)
}

// require returns an error that names every missing tool of lanes.
func require(ctx context.Context, of []lane) error {
	var b strings.Builder
	for _, t := range missing(ctx, tools) {
		var needing []string
		for _, l := range of {
			if l.needs(t.name) {
				needing = append(needing, l.name)
			}
		}
		if len(needing) > 0 {
			fmt.Fprintf(&b, "\n  %s, for %s: %s", t.title(), strings.Join(needing, ", "), t.advice())
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return fmt.Errorf("nothing was started, because tools are missing:%s\nmake setup installs what can be installed; make check SKIP=LANE,… leaves lanes out", b.String())
}

// parseNames splits a list of names with commas, each of which has to be known.
func parseNames(list string, known []string) (map[string]bool, error) {
	named := map[string]bool{}
	for name := range strings.FieldsFuncSeq(list, func(c rune) bool { return c == ',' || c == ' ' }) {
		named[name] = true
		if !contains(known, name) {
			return nil, fmt.Errorf("%q is not one of %s", name, strings.Join(known, ", "))
		}
	}
	return named, nil
}

func contains(list []string, name string) bool {
	for _, s := range list {
		if s == name {
			return true
		}
	}
	return false
}

// busy keeps a processor busy until its standard input is closed, which happens when the
// process that started it ends.
func busy() int {
	go func() {
		for n := uint64(0); ; n++ {
			spin.Store(n)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

var spin atomic.Uint64
