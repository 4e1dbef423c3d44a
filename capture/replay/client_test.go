//go:build client

package replay

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/internal/testkit"
)

// TestClientReplay lets the reference client run every committed capture over HTTP. It ends
// with the same events, messages, state and error as with the recorded response itself.
// When the connection breaks, fetch drops what the client has not read yet, so the client may
// have seen only the first of the events; that all bytes came before is checked without it.
func TestClientReplay(t *testing.T) {
	j := judge.Start(t)
	found, err := capture.Find(t.Context(), []string{"../../discovery/captures", "../../discovery/drift/captures"})
	if err != nil {
		t.Fatal(err)
	}
	events, failed, broken := 0, 0, 0
	for _, f := range found {
		r, err := New(t.Context(), f.Path, Settings{Log: discard})
		if err != nil {
			t.Fatal(err)
		}
		input := string(testkit.Read(t, filepath.Join(f.Path, capture.RequestName)))
		c := r.all[0]
		want := j.Receive(judge.Response{
			Status: c.status, ContentType: c.header.Get("Content-Type"),
			Body: testkit.Read(t, c.response), Broken: c.end != capture.EndEOF,
		}, input)
		server := httptest.NewServer(r)
		got := j.Post(server.URL, input)
		events += len(want.Events)
		if want.Error != "" {
			failed++
		}
		if c.end != capture.EndEOF {
			broken++
			if got.Error == "" || want.Error == "" {
				t.Errorf("%s: the client did not notice that the connection broke", f.Path)
			}
			checkBroken(t, server.URL, input, c.response)
			if len(got.Events) <= len(want.Events) {
				want.Events = want.Events[:len(got.Events)]
			}
			got.Messages, got.State, got.Error = want.Messages, want.State, want.Error
		}
		server.Close()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-recorded +replayed):\n%s", f.Path, diff)
		}
	}
	t.Logf("%d captures, %d events, %d runs that failed, %d of them broken off", len(found), events, failed, broken)
	if events < 5000 || failed < 20 || broken == 0 {
		t.Errorf("of %d captures, %d events, %d failed runs and %d broken responses were seen", len(found), events, failed, broken)
	}
}

// TestClientReplayIDs does the same for a client with other ids, which it gets back, also
// from the integrations that ignore those of the request.
func TestClientReplayIDs(t *testing.T) {
	j := judge.Start(t)
	found, err := capture.Find(t.Context(), []string{"../../discovery/captures"})
	if err != nil {
		t.Fatal(err)
	}
	runs, users := 0, 0
	for _, f := range found {
		r, err := New(t.Context(), f.Path, Settings{RequestIDs: true, Log: discard})
		if err != nil {
			t.Fatal(err)
		}
		c := r.all[0]
		request := testkit.Read(t, filepath.Join(f.Path, capture.RequestName))
		input := withIDs(t, request)
		want := j.Receive(judge.Response{Status: c.status, ContentType: c.header.Get("Content-Type"), Body: testkit.Read(t, c.response), Broken: c.end != capture.EndEOF}, input)
		server := httptest.NewServer(r)
		got := j.Post(server.URL, input)
		server.Close()
		if messages := withUserIDs(t, want.Messages, request); messages != want.Messages {
			want.Messages = messages
			users++
		}
		differs := got.Messages != want.Messages || got.State != want.State || len(got.Events) != len(want.Events)
		if c.end != capture.EndEOF {
			differs = len(got.Events) > len(want.Events) // see TestClientReplay
		}
		if differs || (got.Error == "") != (want.Error == "") {
			t.Errorf("%s (-recorded +replayed):\n%s", f.Path, cmp.Diff(want, got))
		}
		for _, text := range got.Events {
			var event struct{ Type, ThreadID, RunID string }
			if err := json.Unmarshal([]byte(text), &event); err != nil {
				t.Fatal(err)
			}
			if event.Type != "RUN_STARTED" {
				continue
			}
			if runs++; event.ThreadID != "another \"thread\"" || event.RunID != "another run" {
				t.Errorf("%s: %s", f.Path, text)
			}
		}
	}
	if runs < 200 || users == 0 {
		t.Errorf("only %d runs and %d captures with other ids of user messages were seen", runs, users)
	}
}

// withUserIDs returns messages of a recorded response in which user messages have the ids
// that the request gives to those of the same text, up to the first message that the request
// does not have. No two user messages of a capture have the same text.
func withUserIDs(t *testing.T, messages string, request []byte) string {
	t.Helper()
	if messages == "" {
		return "" // the run failed
	}
	type message struct {
		ID, Role string
		Content  any
	}
	text := func(m message) string {
		s, _ := m.Content.(string)
		parts, _ := m.Content.([]any)
		for _, part := range parts {
			of, _ := part.(map[string]any)["text"].(string)
			s += of
		}
		return s
	}
	var input struct{ Messages []message }
	if err := json.Unmarshal(request, &input); err != nil {
		t.Fatal(err)
	}
	var recorded []message
	if err := json.Unmarshal([]byte(messages), &recorded); err != nil {
		t.Fatal(err)
	}
	for _, m := range recorded {
		known := slices.IndexFunc(input.Messages, func(in message) bool {
			return in.ID == m.ID || in.Role == "user" && m.Role == "user" && text(in) == text(m)
		})
		if known < 0 {
			break
		}
		messages = strings.ReplaceAll(messages, `{"id":"`+m.ID+`",`, `{"id":"`+input.Messages[known].ID+`",`)
	}
	return messages
}

// checkBroken checks that a response has all bytes of a file before its connection breaks.
func checkBroken(t *testing.T, url, input, file string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil {
		t.Errorf("%s: the connection did not break", file)
	}
	if diff := cmp.Diff(string(testkit.Read(t, file)), string(body)); diff != "" {
		t.Errorf("%s (-recorded +replayed):\n%s", file, diff)
	}
}

// withIDs returns a request with other ids.
func withIDs(t *testing.T, request []byte) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(request, &members); err != nil {
		t.Fatal(err)
	}
	members["threadId"], members["runId"] = []byte(`"another \"thread\""`), []byte(`"another run"`)
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
