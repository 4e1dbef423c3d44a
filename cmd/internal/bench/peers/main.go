// Command peers compares the speed of the program with that of others, and writes the tables
// of docs/benchmarks.md: programs that only hash or only write files, which are the limits,
// and scripts over other libraries that make the same artifacts.
//
// The programs of a table run in turn, so that all are exposed to the same noise, and each
// ratio is that of two runs of one round. All files stay in one directory. An interrupted run
// continues with the first table that is not finished.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/captures"
	"github.com/p20export/p20export/cmd/internal/bench/page"
)

// settings are the options of a run.
type settings struct {
	program, dir, scripts, doc string
	load                       string // of the machine, before the first measurement
	large, slow                int64
	count, rounds, jobs        int
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	s := settings{jobs: runtime.NumCPU()}
	flag.StringVar(&s.program, "program", ".build/release/p20export", "the program to measure")
	flag.StringVar(&s.dir, "dir", ".build/bench", "the directory for all files, which are kept; it has the other programs in bin and peers")
	flag.StringVar(&s.scripts, "scripts", "cmd/internal/bench/peers", "the directory of the scripts")
	flag.StringVar(&s.doc, "doc", "docs/benchmarks.md", "the page whose tables are replaced; if empty, nothing is")
	large := flag.String("large", "1G", "the size of the largest captures")
	slow := flag.String("slow", "256M", "the size of the captures that scripts read")
	flag.IntVar(&s.count, "count", 20_000, "the number of small captures")
	flag.IntVar(&s.rounds, "rounds", 5, "the number of measurements of each program")
	only := flag.String("only", "", "measure only these tables, separated by commas: "+strings.Join(suiteNames(), ", "))
	again := flag.Bool("again", false, "measure again what an earlier run has measured")
	flag.Parse()
	var errs [2]error
	s.large, errs[0] = captures.ParseSize(*large)
	s.slow, errs[1] = captures.ParseSize(*slow)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if flag.NArg() > 0 || s.rounds < 1 || s.count < 1 {
		return errors.New("give options only, and positive numbers")
	}
	names := suiteNames()
	if *only != "" {
		names = strings.Split(*only, ",")
	}
	for _, name := range names {
		if !slices.Contains(suiteNames(), name) {
			return fmt.Errorf("table %q is not known; the tables are %s", name, strings.Join(suiteNames(), ", "))
		}
	}
	for _, path := range []*string{&s.program, &s.dir, &s.scripts} { // the programs run in dir
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	s.load = page.Load("peers")
	if err := s.agree(); err != nil {
		return err
	}
	return s.measureAll(names, *again)
}

// measureAll measures the tables, prints each, and puts it into the page.
func (s *settings) measureAll(names []string, again bool) error {
	kept, err := loadResults(filepath.Join(s.dir, "results.json"))
	if err != nil {
		return err
	}
	key, err := s.key()
	if err != nil {
		return err
	}
	for _, name := range names {
		table, ok := kept.Tables[name]
		if !ok || table.Key != key || again {
			text, err := suites[name](s)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			table = result{Key: key, Text: text}
			kept.Tables[name] = table
			if err := kept.save(); err != nil {
				return err
			}
		}
		fmt.Printf("\n%s\n\n%s", name, table.Text)
		if s.doc != "" {
			if err := page.Replace(s.doc, "bench-peers", name, table.Text); err != nil {
				return err
			}
		}
	}
	return nil
}
