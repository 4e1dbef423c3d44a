package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/captures"
)

// A peer is a script that freezes captures.
type peer struct {
	name    string
	command []string // paths of captures are added
}

// peers returns the scripts. The one over orjson is the first.
func (s *settings) peers() []peer {
	python := func(name string) []string {
		return []string{filepath.Join(s.dir, "peers", name, "bin", "python"), "-B", filepath.Join(s.scripts, name, "freeze.py"), "--started-at", startedAt}
	}
	return []peer{
		{"orjson", python("orjson")},
		{"ag-ui-protocol (pydantic)", python("pydantic")},
		{"@ag-ui/client (Node)", []string{"node", filepath.Join(s.scripts, "client", "freeze.mjs"), filepath.Join(s.dir, "peers", "client"), "--started-at", startedAt}},
		{"jq", []string{filepath.Join(s.scripts, "jq", "freeze.sh"), "jq", startedAt}},
	}
}

// A row is the result for one capture, as the scripts print it.
type row struct {
	Verdict  string `json:"verdict"`
	Events   int    `json:"events"`
	Reason   string `json:"reason"`
	Capture  string `json:"capture_digest"`
	Artifact string `json:"artifact_digest"`
	Envelope string `json:"envelope_digest"`
}

// frozenBy returns what a script says about captures, one row for each.
func (s *settings) frozenBy(p peer, paths ...string) ([]row, error) {
	argv := append(slices.Clone(p.command), paths...)
	cmd := exec.Command(argv[0], argv[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 && stderr.Len() == 0 {
		err = nil // a capture was refused
	}
	var rows []row
	for line := range bytes.Lines(out) {
		var r row
		err = errors.Join(err, json.Unmarshal(line, &r))
		rows = append(rows, r)
	}
	if err == nil && len(rows) != len(paths) {
		err = fmt.Errorf("%d rows for %d captures", len(rows), len(paths))
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", p.name, err, out, stderr.Bytes())
	}
	return rows, err
}

// own returns what the program says about a capture. Its reason is the codes of the findings
// that are errors or warnings.
func (s *settings) own(path string) (row, error) {
	argv, err := s.freeze(path)()
	if err != nil {
		return row{}, err
	}
	argv = append(argv, "--format", "json")
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		err = nil
	}
	var r struct {
		Verdict  string  `json:"verdict"`
		Artifact string  `json:"artifact_digest"`
		Envelope *string `json:"envelope"`
		Findings []struct{ Code, Severity string }
	}
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		return row{}, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
	}
	result := row{Verdict: r.Verdict, Artifact: r.Artifact}
	var codes []string
	for _, f := range r.Findings {
		if code := "`" + f.Code + "`"; f.Severity != "info" && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	result.Reason = strings.Join(codes, ", ")
	if r.Envelope != nil {
		result.Envelope, err = digestOf(*r.Envelope)
	}
	if err == nil {
		result.Capture, err = digestOf(path)
	}
	return result, err
}

func digestOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text)), err
}

// agree checks that the scripts make the same artifacts and envelopes as the program. The one
// over jq makes no envelope, because jq does not keep the bytes of its input.
func (s *settings) agree() error {
	var paths []string
	var want []row
	for _, shape := range captures.Shapes() {
		path, err := s.capture(shape, 100_000)
		if err != nil {
			return err
		}
		r, err := s.own(path)
		if err != nil {
			return err
		}
		r.Reason = ""
		paths, want = append(paths, path), append(want, r)
	}
	var differences []error
	for _, p := range s.peers() {
		rows, err := s.frozenBy(p, paths...)
		if err != nil {
			return err
		}
		for i, got := range rows {
			if got.Events < 10 {
				differences = append(differences, fmt.Errorf("%s: %s has read %d events", paths[i], p.name, got.Events))
			}
			if got.Envelope == "" {
				got.Envelope = want[i].Envelope
			}
			if got.Events = 0; got != want[i] {
				differences = append(differences, fmt.Errorf("%s: %s says %+v, the program %+v", paths[i], p.name, got, want[i]))
			}
		}
	}
	return errors.Join(differences...)
}
