package compact

import (
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
)

// captured returns the events of each committed capture, by its path. The captures of
// three turns of a thread are also one stream.
func captured(t testing.TB) map[string][]string {
	t.Helper()
	streams := make(map[string][]string)
	for _, pattern := range []string{"captures/*/*", "drift/captures/*/*"} {
		paths, err := filepath.Glob("../../discovery/" + pattern)
		if err != nil || len(paths) < 40 {
			t.Fatalf("%s: %d captures, %v", pattern, len(paths), err)
		}
		for _, path := range paths { // in order
			events := eventsOf(t, path)
			streams[path] = events
			if thread, ok := strings.CutSuffix(path[:len(path)-1], "three-turns-"); ok {
				streams[thread+"three-turns"] = append(streams[thread+"three-turns"], events...)
			}
		}
	}
	return streams
}

// eventsOf returns the events of a capture, without frames that are not events.
func eventsOf(t testing.TB, path string) (events []string) {
	t.Helper()
	c, err := capture.Open(t.Context(), path, "")
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer c.Close()
	for {
		f, err := c.Next()
		if err == io.EOF {
			return events
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if _, err := envelope.ReadEvent(f.Data); f.Problem == nil && err == nil {
			events = append(events, string(f.Data))
		}
	}
}

// TestSnapshotCaptures checks the laws on every committed capture.
func TestSnapshotCaptures(t *testing.T) {
	streams := captured(t)
	for _, path := range slices.Sorted(maps.Keys(streams)) {
		got, _, err := snapshot(t, defaultLimits, streams[path])
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		again, _, err := snapshot(t, defaultLimits, got)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("%s: compacting again changes the stream: first -, then +:\n%s", path, diff)
		}
		messages, state := reduced(t, streams[path])
		nowMessages, nowState := reduced(t, got)
		if messages != nowMessages {
			t.Errorf("%s: the messages are\n%s\nand then\n%s", path, messages, nowMessages)
		}
		if state != nowState {
			t.Errorf("%s: the state is\n%s\nand then\n%s", path, state, nowState)
		}
	}
}
