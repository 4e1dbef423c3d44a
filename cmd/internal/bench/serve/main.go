// Command serve measures p20export serve, and writes the tables of docs/benchmarks.md: the
// memory of 1,000 readers of one run, how long after an event is durable its readers have it, what sealing changes in that,
// how long the first byte of a join takes, what many joins at once need, what a run costs that goes through the server, and what
// several servers on one database do.
//
// The server, the agent and the readers are processes of their own. All logs are used in turn.
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

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// settings are the options of a measurement.
type settings struct {
	program, doc, nginx    string
	trace                  string
	place                  logs.Place
	load                   string // of the machine, before the first measurement
	logs                   []string
	rounds, readers, delay int
	idle, runs, events     int
	duration               time.Duration
}

// roles are the other processes of a measurement.
var roles = map[string]processes.Role{
	"agent":   traffic.Agent,
	"readers": readers,
	"server":  server,
}

func main() {
	if !processes.RunRole(roles) {
		processes.Run(run, os.Args[1:])
	}
}

func run(ctx context.Context, args []string) error {
	s := settings{}
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	flags.StringVar(&s.program, "program", ".build/release/p20export", "the program to measure")
	flags.StringVar(&s.place.Dir, "dir", ".build/bench/serve", "the directory for SQLite databases; must be on a real disk")
	flags.StringVar(&s.doc, "doc", "docs/benchmarks.md", "the page whose tables are replaced; if empty, nothing is")
	flags.StringVar(&s.place.Server, "postgres", os.Getenv("P20EXPORT_POSTGRES"), "the URL of a PostgreSQL server in which databases may be created")
	flags.StringVar(&s.nginx, "nginx", "nginx", "the path of nginx")
	flags.IntVar(&s.rounds, "rounds", 5, "the number of measurements of each log")
	flags.IntVar(&s.readers, "readers", 1000, "the number of readers whose memory is measured")
	flags.IntVar(&s.delay, "delay", 100, "the number of readers when the delay of events is measured")
	flags.IntVar(&s.idle, "idle", 3000, "the number of readers of other threads when their cost is measured")
	flags.IntVar(&s.runs, "runs", 1000, "the number of runs of the thread that is joined")
	flags.IntVar(&s.events, "events", 20_000, "the number of events of a run when the throughput is measured")
	flags.DurationVar(&s.duration, "duration", 10*time.Second, "how long a run takes when delays are measured")
	flags.StringVar(&s.trace, "trace", "", "a file for the execution trace of the server, which go tool trace reads: that of the last measurement of a delay")
	only := flags.String("only", "", "measure only these tables, separated by commas: "+strings.Join(tableNames(), ", "))
	chosen := flags.String("logs", "", "measure only these, separated by commas: "+strings.Join(logNames(), ", "))
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || min(s.rounds, s.readers, s.delay, s.idle, s.runs, s.events) < 1 || s.duration < time.Second {
		return errors.New("give options only, positive numbers, and a duration of at least a second")
	}
	names, err := page.Choose(*only, tableNames())
	if err != nil {
		return err
	}
	if s.logs, err = page.Choose(*chosen, logNames()); err != nil {
		return err
	}
	for _, path := range []*string{&s.program, &s.place.Dir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.place.Dir, 0o777); err != nil {
		return err
	}
	s.load = page.Load("serve")
	return page.Write(s.doc, "bench-serve", names, func(name string) (string, error) { return tables[name](ctx, &s) })
}

// logNames lists the logs that a process of its own can open.
func logNames() []string { return []string{logs.SQLite, logs.Postgres} }

// tables measures the tables of the page. Each function returns the text of one.
var tables = map[string]func(context.Context, *settings) (string, error){
	"readers": memory,
	"delay":   delays,
	"idle":    idles,
	"seal":    seals,
	"join":    joins,
	"crowd":   crowds,
	"run":     overheads,
	"scale":   scales,
	"machine": func(ctx context.Context, s *settings) (string, error) { return s.place.Machine(ctx, s.load, s.logs) },
}

// tableNames lists the tables in the order in which they are measured.
func tableNames() []string {
	return []string{"readers", "delay", "idle", "seal", "join", "crowd", "run", "scale", "machine"}
}

// progress reports on standard error what was measured.
func (s *settings) progress(round int, name, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "  round %d of %d: %-28s %s\n", round+1, s.rounds, name, fmt.Sprintf(format, args...))
}
