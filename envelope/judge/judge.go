// Package judge compares our readings of AG-UI events with those of the reference client,
// npm's @ag-ui/client 1.0.0, and with 0.0.59 and 0.0.52 where the rules are theirs. It
// runs them in Node. It also generates streams of events
// for such tests. Only tests use it. It must not know our own readers: its answers are
// those of the client alone.
//
// A test that asks the client has the build tag client and a name that starts with
// TestClient. The Makefile's target client installs the client and runs these tests.
package judge

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"unicode/utf8"
)

//go:embed judge.mjs
var program []byte

// streams is the number of generated streams that a test tries.
var streams = flag.Int("streams", 0, "the number of generated streams (default: as many as each test chooses)")

// Streams returns the number of generated streams to try: that of the flag -streams, or
// standard.
func Streams(standard int) int {
	if *streams > 0 {
		return *streams
	}
	return standard
}

// A Judge is a running reference client. Its methods may be called by several goroutines.
type Judge struct {
	t testing.TB

	mu       sync.Mutex
	requests io.WriteCloser
	answers  *bufio.Reader
	warnings []string
}

// Start starts the client in the directory that P20EXPORT_CLIENT names, which contains
// node_modules. The test fails if the client cannot be started. It is stopped when the
// test has ended.
func Start(t testing.TB) *Judge {
	t.Helper()
	dir := os.Getenv("P20EXPORT_CLIENT")
	if dir == "" {
		t.Fatal("P20EXPORT_CLIENT does not name the directory of the reference client: run make client")
	}
	path := filepath.Join(t.TempDir(), "judge.mjs")
	if err := os.WriteFile(path, program, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", path, dir)
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
		t.Fatalf("cannot start the reference client: %v", err)
	}
	t.Cleanup(func() {
		requests.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the reference client: %v", err)
		}
	})
	return &Judge{t: t, requests: requests, answers: bufio.NewReaderSize(answers, 1<<20)}
}

// Verify returns the index of the first event that the client's verification refuses,
// after it expanded chunks, and the text of the error. The index is -1 if it accepts all.
// Events reach the verification as they are: nothing is upgraded, removed or validated
// before.
func (j *Judge) Verify(events []string) (index int, text string) {
	j.t.Helper()
	return j.first("verify", events)
}

// VerifyLast is like Verify for the last client of AG-UI 0.x, 0.0.59.
func (j *Judge) VerifyLast(events []string) (index int, text string) {
	j.t.Helper()
	return j.first("verifyLast", events)
}

// VerifyEarlier is like Verify for the client 0.0.52.
func (j *Judge) VerifyEarlier(events []string) (index int, text string) {
	j.t.Helper()
	return j.first("verifyEarlier", events)
}

// Pipeline is like Verify for everything that the client does with events before it
// applies them: it upgrades earlier events, drops unknown ones, removes unknown keys,
// validates, expands chunks and verifies.
func (j *Judge) Pipeline(events []string) (index int, text string) {
	j.t.Helper()
	return j.first("pipeline", events)
}

func (j *Judge) first(method string, events []string) (int, string) {
	j.t.Helper()
	var answer fault
	j.must(method, arguments{"events": checkedAll(j.t, events)}, &answer)
	return answer.Index, answer.Text
}

// fault is the event that ended a stream. Its index is -1 if none did.
type fault struct {
	Index int    `json:"index"`
	Text  string `json:"text"`
}

func (f *fault) err() error {
	if f.Index < 0 {
		return nil
	}
	return &Refused{f.Index, f.Text}
}

// Refused is the error for a stream that the client refuses at the event Index.
type Refused struct {
	Index int
	Text  string
}

func (r *Refused) Error() string { return r.Text }

// Expand returns the events after the client expanded chunks, and a *Refused error if it
// refuses one; the events before it are returned.
func (j *Judge) Expand(events []string) ([]string, error) {
	j.t.Helper()
	var answer struct {
		Events []string `json:"events"`
		fault
	}
	j.must("expand", arguments{"events": checkedAll(j.t, events)}, &answer)
	return answer.Events, answer.err()
}

