// Command mutation shows that the conformance vectors can fail: for each rule
// of docs/contract.md it builds the program with that rule's check disabled, by
// go build -overlay, so that no switch for it exists in the product, and runs
// every vector through it. A mutant that no vector notices is an error.
//
//	mutation              every rule
//	mutation -rule A12    one rule
//	mutation -update      every rule, and write the table into docs/vectors.md
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

func main() {
	rule := flag.String("rule", "", "only this rule")
	update := flag.Bool("update", false, "write the table into docs/vectors.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rule, *update); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rule string, update bool) error {
	chosen := mutants
	if rule != "" {
		chosen = slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.rule != rule })
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no rule %s", rule)
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	vectors := filepath.Join(dir, "vectors.test")
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", vectors, "./schema/vectors").CombinedOutput(); err != nil {
		return fmt.Errorf("build the vectors: %w\n%s", err, out)
	}
	whole := mutant{rule: "none"}
	if noticed, err := whole.try(ctx, dir, vectors); err != nil || len(noticed) > 0 {
		return fmt.Errorf("the program as it is fails %d vectors: %v", len(noticed), err)
	}
	results := make([][]string, len(chosen))
	errs := make([]error, len(chosen))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for i := range next {
				results[i], errs[i] = chosen[i].try(ctx, dir, vectors)
			}
		})
	}
	for i := range chosen {
		next <- i
	}
	close(next)
	wg.Wait()
	for i, m := range chosen {
		switch {
		case errs[i] != nil:
			return errs[i]
		case len(results[i]) == 0:
			errs[i] = fmt.Errorf("%s: no vector notices that its check is disabled", m.rule)
		}
		fmt.Printf("%-4s %4d vectors fail: %s\n", m.rule, len(results[i]), m.does)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("%d rules, every mutant noticed\n", len(chosen))
	if update && rule == "" {
		return writeTable(chosen, results)
	}
	return nil
}

// try builds the program with the mutation and returns the vectors that fail.
func (m mutant) try(ctx context.Context, dir, vectors string) ([]string, error) {
	program := filepath.Join(dir, m.rule)
	args := []string{"build", "-o", program}
	if m.file != "" {
		overlay, err := m.overlay(dir)
		if err != nil {
			return nil, err
		}
		args = append(args, "-overlay", overlay)
	}
	if out, err := exec.CommandContext(ctx, "go", append(args, "./cmd/p20export")...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: build: %w\n%s", m.rule, err, out)
	}
	defer os.Remove(program)
	cmd := exec.CommandContext(ctx, vectors, "-test.run", "^TestProgram$", "-test.timeout", "5m", "-program", program)
	cmd.Dir = filepath.Join("schema", "vectors")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil, nil
	}
	var failing []string
	for line := range strings.Lines(string(out)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), " fails: "); ok {
			failing = append(failing, name)
		}
	}
	if len(failing) == 0 {
		return nil, fmt.Errorf("%s: %w\n%s", m.rule, err, out)
	}
	return failing, nil
}

// overlay writes the mutated file and the overlay that puts it in place.
func (m mutant) overlay(dir string) (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("%s: what it changes stands %d times in %s", m.rule, n, m.file)
	}
	path := filepath.Join(dir, m.rule+".go")
	if err := os.WriteFile(path, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o644); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {abs: path}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, m.rule+".json")
	return name, os.WriteFile(name, b, 0o644)
}

const (
	page       = "docs/vectors.md"
	tableBegin = "<!-- mutation: made by make mutation -->\n"
	tableEnd   = "<!-- mutation end -->\n"
)

// writeTable puts the outcome into its page, between its two marks.
func writeTable(mutants []mutant, results [][]string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok1 := strings.Cut(string(text), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no place for the table", page)
	}
	var b strings.Builder
	b.WriteString("| rule | what is disabled | vectors that fail |\n|---|---|---|\n")
	for i, m := range mutants {
		fmt.Fprintf(&b, "| %s | %s | %d |\n", m.rule, m.does, len(results[i]))
	}
	return os.WriteFile(page, []byte(before+tableBegin+"\n"+b.String()+"\n"+tableEnd+after), 0o644)
}
