// Command differential compares the program with the Python reference under
// schema/vectors/reference.
//
//	differential -mode files -n 20000 -seed 1
//	differential -mode streams -n 20000 -seed 1
//	differential -mode captures
//
// Of files, it makes artifacts and envelopes, whole and damaged, and compares
// what the two validators say of each: verdict, canonical form, and every
// finding's rule, code, pointer and offset, in order.
//
// Of streams, it makes captures of runs, whole and damaged, and compares what
// the two make of each run under each projection: frozen or refused, the bytes of
// artifact and envelope, the omissions in their order, the source of the times,
// and the codes of what refuses a run. Of captures, it does the same with those
// that are committed, under both profiles and with every selection of a snapshot.
//
// It ends with status 1 when they disagree, and keeps what they disagree about;
// -case N judges one case again and prints it. A generator that no longer makes
// some kind of case is a failure too.
//
// # Protocol
//
// The reference is a server. A request is one line of JSON, and then the bytes of
// the files, one after the other. The answer is one line of JSON. For files the
// line is {"kind": …, "profile": …, "bytes": N}, and the answer is that of
// p20export validate.
//
// For streams and captures the line has
//
//	framing        how the response holds its events: sse, ndjson or json (one
//	               array); it is not to be guessed
//	bytes          the size of the response, which comes first
//	request        the size of request.json, which comes next; absent where there
//	               is none. It can be 0
//	arrivals       the size of arrivals.tsv, which comes last; absent where there
//	               is none. The file is well-formed
//	arrivals_from  the started_at of capture.json, from which arrivals.tsv counts;
//	               there with arrivals
//	settings       what each run is to be projected under, one or more
//
// Each of the settings has projection, snapshot (only, first, last or a number
// from 1, as a string) and profile (v1 or assay), and where an operator gave times
// started_at and perhaps finished_at, in the form that an artifact has them in.
// The newest version of the projection is meant.
//
// The answer has
//
//	runs      how many runs the capture has
//	results   a list for each run, in order, with a result for each of the
//	          settings, in order; empty for a capture without a run
//
// and each result
//
//	outcome             frozen or refused
//	artifact, envelope  of a frozen run the text of the two files, to the last
//	                    line feed
//	omissions           of a frozen run what its record lists, in order:
//	                    event_index or file where they apply, pointer, reason, and
//	                    count where it is not 0
//	times               of a frozen run the source of its times: event, arrival
//	                    or operator
//	errors              of a refused run the codes of its findings of severity
//	                    error, sorted, each once
//
// Each run is judged as if it alone had been chosen. What is wrong with the
// capture as a whole, such as an array that does not end where it should, refuses
// every run of it and is among the errors of each. Of a run with more findings
// than are listed one by one (findings_past_limit) the program's codes have to be
// among the server's; otherwise the two lists have to be the same. The server
// writes each answer at once: the next request waits for it. It ends when its
// input does.
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
	flag.IntVar(&o.n, "n", 20_000, "how many files or streams")
	flag.Uint64Var(&o.seed, "seed", 1, "which files or streams")
	flag.IntVar(&o.only, "case", -1, "judge this case alone and print it")
	flag.StringVar(&o.python, "python", "python3", "the Python to run the reference with")
	flag.StringVar(&o.reference, "reference", "schema/vectors/reference", "where the reference is")
	flag.StringVar(&o.keep, "keep", ".build/differential", "where to put what they disagree about")
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
	return fmt.Errorf("-mode is files, streams or captures, not %q", o.mode)
}

// command is that of a server, a script of the reference.
func (o *options) command(script string) []string {
	return []string{o.python, "-B", filepath.Join(o.reference, script), "--serve"}
}

// worker compares some of the cases.
type worker interface {
	// compare compares a case, with a server and a directory of the worker's own.
	compare(ctx context.Context, s *server, dir string, i int) error
}

// share divides n cases among workers, which work at the same time, and returns
// how long they took.
func share[W worker](ctx context.Context, o *options, command []string, n int, workers []W) (time.Duration, error) {
	began := time.Now()
	first, last := 0, n
	if o.only >= 0 {
		first, last, workers = o.only, min(o.only+1, n), workers[:1]
	}
	if first >= last {
		return 0, fmt.Errorf("there are %d cases, and none is number %d", n, first)
	}
	errs := make([]error, len(workers))
	var wg sync.WaitGroup
	for at, w := range workers {
		wg.Go(func() { errs[at] = every(ctx, command, w, first+at, last, len(workers)) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began).Round(time.Second), nil
}

// every gives a worker every step-th case from first on, below last.
func every(ctx context.Context, command []string, w worker, first, last, step int) error {
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

// workers is how many servers are asked at the same time.
func workers() int { return runtime.NumCPU() }
