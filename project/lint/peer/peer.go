// Package peer runs ag-ui-validate, another checker of AG-UI events, so that tests can
// compare its findings with those of package lint. Only tests use it.
//
// The checker is a Python program of PyPI, pinned in requirements.txt. docs/peers.md lists
// its rules, those of ours that correspond to them, and the reasons where we differ.
//
// A test that runs it has the build tag peer and a name that starts with TestPeer. The
// Makefile's target validate-peer runs these tests.
package peer

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

//go:embed validate.py
var program []byte

// Stream is a stream of events to judge.
type Stream struct {
	Body []byte `json:"body"`
	// Status and Type are the HTTP status and the content type. Status is nil for a file.
	Status *int   `json:"status"`
	Type   string `json:"type"`
	// Reads are the network reads: the number of bytes so far, and the milliseconds.
	Reads [][2]float64 `json:"reads"`
	// Cut means that the connection broke.
	Cut bool `json:"cut"`
}

// Finding is a finding of ag-ui-validate.
type Finding struct {
	Rule string `json:"rule"`
	// Event is the index of the event, or -1 for the whole stream.
	Event int `json:"event"`
	// Related is the index of the event that began what the finding is about, or -1.
	Related int    `json:"related"`
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// String returns the finding on one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s at event %d %s: %s", f.Rule, f.Event, f.Pointer, f.Message)
}

// A Peer is a running ag-ui-validate.
type Peer struct {
	t        testing.TB
	requests io.WriteCloser
	answers  *bufio.Reader
}

// Python returns the interpreter that P20EXPORT_PEER names, which has ag-ui-validate.
func Python(t testing.TB) string {
	t.Helper()
	python := os.Getenv("P20EXPORT_PEER")
	if python == "" {
		t.Fatal("P20EXPORT_PEER must name a Python that has ag-ui-validate: run make validate-peer")
	}
	return python
}

// Program writes the program to a temporary directory and returns its path.
func Program(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "validate.py")
	if err := os.WriteFile(path, program, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Start starts ag-ui-validate. It is stopped when the test has ended.
func Start(t testing.TB) *Peer {
	t.Helper()
	cmd := exec.Command(Python(t), "-W", "error", "-B", Program(t))
	cmd.Stderr = os.Stderr
	requests, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("cannot start ag-ui-validate: %v", err)
	}
	t.Cleanup(func() {
		requests.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("ag-ui-validate: %v", err)
		}
	})
	return &Peer{t: t, requests: requests, answers: bufio.NewReaderSize(answers, 1<<20)}
}

// Judge returns the findings about a stream.
func (p *Peer) Judge(s Stream) (list []Finding) {
	p.t.Helper()
	line, err := json.Marshal(s)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.requests.Write(append(line, '\n')); err != nil {
		p.t.Fatalf("ag-ui-validate does not read: %v", err)
	}
	answer, err := p.answers.ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("ag-ui-validate does not answer: %v", err)
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		p.t.Fatalf("ag-ui-validate answers %q: %v", answer, err)
	}
	return list
}
