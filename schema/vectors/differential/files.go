package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/validate"
)

// A tally counts the results of one worker.
type tally struct {
	*options
	cases, accepted, disagreed int
	codes                      map[string]int
}

// files compares the validators on generated files.
func (o *options) files(ctx context.Context) error {
	tallies := make([]*tally, workers())
	for i := range tallies {
		tallies[i] = &tally{options: o, codes: make(map[string]int)}
	}
	took, err := distribute(ctx, o, o.command("validate.py"), o.n, tallies)
	if err != nil {
		return err
	}
	total := tally{codes: make(map[string]int)}
	for _, t := range tallies {
		total.cases += t.cases
		total.accepted += t.accepted
		total.disagreed += t.disagreed
		for code, n := range t.codes {
			total.codes[code] += n
		}
	}
	fmt.Fprintf(o.out, "seed %d: %d cases in %s, %d accepted, %d malformed, %d codes seen, %d disagreements\n",
		o.seed, total.cases, took, total.accepted, total.cases-total.accepted, len(total.codes), total.disagreed)
	if total.disagreed > 0 {
		return fmt.Errorf("the files with different results are in %s", o.keep)
	}
	if o.only >= 0 || o.n < 10_000 {
		return nil
	}
	// If the generator no longer made some fault, nothing would be compared.
	for _, r := range finding.Rules() {
		if r.Code != "" && r.Code != finding.TooLarge && r.Code != finding.EventLineTooLong && total.codes[string(r.Code)] == 0 {
			return fmt.Errorf("no generated case has the finding %s", r.Code)
		}
	}
	if total.accepted < total.cases/20 {
		return fmt.Errorf("only %d of %d cases were accepted", total.accepted, total.cases)
	}
	return nil
}

// compare implements worker.
func (t *tally) compare(ctx context.Context, s *server, dir string, i int) error {
	c := newCase(t.seed, i)
	if t.only >= 0 {
		t.out.Write(c.data)
		fmt.Fprintf(t.out, "\n%s, %s\n", c.kind, c.profile)
	}
	ours, err := c.validate(ctx, filepath.Join(dir, "case"))
	if err != nil {
		return err
	}
	var theirs answer
	if err := s.ask(c.header(), &theirs, c.data); err != nil {
		return err
	}
	t.cases++
	if ours.Verdict == "accepted" {
		t.accepted++
	}
	for _, f := range ours.Findings {
		t.codes[f.Code]++
	}
	if ours.same(theirs) {
		return nil
	}
	t.disagreed++
	return t.report(i, c, ours, theirs)
}

func (o *options) report(i int, c testCase, ours, theirs answer) error {
	if err := os.MkdirAll(o.keep, 0o755); err != nil {
		return err
	}
	name := filepath.Join(o.keep, fmt.Sprintf("%d-%d.%s", o.seed, i, c.kind))
	fmt.Fprintf(o.out, "case %d (%s, %s), see %s\n  Go     %s\n  Python %s\n", i, c.kind, c.profile, name, ours, theirs)
	return os.WriteFile(name, c.data, 0o644)
}

// header returns the header line of a file.
func (c testCase) header() any {
	return struct {
		Kind    string           `json:"kind"`
		Profile artifact.Profile `json:"profile"`
		Bytes   int              `json:"bytes"`
	}{c.kind, c.profile, len(c.data)}
}

// An answer is the result of a validator for a file.
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

// validate returns the result of the Go validator.
func (c testCase) validate(ctx context.Context, file string) (answer, error) {
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
