package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/artifact"
)

// benchBundles measures writing and verifying the largest bundles, of many small and of
// few large artifacts, with the verifiers of this program and of Assay. The goal is at
// most 128 MiB of memory.
func benchBundles(program, judge string) error {
	dir, err := os.MkdirTemp("", "p20export-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("\nthe largest bundles; MB count the events\n%-52s %8s %8s %14s\n", "step", "seconds", "MB/s", "peak RSS (MiB)")
	for _, kind := range []struct {
		name                       string
		artifacts, messages, words int
	}{
		{"small", 80_000, 3, 10},
		{"large", 118, 2000, 66},
	} {
		from, bundle := filepath.Join(dir, kind.name), filepath.Join(dir, kind.name+".tar.gz")
		if err := writeArtifacts(from, kind.artifacts, kind.messages, kind.words); err != nil {
			return err
		}
		commands := [][]string{
			{program, "assay", from, "--bundle", bundle, "--assay-run-id", kind.name, "--import-time", "2026-01-31T12:00:00Z"},
			{program, "assay", "verify", "--strict", bundle},
			{judge, bundle},
		}
		var size float64
		for i, name := range []string{"write", "verify --strict", "Assay's verifier (release build)"} {
			seconds, mib, err := measure(0, commands[i][0], commands[i][1:]...)
			if err != nil {
				return err
			}
			if size == 0 {
				if size, err = eventsBytes(program, bundle); err != nil {
					return err
				}
			}
			fmt.Printf("%-52s %8.2f %8.0f %14.1f\n", fmt.Sprintf("%d artifacts, %s", kind.artifacts, name), seconds, size/1e6/seconds, mib)
		}
	}
	return nil
}

// eventsBytes returns the size of the events in a bundle.
func eventsBytes(program, bundle string) (float64, error) {
	out, err := exec.Command(program, "assay", "verify", "--format", "json", bundle).Output()
	if err != nil {
		return 0, err
	}
	var row struct {
		Events float64 `json:"events_bytes"`
	}
	return row.Events, json.Unmarshal(out, &row)
}

// writeArtifacts writes artifacts with text that compresses about as well as English.
func writeArtifacts(dir string, artifacts, messages, words int) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	vocabulary := make([]string, 5000)
	for i := range vocabulary {
		for range 2 + random.IntN(7) {
			vocabulary[i] += string(rune('a' + random.IntN(26)))
		}
	}
	var errs []error
	for i := range artifacts {
		a := artifact.New()
		a.ThreadIDRef, a.RunIDRef = "thread", fmt.Sprintf("run-%06d", i)
		a.StartedAt, a.TerminalEvent = "2026-01-31T11:00:00Z", artifact.RunFinished
		for j := range messages {
			var text []string
			for range words {
				text = append(text, vocabulary[random.IntN(len(vocabulary))])
			}
			content := strings.Join(text, " ")
			a.Messages = append(a.Messages, artifact.Message{ID: fmt.Sprintf("m%d", j), Role: "user", Content: content[:min(len(content), 400)]})
		}
		errs = append(errs, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.artifact.json", i)), artifact.Encode(a), 0o666))
	}
	return errors.Join(errs...)
}
