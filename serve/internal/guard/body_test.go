package guard

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// timed is a response writer whose read deadlines are kept.
type timed struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (w *timed) SetReadDeadline(at time.Time) error {
	w.deadlines = append(w.deadlines, at)
	return nil
}

// post serves a request with a body.
func post(g *Guard, length int64, body io.Reader) *timed {
	r := httptest.NewRequest("POST", "/agents/a", body)
	r.Host, r.ContentLength = "localhost", length
	r.Header.Set("Content-Type", "application/json")
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	g.Wrap(shown(g)).ServeHTTP(w, r)
	return w
}

func TestBodies(t *testing.T) {
	t.Parallel()
	const most = 100_000
	g := open(t, Settings{MaxRequestBytes: most, BodyBytes: 2 * most})
	full := strings.Repeat("x", most)
	for _, test := range []struct {
		name   string
		length int64
		body   io.Reader
		want   int
	}{
		{"empty", 0, strings.NewReader(""), 200},
		{"the limit", most, strings.NewReader(full), 200},
		{"the limit in chunks", -1, strings.NewReader(full), 200},
		{"single bytes", -1, iotest.OneByteReader(strings.NewReader(full)), 200},
		{"announced too large", most + 1, strings.NewReader(""), 413},
		{"announced immense", 1 << 62, strings.NewReader(""), 413},
		{"too large in chunks", -1, strings.NewReader(full + "x"), 413},
		{"endless", -1, iotest.OneByteReader(endless{}), 413},
		{"cut", -1, io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)), 400},
		{"too slow", -1, io.MultiReader(strings.NewReader("{"), iotest.TimeoutReader(strings.NewReader("xx"))), 400},
	} {
		w := post(g, test.length, test.body)
		if w.Code != test.want {
			t.Errorf("%s: status %d, want %d", test.name, w.Code, test.want)
		}
		if w.Code == 200 && !w.deadlines[len(w.deadlines)-1].IsZero() {
			t.Errorf("%s: a deadline remains", test.name)
		}
		if n := reserved(g); n != 0 {
			t.Errorf("%s: %d bytes remain reserved", test.name, n)
		}
	}
	w := post(g, -1, strings.NewReader(full))
	if first, last := w.deadlines[1], w.deadlines[len(w.deadlines)-2]; last.Sub(first) != (most/readBytes*readBytes)*time.Second/bodyRate {
		t.Errorf("the deadline moved by %s", last.Sub(first))
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A client that sends nothing is not waited for.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	g := open(t, Settings{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Wrap(shown(g)).ServeHTTP(late{w}, r)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /agents/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, response.Body)
	if _, err := r.ReadByte(); response.StatusCode != 408 || err != io.EOF {
		t.Errorf("%s, then %v", response.Status, err)
	}
}

// late is a response writer whose deadlines come at once.
type late struct{ http.ResponseWriter }

func (w late) SetReadDeadline(at time.Time) error {
	if !at.IsZero() {
		at = time.Unix(1, 0)
	}
	return http.NewResponseController(w.ResponseWriter).SetReadDeadline(at)
}

// The memory of bodies is limited for all requests together, and is given back when a
// request ends, or later.
func TestManyBodies(t *testing.T) {
	t.Parallel()
	const most = readBytes
	g := open(t, Settings{MaxRequestBytes: most, BodyBytes: 3 * most})
	held, release := make(chan struct{}), make(chan struct{})
	var keep func()
	kept := 0
	h := g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := g.ReadBody(w, r); !ok {
			return
		}
		if kept++; kept == 1 {
			keep = KeepBody(r.Context())
		}
		held <- struct{}{}
		<-release
	}))
	send := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/agents/a", strings.NewReader(strings.Repeat("x", most-1)))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		h.ServeHTTP(w, r)
		return w.ResponseRecorder
	}
	done := make(chan struct{})
	for range 3 {
		go func() { send(); done <- struct{}{} }()
		<-held
	}
	if w := send(); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, %v", w.Code, w.Header())
	}
	close(release)
	for range 3 {
		<-done
	}
	for _, want := range []int64{most - 1, 0, 0} { // of the body that is kept
		if n := reserved(g); n != want {
			t.Errorf("%d bytes remain reserved, want %d", n, want)
		}
		keep()
	}
}

// Readers are counted, in total and of each tenant.
func TestReaders(t *testing.T) {
	t.Parallel()
	g := open(t, Settings{MaxReaders: 3, MaxTenantReaders: 2})
	as := func(tenant string) context.Context {
		return context.WithValue(t.Context(), admissionKey{}, &admission{guard: g, tenant: tenant})
	}
	var got []string
	enter := func(tenant string) func() {
		leave, ok := g.Reader(as(tenant))
		got = append(got, fmt.Sprint(tenant, ok))
		return leave
	}
	leave := enter("a")
	enter("a")
	enter("a") // too many of this tenant
	enter("b")
	enter("c") // too many
	leave()
	leave() // counts once
	enter("c")
	enter("a")
	if text := fmt.Sprint(got); text != "[atrue atrue afalse btrue cfalse ctrue afalse]" {
		t.Error(text)
	}
}

// By default, a tenant can have all readers, or half of them if there are several tenants.
func TestTenantReaders(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		settings Settings
		want     int
	}{
		{Settings{}, DefaultMaxReaders},
		{Settings{MaxReaders: 7}, 7},
		{Settings{TokenFile: "tokens"}, DefaultMaxReaders / 2},
		{Settings{TokenFile: "tokens", MaxReaders: 1}, 1},
		{Settings{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, MaxReaders: 100}, 50},
		{Settings{TokenFile: "tokens", MaxReaders: 100, MaxTenantReaders: 90}, 90},
	} {
		test.settings.normalize()
		if got := test.settings.MaxTenantReaders; got != test.want {
			t.Errorf("%+v: %d, want %d", test.settings, got, test.want)
		}
	}
}

// reserved returns the memory of bodies that counts.
func reserved(g *Guard) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if sum := int64(0); len(g.bodies) > 0 {
		for _, n := range g.bodies {
			sum += n
		}
		if sum != g.bodyBytes {
			return -1
		}
	} else if g.bodyBytes != 0 {
		return -1
	}
	return g.bodyBytes
}
