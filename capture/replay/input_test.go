package replay

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/internal/testkit"
)

// asking returns a request whose messages are JSON.
func asking(messages ...string) string {
	return `{"threadId":"t","runId":"r","messages":[` + strings.Join(messages, ",") + `]}`
}

func user(text string) string {
	return fmt.Sprintf(`{"id":"u","role":"user","content":%q}`, text)
}

const (
	assistant = `{"id":"a","role":"assistant","content":"Hi"}`
	result    = `{"id":"x","role":"tool","content":"Hi","toolCallId":"c"}`
)

// The last user message decides, and only its text.
func TestReadInput(t *testing.T) {
	keys := map[inputKey]string{}
	for want, requests := range map[string][]string{
		"none": {`{}`, `{"messages":{}}`, `{"messages":null}`, asking(), asking(assistant), asking("1", "null", `"user"`, `{"role":1}`, `{"role":"User"}`)},
		"Hi": {asking(user("Hi")), asking(user("other"), assistant, user("Hi")), asking(user("Hi"), assistant, result), asking(user("Hi"), "null"),
			asking(`{"role":"user","content":"\u0048i"}`), `{"messages":[` + user("Hi") + `],"threadId":7}`,
			asking(`{"role":"user","content":[{"type":"text","text":"Hi"}]}`),
			asking(`{"role":"user","content":[{"type":"text","text":"H"},{"type":"image","source":{}},null,7,{"type":"text","text":"i"}]}`)},
		"hi": {asking(user("hi"))}, "Hi ": {asking(user("Hi "))}, "Hí": {asking(user("Hí"))},
		"empty": {asking(user("")), asking(`{"role":"user"}`), asking(`{"role":"user","content":[]}`), asking(`{"role":"user","content":7}`)},
	} {
		for i, r := range requests {
			in, err := readInput([]byte(r))
			if err != nil {
				t.Errorf("%s: %v", r, err)
				continue
			}
			if in.hasUser != (want != "none") {
				t.Errorf("%s: has a user message: %t", r, in.hasUser)
			}
			if other, ok := keys[in.key]; in.hasUser && ok != (i > 0) || ok && other != want {
				t.Errorf("%s: the same as %q (%t), want %q", r, other, ok, want)
			}
			if in.hasUser {
				keys[in.key] = want
			}
		}
	}
	for _, bad := range []string{"", "[]", "7", `{"a":1,"a":1}`, `{"messages":`, "\xff"} {
		if _, err := readInput([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// Elements have their places in the text.
func TestElements(t *testing.T) {
	var o strictjson.Object
	text := `{"a": [1, "x", {"b":[2]}, [] ,null]}`
	if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), []byte(text)); err != nil {
		t.Fatal(err)
	}
	array, _ := o.Get("a")
	var got []string
	for e := range elements(array) {
		got = append(got, fmt.Sprintf("%s=%s", e.Raw, text[e.Start:e.Start+len(e.Raw)]))
	}
	if want := `1=1 "x"="x" {"b":[2]}={"b":[2]} []=[] null=null`; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for e := range elements(array) {
		if e.Kind != strictjson.Number {
			t.Errorf("the second element %s after a break", e.Raw)
		}
		break
	}
}

// captures stores captures in a directory. The last was started first.
func captures(t *testing.T, requests ...string) string {
	dir := t.TempDir()
	for i, r := range requests {
		stored{body: fmt.Sprintf("data: %d\n\n", i), request: r, started: time.Duration(-i) * time.Second}.store(t, filepath.Join(dir, fmt.Sprint(i)))
	}
	return dir
}

func TestMatchOrder(t *testing.T) {
	url, _ := serve(t, captures(t, request, request, ""), Settings{})
	for _, want := range []string{"data: 2\n\n", "data: 1\n\n", "data: 0\n\n"} {
		if got := post(t, url, "not read"); got.body != want {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	if got := post(t, url, request); got.status != 404 || got.body != "all captures (3) were replayed; start the replay again to begin with the first\n" {
		t.Errorf("%+v", got)
	}
	// A single capture answers once if that is what was asked for.
	url, _ = serve(t, stored{body: "data: 1\n\n"}.one(t), Settings{Match: MatchOrder})
	for _, want := range []int{200, 404} {
		if got := post(t, url, ""); got.status != want {
			t.Errorf("%+v, want status %d", got, want)
		}
	}
}

func TestMatchInput(t *testing.T) {
	dir := captures(t, asking(user("weather"), assistant, result), asking(user("joke")), asking(user("weather")), "", asking(assistant))
	url, log := serve(t, dir, Settings{Match: MatchInput})
	for _, c := range []struct{ request, want string }{
		{asking(user("weather")), "data: 2\n\n"},
		{asking(user("joke")), "data: 1\n\n"},
		{asking(user("weather"), assistant, result), "data: 0\n\n"},
		{asking(user("joke")), "data: 1\n\n"},
		{asking(user("weather")), "data: 2\n\n"},
		{asking(user("Weather")), "no capture has a request with this last user message\n"},
		{asking(assistant), "the request has no user message\n"},
		{"", "the request is not a run input: it is not JSON at byte 0"},
	} {
		got := post(t, url, c.request)
		status := map[bool]int{true: 200, false: 404}[strings.HasPrefix(c.want, "data")]
		if c.request == "" {
			status = 400
		}
		if got.status != status || !strings.HasPrefix(got.body, c.want) {
			t.Errorf("%s: %+v, want %q", c.request, got, c.want)
		}
	}
	if lines := log(); strings.Count(lines, "capture cannot match") != 2 || strings.Contains(lines, "eather") {
		t.Errorf("log:\n%s", lines)
	}
}

// Every committed capture answers its own request, if the requests come in the order in
// which they were recorded.
func TestMatchInputOfCaptures(t *testing.T) {
	r, err := New(t.Context(), "../../discovery/captures", Settings{Match: MatchInput, Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(r)
	defer server.Close()
	for _, c := range r.all {
		if c.request == nil || !c.request.hasUser {
			continue
		}
		got := post(t, server.URL, string(testkit.Read(t, filepath.Join(c.path, capture.RequestName))))
		if got.status != c.status || got.body != string(testkit.Read(t, c.response)) {
			t.Errorf("%s: status %d and %d bytes", c.path, got.status, len(got.body))
		}
	}
	if r.Len() < 200 {
		t.Errorf("only %d captures", r.Len())
	}
}

// Concurrent requests each get a capture of their own.
func TestMatchOrderConcurrently(t *testing.T) {
	const n = 50
	url, _ := serve(t, captures(t, make([]string, n)...), Settings{})
	bodies := make(chan string)
	for range n + 10 {
		go func() {
			response, err := http.Post(url, "application/json", nil)
			if err != nil {
				bodies <- err.Error()
				return
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			bodies <- fmt.Sprintf("%d %s%v", response.StatusCode, body, err)
		}()
	}
	count := map[string]int{}
	for range n + 10 {
		count[<-bodies]++
	}
	if len(count) != n+1 || count["404 all captures (50) were replayed; start the replay again to begin with the first\n<nil>"] != 10 {
		t.Errorf("the responses are %v", count)
	}
}
