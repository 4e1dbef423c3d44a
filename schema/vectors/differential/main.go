// Command differential compares the program with the Python reference under
// schema/vectors/reference.
//
//	differential -mode files -n 20000 -seed 1
//	differential -mode streams -n 20000 -seed 1
//	differential -mode captures
//
// In mode files, it generates artifacts and envelopes, intact and damaged, and compares
// the results of the two validators: verdict, canonical form, and the rule, code, pointer
// and offset of every finding, in order.
//
// In mode streams, it generates captures of runs, intact and damaged, and compares the
// projections of each run: frozen or refused, the bytes of artifact and envelope, the
// omissions in order, the source of the times, and the codes of refusals. In mode
// captures, it does the same with the committed captures, under both profiles and with
// every selection of a snapshot.
//
// If the two disagree, it exits with status 1 and keeps the input; -case N runs one case
// again and prints it. It also fails if the generator no longer produces some kind of case.
//
// # Protocol
//
// The reference is a server. A request is one line of JSON, followed by the bytes of the
// files, one after the other. The response is one line of JSON. For files the line is
// {"kind": …, "profile": …, "bytes": N}, and the response is that of p20export validate.
//
// For streams and captures the line has
//
//	framing        the framing of the response: sse, ndjson or json (one array); the
//	               server must not guess it
//	bytes          the size of the response, which comes first
//	request        the size of request.json, which comes next; absent if there is
//	               none. It can be 0
//	arrivals       the size of arrivals.tsv, which comes last; absent if there is
//	               none. The file is well-formed
//	arrivals_from  the started_at of capture.json, which is time 0 of arrivals.tsv;
//	               present with arrivals
//	settings       a list of one or more settings to project each run with
//
// Each of the settings has projection, snapshot (only, first, last or a number from 1, as
// a string) and profile (v1 or assay). If an operator gave times, it also has started_at
// and optionally finished_at, in the format of an artifact. The server applies the newest
// version of the projection.
//
// The response has
//
//	runs      the number of runs of the capture
//	results   a list for each run, in order, with a result for each of the
//	          settings, in order; empty for a capture without a run
//
// and each result
//
//	outcome             frozen or refused
//	artifact, envelope  for a frozen run, the text of the two files, including the
//	                    last line feed
//	omissions           for a frozen run, the omissions of its record, in order:
//	                    event_index or file if they apply, pointer, reason, and
//	                    count if it is not 0
//	times               for a frozen run, the source of its times: event, arrival
//	                    or operator
//	errors              for a refused run, the codes of its findings of severity
//	                    error, sorted and without duplicates
//
// Each run is projected as if it were the only chosen run. A fault of the whole capture,
// such as data after the end of an array, refuses every run and is in the errors of each.
// The codes have to be the same as the program's. If a run has more findings than the
// program lists (findings_past_limit), the server's codes may include more. The server
// flushes each response, because the next request is sent after it, and exits at the end
// of its input.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

func main() {
	o := options{out: os.Stdout}
	flag.StringVar(&o.mode, "mode", "files", "what to compare: files, streams or captures")
	flag.IntVar(&o.n, "n", 20_000, "number of files or streams")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the files or streams")
	flag.IntVar(&o.only, "case", -1, "run only this case and print it")
	flag.StringVar(&o.python, "python", "python3", "Python interpreter of the reference")
	flag.StringVar(&o.reference, "reference", "schema/vectors/reference", "directory of the reference")
	flag.StringVar(&o.keep, "keep", ".build/differential", "directory for inputs with different results")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

type options struct {
	mode                    string
	n, only                 int
	seed                    uint64
	python, reference, keep string
	out                     io.Writer
}

func (o *options) run(ctx context.Context) error {
	switch o.mode {
	case "files":
		return o.files(ctx)
	case "streams":
		return o.streams(ctx)
	case "captures":
		return o.captures(ctx)
	}
	return fmt.Errorf("-mode must be files, streams or captures, not %q", o.mode)
}

// command returns the command line of a server, a script of the reference.
func (o *options) command(script string) []string {
	return []string{o.python, "-B", filepath.Join(o.reference, script), "--serve"}
}

// A worker compares some of the cases.
type worker interface {
	// compare compares case i. The server and the directory belong to the worker.
	compare(ctx context.Context, s *server, dir string, i int) error
}

// distribute runs n cases with concurrent workers and returns the elapsed time.
func distribute[W worker](ctx context.Context, o *options, command []string, n int, workers []W) (time.Duration, error) {
	began := time.Now()
	first, last := 0, n
	if o.only >= 0 {
		first, last, workers = o.only, min(o.only+1, n), workers[:1]
	}
	if first >= last {
		return 0, fmt.Errorf("case %[2]d does not exist; there are %[1]d cases", n, first)
	}
	errs := make([]error, len(workers))
	var wg sync.WaitGroup
	for at, w := range workers {
		wg.Go(func() { errs[at] = runCases(ctx, command, w, first+at, last, len(workers)) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began).Round(time.Second), nil
}

// runCases runs every step-th case from first up to last, exclusive.
func runCases(ctx context.Context, command []string, w worker, first, last, step int) error {
	s, err := start(ctx, command)
	if err != nil {
		return err
	}
	defer s.stop()
	dir, err := os.MkdirTemp("", "differential")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i := first; i < last; i += step {
		if err := w.compare(ctx, s, dir, i); err != nil {
			return fmt.Errorf("case %d: %w", i, err)
		}
	}
	return nil
}

// workers returns the number of concurrent servers.
func workers() int { return runtime.NumCPU() }
