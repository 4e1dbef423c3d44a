package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// For every kind of response, the headline, the line of --quiet, the JSON row and the exit
// status agree.
func TestDiscoverAnswersAgree(t *testing.T) {
	const (
		headYes   = "qualifies: 6 of 6 needed scenarios"
		headNo    = "does not qualify: 0 of 6 needed scenarios do"
		unknown   = "not known whether it qualifies: "
		reply     = "The capital of France is Paris. "
		streaming = "text/event-stream"
	)
	write := func(w http.ResponseWriter, status int, media string, events ...string) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		for _, e := range events {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
	}
	// An answer gets the events of a good run: its beginning and text, its snapshot,
	// that of the request alone, and its end.
	type answer func(w http.ResponseWriter, text []string, snapshot, request, end string)
	const failed = `{"type":"RUN_ERROR","message":"API key missing"}`
	ok := func(w http.ResponseWriter, events ...string) { write(w, 200, streaming, events...) }
	whole := func(status int, media string) answer {
		return func(w http.ResponseWriter, text []string, snapshot, _, end string) {
			write(w, status, media, append(text, snapshot, end)...)
		}
	}
	tests := []struct {
		name      string
		answer    answer
		qualifies string
		exit      int
		head      string
		change    string
	}{
		{"good", whole(200, streaming), "yes", 0, headYes, ""},
		{"HTTP status 500", whole(500, streaming), "no", 3, headNo, "respond with HTTP status 200, not 500"},
		{"HTTP status 201", whole(201, streaming), "no", 3, headNo, "respond with HTTP status 200, not 201"},
		{"another type", whole(200, "text/plain"), "no", 3, headNo, "send Content-Type: text/event-stream"},
		{"a web page", whole(200, "text/html"), "no", 3, headNo, "send Content-Type: text/event-stream"},
		{"an error, no reply", func(w http.ResponseWriter, text []string, _, request, _ string) {
			ok(w, text[0], request, failed)
		}, "no", 1, headNo, "make the run finish; the server's log may say why it ended with RUN_ERROR"},
		{"an error after the reply", func(w http.ResponseWriter, text []string, snapshot, _, _ string) {
			ok(w, append(text, snapshot, failed)...)
		}, "no", 1, headNo, "make the run finish; the server's log may say why it ended with RUN_ERROR"},
		{"no reply", func(w http.ResponseWriter, text []string, _, request, end string) {
			ok(w, text[0], `{"type":"CUSTOM","name":"x","value":"`+strings.Repeat("y", 3000)+`"}`, request, end)
		}, "no", 1, headNo, "include the assistant's reply in the snapshot"},
		{"two runs", func(w http.ResponseWriter, text []string, snapshot, _, end string) {
			run := append(text, snapshot, end)
			ok(w, append(run, run...)...)
		}, "no", 1, headNo, "respond to a request with one run"},
		{"no end", func(w http.ResponseWriter, text []string, snapshot, _, _ string) {
			ok(w, append(text, snapshot)...)
		}, "no", 1, headNo, "end the run with RUN_FINISHED"},
		{"no JSON", func(w http.ResponseWriter, text []string, snapshot, _, end string) {
			ok(w, append(text, `{"type": x}`, snapshot, end)...)
		}, "no", 1, headNo, "make every event valid JSON (`/type`)"},
		{"broken off", func(w http.ResponseWriter, text []string, snapshot, _, end string) {
			ok(w, append(text, snapshot, end)...)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "unknown", 3, unknown + "6 needed responses were truncated", ""},
		{"the server stops", whole(200, streaming), "unknown", 3, unknown + "no run in the responses to 1 of 2 needed scenarios", ""},
		{"no run, HTTP status 404", func(w http.ResponseWriter, _ []string, _, _, _ string) {
			http.Error(w, "no", 404)
		}, "unknown", 3, unknown + "no run in the responses to 6 needed scenarios", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			discover := func(args ...string) []string {
				var server *httptest.Server
				server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if test.name == "the server stops" {
						w.Header().Set("Connection", "close")
						_ = server.Listener.Close()
					}
					text, snapshot, request, end := runFor(t, r.Body, strings.Repeat(reply, 12))
					test.answer(w, text, snapshot, request, end)
				}))
				defer server.Close()
				var out bytes.Buffer
				if exit := run(append([]string{"discover", server.URL}, args...), &out, io.Discard); exit != test.exit {
					t.Errorf("%q: exit status %d, want %d", args, exit, test.exit)
				}
				return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			}
			lines := discover()
			if !slices.Contains(lines, test.head) {
				t.Errorf("no headline %q in\n%s", test.head, strings.Join(lines, "\n"))
			}
			if at := slices.Index(lines, "what to change:"); test.change == "" && at >= 0 || test.change != "" && (at < 0 || !strings.HasPrefix(lines[at+1], "  "+test.change+" (")) {
				t.Errorf("no change %q in\n%s", test.change, strings.Join(lines, "\n"))
			}
			if short := discover("--quiet"); len(short) != 1 || !strings.HasPrefix(short[0], test.head) || !strings.Contains(short[0], test.change) {
				t.Errorf("in one line: %q", short)
			}
			rows := discover("--format", "json")
			var row struct{ Type, Qualifies string }
			if err := json.Unmarshal([]byte(rows[len(rows)-1]), &row); err != nil || row.Type != "qualification" || row.Qualifies != test.qualifies {
				t.Errorf("%+v, %v", row, err)
			}
		})
	}
}

// runFor returns the events of a run that answers a request: the events up to the end of the
// text, a snapshot with the reply, a snapshot without the reply, and the terminal event.
func runFor(t *testing.T, body io.Reader, reply string) (text []string, snapshot, request, end string) {
	var asked struct {
		ThreadID string `json:"threadId"`
		RunID    string `json:"runId"`
		Messages []struct {
			ID      string `json:"id"`
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(body).Decode(&asked); err != nil {
		t.Error(err)
	}
	var messages []string
	for _, m := range asked.Messages {
		spelled, err := json.Marshal(m)
		if err != nil {
			t.Error(err)
		}
		messages = append(messages, string(spelled))
	}
	ids := fmt.Sprintf(`"threadId":%q,"runId":%q}`, cmp.Or(asked.ThreadID, "t"), cmp.Or(asked.RunID, "r"))
	list := func(messages []string) string {
		return `{"type":"MESSAGES_SNAPSHOT","messages":[` + strings.Join(messages, ",") + "]}"
	}
	text = []string{`{"type":"RUN_STARTED",` + ids, `{"type":"TEXT_MESSAGE_START","messageId":"reply","role":"assistant"}`}
	for part := range strings.SplitSeq(reply, " ") {
		text = append(text, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"reply","delta":%q}`, part+" "))
	}
	text = append(text, `{"type":"TEXT_MESSAGE_END","messageId":"reply"}`)
	request = list(messages)
	snapshot = list(append(messages, fmt.Sprintf(`{"id":"reply","role":"assistant","content":%q}`, reply)))
	return text, snapshot, request, `{"type":"RUN_FINISHED",` + ids
}
