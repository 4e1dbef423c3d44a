// Command differential makes artifacts and envelopes, whole and damaged, and
// compares what the Go validator says of each with what the Python reference
// under schema/vectors/reference says: verdict, canonical form, and every
// finding's rule, code, pointer and offset, in order.
//
//	differential -n 20000 -seed 1 -python python3
//
// It ends with status 1 when they disagree; -case N judges one case again and
// prints it.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/validate"
)

func main() {
	var o options
	flag.IntVar(&o.n, "n", 20_000, "how many cases")
	flag.Uint64Var(&o.seed, "seed", 1, "which cases")
	flag.IntVar(&o.only, "case", -1, "judge this case alone and print it")
	flag.StringVar(&o.python, "python", "python3", "the Python to run the reference with")
	flag.StringVar(&o.reference, "reference", "schema/vectors/reference/validate.py", "the reference")
	flag.StringVar(&o.keep, "keep", ".build/differential", "where to put the files they disagree about")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

type options struct {
	n, only                 int
	seed                    uint64
	python, reference, keep string
}

// tally is what the cases of one worker came to.
type tally struct {
	cases, accepted, disagreed int
	codes                      map[string]int
}

func (o *options) run(ctx context.Context) error {
	began := time.Now()
	workers := runtime.NumCPU()
	first, last := 0, o.n
	if o.only >= 0 {
		first, last, workers = o.only, o.only+1, 1
	}
	tallies, errs := make([]tally, workers), make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { tallies[w], errs[w] = o.work(ctx, first+w, last, workers) })
	}
	wg.Wait()
	total := tally{codes: make(map[string]int)}
	for i, t := range tallies {
		if errs[i] != nil {
			return errs[i]
		}
		total.cases += t.cases
		total.accepted += t.accepted
		total.disagreed += t.disagreed
		for code, n := range t.codes {
			total.codes[code] += n
		}
	}
	fmt.Printf("seed %d: %d cases in %s, %d accepted, %d malformed, %d codes seen, %d disagreements\n",
		o.seed, total.cases, time.Since(began).Round(time.Second), total.accepted, total.cases-total.accepted, len(total.codes), total.disagreed)
	if total.disagreed > 0 {
		return fmt.Errorf("the files are in %s", o.keep)
	}
	if o.only >= 0 || o.n < 10_000 {
		return nil
	}
	// A generator that stopped making some fault would agree about nothing.
	for _, r := range finding.Rules() {
		if r.Code != "" && r.Code != finding.TooLarge && r.Code != finding.EventLineTooLong && total.codes[string(r.Code)] == 0 {
			return fmt.Errorf("no case was made that is %s", r.Code)
		}
	}
	if total.accepted < total.cases/20 {
		return fmt.Errorf("only %d of %d cases were accepted", total.accepted, total.cases)
	}
	return nil
}

// work judges every workers-th case from first on, below last.
func (o *options) work(ctx context.Context, first, last, workers int) (tally, error) {
	t := tally{codes: make(map[string]int)}
	python, err := o.start(ctx)
	if err != nil {
		return t, err
	}
	defer python.stop()
	dir, err := os.MkdirTemp("", "differential")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	for i := first; i < last; i += workers {
		c := newCase(o.seed, i)
		if o.only >= 0 {
			os.Stdout.Write(c.data)
			fmt.Printf("\n%s, %s\n", c.kind, c.profile)
		}
		ours, err := c.judge(ctx, filepath.Join(dir, "case"))
		if err != nil {
			return t, err
		}
		theirs, err := python.judge(c)
		if err != nil {
			return t, fmt.Errorf("case %d: %w", i, err)
		}
		t.cases++
		if ours.Verdict == "accepted" {
			t.accepted++
		}
		for _, f := range ours.Findings {
			t.codes[f.Code]++
		}
		if ours.same(theirs) {
			continue
		}
		t.disagreed++
		if err := o.report(i, c, ours, theirs); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (o *options) report(i int, c testCase, ours, theirs answer) error {
	if err := os.MkdirAll(o.keep, 0o755); err != nil {
		return err
	}
	name := filepath.Join(o.keep, fmt.Sprintf("%d-%d.%s", o.seed, i, c.kind))
	fmt.Printf("case %d (%s, %s), see %s\n  Go     %s\n  Python %s\n", i, c.kind, c.profile, name, ours, theirs)
	return os.WriteFile(name, c.data, 0o644)
}

// answer is what a validator says of a file.
type answer struct {
	Verdict   string  `json:"verdict"`
	Canonical bool    `json:"canonical"`
	Digest    string  `json:"canonical_digest"`
	Findings  []found `json:"findings"`
}

type found struct {
	Code    string `json:"code"`
	Rule    string `json:"rule"`
	Pointer string `json:"pointer"`
	Offset  *int64 `json:"offset"` // nil for a finding without a place
}

func (f found) same(g found) bool {
	return f.Code == g.Code && f.Rule == g.Rule && f.Pointer == g.Pointer && f.place() == g.place()
}

func (f found) place() string {
	if f.Offset == nil {
		return "no place"
	}
	return fmt.Sprintf("byte %d", *f.Offset)
}

func (a answer) same(b answer) bool {
	return a.Verdict == b.Verdict && a.Canonical == b.Canonical && a.Digest == b.Digest && slices.EqualFunc(a.Findings, b.Findings, found.same)
}

func (a answer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, canonical %v %s:", a.Verdict, a.Canonical, a.Digest)
	for _, f := range a.Findings {
		fmt.Fprintf(&b, " %s %s %s at %s;", f.Rule, f.Code, finding.Quote(f.Pointer), f.place())
	}
	return b.String()
}

// judge is the Go validator's answer.
func (c testCase) judge(ctx context.Context, file string) (answer, error) {
	var a answer
	var list []finding.Finding
	if c.kind == string(validate.Artifact) {
		var value *artifact.Artifact
		value, list = artifact.Decode(c.data, c.profile)
		a.Verdict = string(project.Malformed)
		if value != nil {
			a = answer{Verdict: string(project.Accepted), Canonical: artifact.IsCanonical(c.data, value), Digest: string(digest.Of(artifact.Encode(value)))}
		}
	} else {
		if err := os.WriteFile(file, c.data, 0o644); err != nil {
			return a, err
		}
		row := validate.File(ctx, file, c.profile, validate.Envelope)
		if row.Canonical == nil {
			return a, fmt.Errorf("%s: %v", file, row.Findings)
		}
		list = row.Findings
		a = answer{Verdict: string(row.Verdict), Canonical: *row.Canonical}
	}
	for _, f := range list {
		a.Findings = append(a.Findings, found{string(f.Code), f.Rule, string(f.Pointer), f.Offset})
	}
	return a, nil
}

// reference is a running reference validator.
type reference struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (o *options) start(ctx context.Context) (*reference, error) {
	r := &reference{cmd: exec.CommandContext(ctx, o.python, o.reference, "--serve")}
	r.cmd.Stderr = os.Stderr
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	return r, r.cmd.Start()
}

func (r *reference) stop() {
	r.in.Close()
	r.cmd.Wait()
}

func (r *reference) judge(c testCase) (answer, error) {
	var a answer
	request := bytes.NewBuffer(nil)
	fmt.Fprintf(request, "{\"kind\":%q,\"profile\":%q,\"bytes\":%d}\n", c.kind, c.profile, len(c.data))
	request.Write(c.data)
	if _, err := r.in.Write(request.Bytes()); err != nil {
		return a, err
	}
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		return a, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	err = json.Unmarshal(line, &a)
	return a, err
}
