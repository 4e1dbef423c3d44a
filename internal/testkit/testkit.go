// Package testkit has helpers for the tests of several packages: events of small runs,
// captures of them, files, and tracing of programs. The program does not use it.
package testkit

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The events of a run with timestamps.
const (
	Started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1767225600000}`
	Message  = `{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}` + "\n" + `{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"Hi."}` + "\n" + `{"type":"TEXT_MESSAGE_END","messageId":"a"}`
	Snapshot = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."},{"id":"a","role":"assistant","content":"Hi."}]}`
	Finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1767225601000}`
	Failed   = `{"type":"RUN_ERROR","message":"broken","timestamp":1767225601000}`
)

// WriteCapture writes events, one on each line, to a file name.ndjson and returns its
// path.
func WriteCapture(t testing.TB, name string, events ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".ndjson")
	if err := os.WriteFile(path, []byte(strings.Join(events, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// MakeUnreadable creates a directory below dir that no user can open, because its path
// is longer than the system allows.
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

// FreeAddress returns an address at which nothing listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
