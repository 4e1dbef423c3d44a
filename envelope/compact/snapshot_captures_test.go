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
	"github.com/p20export/p20export/internal/eventnames"
)

// captured returns the events of each committed capture, by its path. The captures of
// three turns of a thread are also one stream, with the request of the first.
func captured(t testing.TB) (streams map[string][]string, requests map[string][]byte) {
	t.Helper()
	streams, requests = make(map[string][]string), make(map[string][]byte)
	for _, pattern := range []string{"captures/*/*", "drift/captures/*/*"} {
		paths, err := filepath.Glob("../../discovery/" + pattern)
		if err != nil || len(paths) < 40 {
			t.Fatalf("%s: %d captures, %v", pattern, len(paths), err)
		}
		for _, path := range paths { // in order
			events := eventsOf(t, path)
			streams[path], requests[path] = events, requestOf(t, path)
			if thread, ok := strings.CutSuffix(path[:len(path)-1], "three-turns-"); ok {
				if streams[thread+"three-turns"] == nil {
					requests[thread+"three-turns"] = requests[path]
				}
				streams[thread+"three-turns"] = append(streams[thread+"three-turns"], events...)
			}
		}
	}
	return streams, requests
}

// requestOf returns the request of a capture.
func requestOf(t testing.TB, path string) []byte {
	t.Helper()
	c, err := capture.Open(t.Context(), path, "")
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer c.Close()
	request, err := c.Request()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return request
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

// TestSnapshotCaptures checks the laws on every committed capture: without its request, and
// with it. With it, the copy has the whole conversation, so that every client shows the
// same after it, with or without the request.
func TestSnapshotCaptures(t *testing.T) {
	streams, requests := captured(t)
	for _, path := range slices.Sorted(maps.Keys(streams)) {
		checkSeeded(t, path, streams[path], nil)
		if requests[path] == nil {
			t.Errorf("%s has no request", path)
			continue
		}
		got := checkSeeded(t, path, streams[path], requests[path])
		messages, state := reducedFrom(t, requests[path], got)
		nowMessages, nowState := reduced(t, got)
		hasRun := strings.Contains(strings.Join(got, ""), `"`+eventnames.RunStarted+`"`)
		if hasRun && (messages != nowMessages || state != nowState) {
			t.Errorf("%s: with the request, messages and state are\n%s\n%s\nand without it\n%s\n%s", path, messages, state, nowMessages, nowState)
		}
	}
}

// checkSeeded checks the laws of a stream whose client holds a request, and returns the
// compacted events. Compacting them again changes nothing, with and without the request.
func checkSeeded(t *testing.T, name string, events []string, request []byte) []string {
	t.Helper()
	got, _, err := snapshotFrom(t, Options{}, request, events)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, seed := range [][]byte{nil, request} {
		again, _, err := snapshotFrom(t, Options{}, seed, got)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("%s: compacting again changes the stream: first -, then +:\n%s", name, diff)
		}
	}
	messages, state := reducedFrom(t, request, events)
	nowMessages, nowState := reducedFrom(t, request, got)
	if messages != nowMessages {
		t.Errorf("%s: the messages are\n%s\nand then\n%s", name, messages, nowMessages)
	}
	if state != nowState {
		t.Errorf("%s: the state is\n%s\nand then\n%s", name, state, nowState)
	}
	return got
}
