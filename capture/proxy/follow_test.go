package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
)

// follower is a Follower that keeps what it receives.
type follower struct {
	name, request string
	events        []string // data and time
	arrived       chan string
	ended         bool
}

func (f *follower) Event(data []byte, at time.Time) {
	f.events = append(f.events, fmt.Sprint(string(data), at))
	f.arrived <- string(data)
}
func (f *follower) Wake() {}
func (f *follower) End()  { f.ended = true }

// followed starts a proxy and returns it with the channel of its followers.
func followed(t *testing.T, upstream string) (*fixture, chan *follower) {
	followers := make(chan *follower, 10)
	return start(t, upstream, func(s *Settings) {
		s.Follow = func(name string, s capture.Settings) Follower {
			f := &follower{name: name, request: string(s.Request), arrived: make(chan string, 1000)}
			followers <- f
			return f
		}
	}), followers
}

// events returns the events of a capture with their times.
func events(t *testing.T, dir string) (list []string) {
	t.Helper()
	c, err := capture.Open(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for {
		frame, err := c.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(string(frame.Data), frame.Arrived))
	}
}

// A follower receives each event while the response is open. At the end it has exactly what
// the capture has.
func TestFollow(t *testing.T) {
	t.Parallel()
	parts := make(chan string)
	p, followers := followed(t, stream(t, parts))
	response, err := http.Post(p.front.URL, "application/json", strings.NewReader(`{"threadId":"t"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	f := <-followers
	if f.request != `{"threadId":"t"}` {
		t.Errorf("the request is %q", f.request)
	}
	for _, part := range []struct {
		sent string
		want []string
	}{
		{"data: a\n\ndata: b", []string{"a"}},
		{"c\ndata: d\n", nil},
		{"\n: comment\n\ndata:\n\ndata: \xff\r\n\r\n", []string{"bc\nd", "", "\xff"}},
		{"data: " + strings.Repeat("x", 100_000) + "\n\n", []string{strings.Repeat("x", 100_000)}},
		{"data: incomplete", nil},
	} {
		parts <- part.sent
		receive(t, response.Body, len(part.sent))
		for _, want := range part.want {
			if got := <-f.arrived; got != want {
				t.Errorf("%.20q arrived, want %.20q", got, want)
			}
		}
	}
	close(parts)
	x := <-p.ended
	if !f.ended || f.name != x.Name {
		t.Errorf("ended %t, %s, want %s", f.ended, f.name, x.Name)
	}
	if diff := cmp.Diff(events(t, filepath.Join(p.captures, x.Name)), f.events); diff != "" || x.Events != 5 {
		t.Errorf("%d events\n%s", x.Events, diff)
	}
}

// What cannot be followed is recorded without a follower: responses without events, with a
// content coding, and with an event that the end of the response completes.
func TestNotFollowed(t *testing.T) {
	t.Parallel()
	upstream := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/coded":
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "br")
		case "/opaque":
			w.Header().Set("Content-Type", "application/vnd.ag-ui.event+proto")
		case "/lines":
			w.Header().Set("Content-Type", "application/x-ndjson")
			io.WriteString(w, "1\n2\n")
		}
		io.WriteString(w, "3")
	})
	p, followers := followed(t, upstream)
	for _, path := range []string{"/coded", "/opaque"} {
		p.post(t, path, "{}")
		if x := <-p.ended; !x.Stored || len(followers) != 0 {
			t.Errorf("%s: %+v, %d followers", path, x, len(followers))
		}
	}
	p.post(t, "/lines", "{}")
	x, f := <-p.ended, <-followers
	if all := events(t, filepath.Join(p.captures, x.Name)); x.Events != 3 || !cmp.Equal(all[:2], f.events) || !f.ended {
		t.Errorf("%d events, %q, followed %q", x.Events, all, f.events)
	}
}

// A follower never has an event that could not be written, and its end comes before that of
// the exchange.
func TestFollowBrokenStore(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, at := range []string{"create", "write", "close"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			p, followers := followed(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, twoEvents)
			}))
			g := newGate(at, broken)
			close(g.open)
			g.install(p)
			p.post(t, "/", "{}")
			x := <-p.ended
			want := map[string]string{"create": "none", "write": "true []", "close": "true [a b]"}[at]
			got := "none"
			if len(followers) > 0 {
				f := <-followers
				close(f.arrived)
				data := []string{}
				for event := range f.arrived {
					data = append(data, event)
				}
				got = fmt.Sprint(f.ended, data)
			}
			if got != want {
				t.Errorf("followed: %s, want %s: %+v", got, want, x)
			}
		})
	}
}
