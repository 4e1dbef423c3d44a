package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store/memory"
)

// A gate is a body whose last byte comes when the test lets it.
type gate struct {
	io.ReadCloser
	left        int           // bytes
	held        chan struct{} // closed when only the last byte is missing
	open, whole chan struct{} // closed to let it pass, and at the end
	end         sync.Once
}

func (g *gate) Read(p []byte) (int, error) {
	if g.left == 1 {
		close(g.held)
		<-g.open
	} else if g.left > 1 {
		p = p[:min(len(p), g.left-1)]
	}
	n, err := g.ReadCloser.Read(p)
	if g.left -= n; err == io.EOF {
		g.end.Do(func() { close(g.whole) })
	}
	return n, err
}

// fits reports whether a body fits into the memory of bodies.
func fits(t *testing.T, p *process, bytes int) bool {
	t.Helper()
	for {
		response, err := http.Post(p.url+"/agents/a", "application/json", strings.NewReader(strings.Repeat(" ", bytes)))
		if err != nil {
			continue // the server closes the connection of a request that it refuses before it was sent
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		full := strings.Contains(string(text), `"code":"overloaded"`)
		if err != nil || !full && !strings.Contains(string(text), `"code":"invalid_input"`) {
			t.Fatalf("%v: %s", err, text)
		}
		return !full
	}
}

// A client that attaches to a run whose agent has not answered yet gives the memory of its body
// back: only the client that started the run needs it.
func TestBodyOfAttached(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	a := newAgent(t)
	p := start(t, memory.New(), a, serve.Settings{Guard: serve.GuardSettings{MaxRequestBytes: most, BodyBytes: 3*most - 1}})
	g := &gate{left: most, held: make(chan struct{}), open: make(chan struct{}), whole: make(chan struct{})}
	gated := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.ReadCloser, r.Body = r.Body, g
		p.server.ServeHTTP(w, r)
	}))
	t.Cleanup(gated.Close)
	second := *p
	second.url = gated.URL
	body := input("t", "r")
	body = body[:len(body)-1] + strings.Repeat(" ", most-len(body)) + "}"
	answers := make(chan *answer)
	go func() { answers <- p.post("/agents/a", body) }()
	c := a.next()
	go func() { answers <- second.post("/agents/a", body) }()
	<-g.held
	// A third body only fits if one of the two was given back.
	if fits(t, p, most) {
		t.Error("three bodies fit")
	}
	until := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(patience); !fits(t, p, n); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("a third body of %d bytes does not fit", n)
			}
		}
	}
	until(1) // the server has given back what it had read of the third
	close(g.open)
	<-g.whole
	until(most)
	c.accept()
	c.send(started("t", "r"), finished("t", "r"))
	c.end()
	for range 2 {
		same(t, (<-answers).events(2), []string{"2 " + started("t", "r"), "3 " + finished("t", "r")})
	}
	same(t, len(a.calls), 0)
}
