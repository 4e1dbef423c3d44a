// Command proxy measures what a proxy between a client and an agent adds to the latency of
// each event, and how much passes through it: p20export proxy with every --sync, compared with
// nginx, with a bare httputil.ReverseProxy, and with no proxy at all. It writes the tables of
// docs/benchmarks.md.
//
// The agent, the client and each proxy are processes of their own. The proxies run for the
// whole time and are used in turn, so that all are exposed to the same noise, and each
// difference and ratio compares measurements of the same round.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
)

// settings are the options of a measurement.
type settings struct {
	program, nginx, dir, doc string
	load                     string // of the machine, before the first measurement
	only                     []string
	rounds, events           int
	duration                 time.Duration
}

func main() {
	if !processes.RunRole(roles) {
		processes.Run(run, os.Args[1:])
	}
}

func run(ctx context.Context, _ []string) error {
	s := settings{}
	flag.StringVar(&s.program, "program", ".build/release/p20export", "the program to measure")
	flag.StringVar(&s.nginx, "nginx", "nginx", "the path of nginx")
	flag.StringVar(&s.dir, "dir", ".build/bench/proxy", "the directory for captures and for the files of nginx; must be on a real disk")
	flag.StringVar(&s.doc, "doc", "docs/benchmarks.md", "the page whose tables are replaced; if empty, nothing is")
	flag.IntVar(&s.rounds, "rounds", 5, "the number of measurements with each proxy")
	flag.DurationVar(&s.duration, "duration", 10*time.Second, "how long one measurement of the latency takes")
	flag.IntVar(&s.events, "events", 100_000, "the number of events of each stream when the throughput is measured; five times as many in large blocks")
	only := flag.String("only", "", "measure only these tables, separated by commas: "+strings.Join(tableNames(), ", "))
	proxies := flag.String("proxies", "", "measure only these proxies, separated by commas: "+strings.Join(contenderNames(), ", "))
	flag.Parse()
	if flag.NArg() > 0 || s.rounds < 1 || s.events < 1 || s.duration < time.Second {
		return errors.New("give options only, positive numbers, and a duration of at least a second")
	}
	names, err := page.Choose(*only, tableNames())
	if err != nil {
		return err
	}
	if s.only, err = page.Choose(*proxies, contenderNames()); err != nil {
		return err
	}
	for _, path := range []*string{&s.program, &s.dir} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		return err
	}
	s.load = page.Load("proxy")
	return page.Write(s.doc, "bench-proxy", names, func(name string) (string, error) { return tables[name](ctx, &s) })
}
