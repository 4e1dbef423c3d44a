// Command store measures the event logs of this program, and writes the tables of
// docs/benchmarks.md: what an append costs, in an empty log and in a large one, how fast
// threads are read, restored, exported and imported, how late another process sees an entry,
// and how large the logs are. It also measures the disk itself, and the InMemoryAgentRunner
// of CopilotKit where it has the same operation.
//
// The logs of a table are used in turn, so that all are exposed to the same noise, and each
// ratio compares measurements of the same round.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/captures"
	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
)

// settings are the options of a measurement.
type settings struct {
	dir, doc, runner, postgres string
	load                       string // of the machine, before the first measurement
	logs                       []string
	rounds                     int
	fill, replay, sealed       int
	runs, followed             int
	large                      int64
	duration                   time.Duration
}

// roles are the other processes of a measurement.
var roles = map[string]processes.Role{followRole: follow}

func main() {
	if !processes.RunRole(roles) {
		processes.Run(run, os.Args[1:])
	}
}

func run(ctx context.Context, args []string) error {
	s := settings{}
	flags := flag.NewFlagSet("store", flag.ExitOnError)
	flags.StringVar(&s.dir, "dir", ".build/bench/store", "the directory for SQLite databases and other files; must be on a real disk")
	flags.StringVar(&s.doc, "doc", "docs/benchmarks.md", "the page whose tables are replaced; if empty, nothing is")
	flags.StringVar(&s.runner, "runner", ".build/bench/store/copilotkit/runner.mjs", "the script that measures InMemoryAgentRunner")
	flags.StringVar(&s.postgres, "postgres", os.Getenv("P20EXPORT_POSTGRES"), "the URL of a PostgreSQL server in which databases may be created")
	flags.IntVar(&s.rounds, "rounds", 5, "the number of measurements of each log")
	flags.DurationVar(&s.duration, "duration", 3*time.Second, "how long one measurement of appends takes")
	flags.IntVar(&s.fill, "fill", 10_000_000, "the number of events of a large log")
	flags.IntVar(&s.replay, "replay", 1_000_000, "the number of events of a thread that is read")
	flags.IntVar(&s.sealed, "sealed", 1_000_000, "the number of events of a thread that is sealed and verified")
	flags.IntVar(&s.runs, "runs", 1000, "the number of runs of a thread that is restored")
	flags.IntVar(&s.followed, "followed", 2000, "the number of events that another process follows")
	large := flags.String("large", "1G", "the size of the capture that is imported and exported")
	only := flags.String("only", "", "measure only these tables, separated by commas: "+strings.Join(tableNames(), ", "))
	chosen := flags.String("logs", "", "measure only these, separated by commas: "+strings.Join(logs.Names(), ", "))
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || min(s.rounds, s.fill/fillThreads, s.replay/max(runEvents, tokenRun), s.sealed/(runEvents+1), s.runs, s.followed) < 1 || s.duration <= 0 {
		return fmt.Errorf("give options only, positive numbers, at least %d events of a large log, and at least %d of a thread", fillThreads, max(runEvents, tokenRun))
	}
	var err error
	if s.large, err = captures.ParseSize(*large); err != nil {
		return err
	}
	names, err := page.Choose(*only, tableNames())
	if err != nil {
		return err
	}
	if s.logs, err = page.Choose(*chosen, logs.Names()); err != nil {
		return err
	}
	if s.postgres == "" && s.measures(logs.Postgres) {
		return errors.New("there is no PostgreSQL server; run this program with store/postgres/server.sh, or choose other logs")
	}
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	s.load = page.Load("store")
	return page.Write(s.doc, "bench-store", names, func(name string) (string, error) { return tables[name](ctx, &s) })
}

// tables measures the tables of the page. Each function returns the text of one.
var tables = map[string]func(context.Context, *settings) (string, error){
	"append":      appends,
	"growth":      growth,
	"replay":      replay,
	"seal":        seals,
	"tail":        tail,
	"restore":     restores,
	"checkpoints": checkpoints,
	"size":        sizes,
	"streams":     streams,
	"runner":      runner,
	"machine":     machine,
}

// tableNames lists the tables in the order in which they are measured.
func tableNames() []string {
	return []string{"append", "growth", "replay", "seal", "tail", "restore", "checkpoints", "size", "streams", "runner", "machine"}
}

// progress reports on standard error what was measured.
func (s *settings) progress(round int, name, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "  round %d of %d: %-28s %s\n", round+1, s.rounds, name, fmt.Sprintf(format, args...))
}