// Schema returns why the schema of events 1.0 refuses an event, or an empty text.
func (j *Judge) Schema(event string) (problem string) {
	j.t.Helper()
	return j.Schemas([]string{event})[0]
}

// Schemas is like Schema for several events.
func (j *Judge) Schemas(events []string) (problems []string) {
	j.t.Helper()
	j.must("schemas", arguments{"events": checkedAll(j.t, events)}, &problems)
	return problems
}

// InputSchema returns why the schema of run inputs 1.0 refuses an input, or an empty text.
func (j *Judge) InputSchema(input string) (problem string) {
	j.t.Helper()
	j.must("input", arguments{"input": checked(j.t, input)}, &problem)
	return problem
}

// Compact returns what compactEvents of version 1.0.0 or 0.0.52 of the client makes of
// events, or the error that it throws.
func (j *Judge) Compact(version string, events []string) (compacted []string, err error) {
	j.t.Helper()
	err = j.ask("compact", arguments{"version": version, "events": checkedAll(j.t, events)}, &compacted)
	return compacted, err
}

// Reduce returns the messages and the state that the client ends with, as JSON. If it
// refuses an event, they are those before the event, and the error is a *Refused. The
// state is {} before the first event that sets it.
func (j *Judge) Reduce(events []string) (messages, state string, err error) {
	j.t.Helper()
	return j.ReduceFrom("[]", "{}", events)
}

// ReduceFrom is like Reduce for a client that starts with messages and a state.
func (j *Judge) ReduceFrom(messages, state string, events []string) (string, string, error) {
	j.t.Helper()
	var answer struct {
		Messages string `json:"messages"`
		State    string `json:"state"`
		fault
	}
	j.must("reduce", arguments{"messages": checked(j.t, messages), "state": checked(j.t, state), "events": checkedAll(j.t, events)}, &answer)
	return answer.Messages, answer.State, answer.err()
}

// Patch applies a JSON Patch to a document as the client does. If it fails, ok is false
// and the result is the text of the error. The result is empty if the patch leaves no
// value.
func (j *Judge) Patch(document, operations string) (result string, ok bool) {
	j.t.Helper()
	var answer struct {
		Result string `json:"result"`
		OK     bool   `json:"ok"`
	}
	j.must("patch", arguments{"document": checked(j.t, document), "operations": checked(j.t, operations)}, &answer)
	return answer.Result, answer.OK
}

// Warnings returns what the client wrote to its console during the last call.
func (j *Judge) Warnings() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.warnings
}

type arguments map[string]any

// failure is the text of an error that a function of the client threw.
type failure string

func (f failure) Error() string { return string(f) }

// ask puts a question to the client. The error is a failure.
func (j *Judge) ask(method string, args arguments, result any) error {
	j.t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	line, err := json.Marshal(map[string]any{"method": method, "arguments": args})
	if err != nil {
		j.t.Fatal(err)
	}
	if _, err := j.requests.Write(append(line, '\n')); err != nil {
		j.t.Fatalf("the reference client: %v", err)
	}
	line, err = j.answers.ReadBytes('\n')
	if err != nil {
		j.t.Fatalf("the reference client: %v", err)
	}
	var answer struct {
		Result   json.RawMessage `json:"result"`
		Failure  string          `json:"failure"`
		Warnings []string        `json:"warnings"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		j.t.Fatalf("the reference client answers %q: %v", line, err)
	}
	j.warnings = answer.Warnings
	if answer.Failure != "" {
		return failure(answer.Failure)
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		j.t.Fatalf("the reference client answers %q: %v", line, err)
	}
	return nil
}

// must is like ask for a question that has to be answered.
func (j *Judge) must(method string, args arguments, result any) {
	j.t.Helper()
	if err := j.ask(method, args, result); err != nil {
		j.t.Fatalf("the reference client: %s: %v", method, err)
	}
}

// checked returns a JSON text for a request. JSON texts are valid UTF-8; other bytes would
// be replaced on the way.
func checked(t testing.TB, s string) string {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("not a JSON text: %q", s)
	}
	return s
}

func checkedAll(t testing.TB, events []string) []string {
	t.Helper()
	for _, e := range events {
		checked(t, e)
	}
	if events == nil {
		return []string{}
	}
	return events
}
