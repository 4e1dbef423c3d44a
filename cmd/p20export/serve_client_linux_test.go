package main

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// startServe starts p20export serve with the agent chat and returns its URL.
func startServe(t *testing.T, log, upstream string, args ...string) (*server, string) {
	t.Helper()
	return startServer(t, append([]string{"serve", "--store", log, "--upstream", "chat=" + upstream}, args...)...)
}

// frames reads the frames of a response of serve.
type frames struct {
	*bufio.Reader
	response *http.Response
}

// sendRun sends the request of a run and returns the response.
func sendRun(url, run string) (*http.Response, error) {
	return http.Post(url+"/agents/chat", "application/json", strings.NewReader(`{"threadId":"t","runId":"`+run+`"}`))
}

// startRun is like sendRun, but returns the frames of the response.
func startRun(t *testing.T, url, run string) frames {
	t.Helper()
	response, err := sendRun(url, run)
	if err != nil {
		t.Fatal(err)
	}
	return newFrames(t, response)
}

// readThread reads the events of the thread after a position.
func readThread(t *testing.T, url, after string) frames {
	t.Helper()
	response, err := http.Get(url + "/threads/t/events?after=" + after)
	if err != nil {
		t.Fatal(err)
	}
	return newFrames(t, response)
}

func newFrames(t *testing.T, response *http.Response) frames {
	t.Cleanup(func() { response.Body.Close() })
	return frames{bufio.NewReader(response.Body), response}
}

// next returns the next frame as "ID DATA", without the check of the id, or "" at the end.
func (f frames) next(t *testing.T) string {
	t.Helper()
	var id, data string
	for {
		line, err := f.ReadString('\n')
		switch line = strings.TrimSuffix(line, "\n"); {
		case err != nil:
			return ""
		case line == "" && data != "":
			return id + " " + data
		case strings.HasPrefix(line, "id: "):
			id, _, _ = strings.Cut(line[len("id: "):], "-")
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		}
	}
}

// want reads frames and compares them.
func (f frames) want(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := f.next(t); got != w {
			t.Fatalf("got the frame %q, want %q", got, w)
		}
	}
}

// wantLater reads frames after the position 2 and compares them. It joins again as long as the
// server ends the response, which it does when its log fails.
func (f frames) wantLater(t *testing.T, url string, want ...string) {
	t.Helper()
	after := "2"
	for len(want) > 0 {
		got := f.next(t)
		if got == "" {
			f = readThread(t, url, after)
			continue
		}
		if got != want[0] {
			t.Fatalf("got the frame %q, want %q", got, want[0])
		}
		after, _, _ = strings.Cut(got, " ")
		want = want[1:]
	}
	f.response.Body.Close()
}

// closings returns the closing entries and the ends of the thread.
func closings(t *testing.T, file string) (list []string) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for e, err := range log.Read(t.Context(), store.Key{Thread: "t"}, 0) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Kind == store.Closing:
			_, code, _ := strings.Cut(string(e.Data), `"code":"`)
			code, _, _ = strings.Cut(code, `"`)
			list = append(list, code)
		case e.Kind == store.End:
			list = append(list, string(e.Data))
		}
	}
	return list
}

// wantClosings compares the closing entries and the ends of the thread.
func wantClosings(t *testing.T, file string, want ...string) {
	t.Helper()
	if got := closings(t, file); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the thread has %q, want %q", got, want)
	}
}
