// Package witness runs a second reader of AG-UI's specification, so that tests can compare
// it with packages sequence and event. Only tests use it.
//
// The reader is a program in Python beside this file. It was written from the pages and
// the schema of the specification by somebody who had not read those packages. It must
// not follow them: where the two differ, the text decides, and docs/peers.md lists what
// the text leaves open.
//
// A test that asks the witness has the build tag witness and a name that starts with
// TestWitness. The Makefile's target witness runs these tests.
package witness

import (
	"bufio"
	"embed"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/envelope/event"
)

//go:embed reading.py enforce.py shapes.py expand.py verify.py duties.py questions.py witness.py
var program embed.FS

// A Witness is a running reader.
type Witness struct {
	t        testing.TB
	requests io.WriteCloser
	answers  *bufio.Reader
}

// Row is what the reader makes of a stream.
type Row struct {
	// Reject is the first event that a conforming consumer rejects, or nil. Its index is
	// that of the end of the stream if the stream may not end there.
	Reject *Reject `json:"reject"`
	// Stripped lists what a consumer removes before the event that it rejects.
	Stripped []Stripped `json:"stripped"`
	// Producer lists the broken rules that bind only the producer.
	Producer []Rule `json:"producer"`
	// Open lists the events on which the specification leaves a choice.
	Open []Question `json:"open"`
	// Truncated reports that an accepted stream has no terminal event at its end.
	Truncated bool `json:"truncated"`
}

// Rule is a rule of the specification that an event breaks.
type Rule struct {
	Event int    `json:"event"`
	Page  string `json:"page"`
	Code  string `json:"code"`
}

// Question is a choice that the specification leaves at an event. See docs/peers.md.
type Question struct {
	Event    int    `json:"event"`
	Question string `json:"question"`
}

// Reject is why a consumer rejects a stream.
type Reject struct {
	Rule
	Reason string `json:"reason"`
}

// Stripped is a place that a consumer removes: a pointer into an event.
type Stripped struct {
	Event int    `json:"event"`
	At    string `json:"at"`
	What  string `json:"what"`
}

// Start starts the reader with the Python that P20EXPORT_PYTHON names, or python3. It is
// stopped when the test has ended.
func Start(t testing.TB) *Witness {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, program); err != nil {
		t.Fatal(err)
	}
	python := os.Getenv("P20EXPORT_PYTHON")
	if python == "" {
		python = "python3"
	}
	cmd := exec.Command(python, "-W", "error", "-B", filepath.Join(dir, "witness.py"), "--serve")
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
		t.Fatalf("cannot start the witness: %v", err)
	}
	t.Cleanup(func() {
		requests.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the witness: %v", err)
		}
	})
	return &Witness{t: t, requests: requests, answers: bufio.NewReaderSize(answers, 1<<20)}
}

// Judge returns what the reader makes of a stream of events under a version of AG-UI.
func (w *Witness) Judge(p event.Protocol, events []string) (row Row) {
	w.t.Helper()
	line, err := json.Marshal(map[string]any{"protocol": p, "events": events})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.requests.Write(append(line, '\n')); err != nil {
		w.t.Fatalf("the witness does not read: %v", err)
	}
	answer, err := w.answers.ReadBytes('\n')
	if err != nil {
		w.t.Fatalf("the witness does not answer: %v", err)
	}
	if err := json.Unmarshal(answer, &row); err != nil {
		w.t.Fatalf("the witness answers %q: %v", answer, err)
	}
	return row
}
