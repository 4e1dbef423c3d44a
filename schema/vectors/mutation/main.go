// Command mutation checks that the conformance vectors can fail. For each rule of
// docs/contract.md it builds the program with that rule's check disabled, and runs every
// vector. It fails if all vectors pass. The checks are disabled with go build -overlay,
// so the program itself needs no switch for this.
//
//	mutation              test every rule
//	mutation -rule A12    test one rule
//	mutation -update      test every rule, and write the table in docs/vectors.md
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
	rule := flag.String("rule", "", "test only this rule")
	update := flag.Bool("update", false, "write the table in docs/vectors.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *rule, *update); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rule string, update bool) error {
	selected := mutants
	if rule != "" {
		selected = slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.rule != rule })
	}
	if len(selected) == 0 {
		return fmt.Errorf("no rule %s", rule)
	}
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	vectors := filepath.Join(dir, "vectors.test")
	if out, err := exec.CommandContext(ctx, "go", "test", "-trimpath", "-c", "-o", vectors, "./schema/vectors").CombinedOutput(); err != nil {
		return fmt.Errorf("build the vectors: %w\n%s", err, out)
	}
	original := mutant{rule: "none"}
	if failing, err := original.try(ctx, dir, vectors); err != nil || len(failing) > 0 {
		return fmt.Errorf("the unchanged program fails %d vectors: %v", len(failing), err)
	}
	results := make([][]string, len(selected))
	errs := make([]error, len(selected))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for i := range next {
				results[i], errs[i] = selected[i].try(ctx, dir, vectors)
			}
		})
	}
	for i := range selected {
		next <- i
	}
	close(next)
	wg.Wait()
	for i, m := range selected {
		switch {
		case errs[i] != nil:
			return errs[i]
		case len(results[i]) == 0:
			errs[i] = fmt.Errorf("%s: no vector fails without its check", m.rule)
		}
		fmt.Printf("%-4s %4d vectors fail: %s\n", m.rule, len(results[i]), m.check)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Printf("%d rules: vectors fail for every mutant\n", len(selected))
	if update && rule == "" {
		return writeTable(selected, results)
	}
	return nil
}

// try builds the program with the mutation and returns the vectors that fail.
func (m mutant) try(ctx context.Context, dir, vectors string) ([]string, error) {
	program := filepath.Join(dir, m.rule)
	args := []string{"build", "-trimpath", "-o", program}
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

// overlay writes the mutated file, and the overlay file that replaces the original with it.
func (m mutant) overlay(dir string) (string, error) {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return "", fmt.Errorf("%s: the text to replace occurs %d times in %s, not once", m.rule, n, m.file)
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

// writeTable writes the results between the two marks of the page.
func writeTable(mutants []mutant, results [][]string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok1 := strings.Cut(string(text), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no marks for the table", page)
	}
	var b strings.Builder
	b.WriteString("| rule | disabled check | vectors that fail |\n|---|---|---|\n")
	for i, m := range mutants {
		fmt.Fprintf(&b, "| %s | %s | %d |\n", m.rule, m.check, len(results[i]))
	}
	return os.WriteFile(page, []byte(before+tableBegin+"\n"+b.String()+"\n"+tableEnd+after), 0o644)
}
