// Package testkit has what tests of several packages share: the events of small
// runs, and captures of them. It is no part of the program.
package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The events of a run whose times are its own.
const (
	Started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1767225600000}`
	Message  = `{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}` + "\n" + `{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"Hi."}` + "\n" + `{"type":"TEXT_MESSAGE_END","messageId":"a"}`
	Snapshot = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."},{"id":"a","role":"assistant","content":"Hi."}]}`
	Finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1767225601000}`
	Failed   = `{"type":"RUN_ERROR","message":"broken","timestamp":1767225601000}`
)

// WriteCapture writes events, one a line, into a capture of that name and returns its
// path.
func WriteCapture(t testing.TB, name string, events ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".ndjson")
	if err := os.WriteFile(path, []byte(strings.Join(events, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// MakeUnreadable makes a directory below dir that cannot be opened, by whoever runs the
// test: its path is longer than paths can be.
func MakeUnreadable(t testing.TB, dir string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	for range 20 {
		if err == nil {
			err = root.Mkdir(strings.Repeat("d", 250), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		above := root
		root, err = root.OpenRoot(strings.Repeat("d", 250))
		above.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
}
