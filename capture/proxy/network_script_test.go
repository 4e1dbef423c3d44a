package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/p20export/p20export/digest"
)

// A script is what one side of a TCP connection does, written as bytes so that it can
// also do what net/http does not.
type script func(*side)

// A stage holds what the sides of one performance share.
type stage struct {
	t       *testing.T
	ctx     context.Context // done when a side has failed
	fail    context.CancelFunc
	acting  sync.WaitGroup
	proxied bool
	front   *front // the proxy, if there is one

	mu    sync.Mutex
	gates map[string]chan struct{}
	sides []*side
	over  bool // no more requests will come
}

// A side is one end of a connection. If a step is not possible, the test fails and the
// script ends.
type side struct {
	*stage
	net.Conn
	client  bool
	host    string // the address that the client connects to, or that of the upstream
	idle    bool   // waits for a request
	buffer  *bufio.Reader
	asked   []string // methods of the client's requests that have no response yet
	message *message // the last one that was read
	interim bool     // it is an interim response
	body    io.Reader
	trailer func() http.Header
	hash    hash.Hash
	seen    *[]*message
}

// A message is a request or response as a side has seen it.
type message struct {
	Start   string // method and target, or status
	Header  http.Header
	Bytes   int64
	Digest  digest.Digest
	Trailer http.Header
	End     string

	first []byte // the first bytes of the body
}

// The ends of a message.
const (
	complete = "complete"
	broken   = "broken"  // the connection ended within the message
	nothing  = "nothing" // the connection ended before the message
	open     = "open"    // the script has not read the message to its end
)

// perform runs both scripts and returns what the sides have seen. If proxied is set, a
// proxy is between them, which perform returns.
func perform(t *testing.T, p play, proxied bool) (client, upstream []*message, f *front) {
	ctx, fail := context.WithCancel(t.Context())
	defer fail()
	s := &stage{t: t, ctx: ctx, fail: fail, proxied: proxied, gates: make(map[string]chan struct{})}
	stop := context.AfterFunc(ctx, s.hangUp)
	defer stop()
	listener := listen(t)
	address := listener.Addr().String()
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.enter(conn, &side{host: address, seen: &upstream}, p.upstream)
		}
	})
	entrance := address
	if proxied {
		f = prepare(t, address, p.settings)
		if p.prepare != nil {
			p.prepare(f)
		}
		f.serve()
		s.front, entrance = f, f.address
	}
	conn, err := net.Dial("tcp", entrance)
	if err != nil {
		t.Fatal(err)
	}
	<-s.enter(conn, &side{client: true, host: entrance, seen: &client}, p.client)
	if proxied {
		f.stop()
		s.finish()
	}
	listener.Close()
	accepting.Wait()
	s.acting.Wait()
	return client, withoutEmpty(upstream), f
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// enter runs a script on a connection, and closes the connection at its end. It returns
// a channel that is then closed.
func (s *stage) enter(conn net.Conn, as *side, do script) <-chan struct{} {
	as.stage, as.Conn, as.buffer = s, conn, bufio.NewReader(conn)
	s.mu.Lock()
	s.sides = append(s.sides, as)
	s.mu.Unlock()
	if s.ctx.Err() != nil {
		conn.Close()
	}
	done := make(chan struct{})
	s.acting.Go(func() {
		defer close(done)
		defer conn.Close()
		do(as)
	})
	return done
}

func (s *stage) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, side := range s.sides {
		side.Conn.Close()
	}
}

// finish closes the upstream's connections that wait for another request.
func (s *stage) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, side := range s.sides {
		if side.idle {
			side.Conn.Close()
		}
	}
}

// setIdle says whether the side waits for a request, and reports whether one can come.
func (s *side) setIdle(idle bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = idle
	return !s.over
}

func (s *stage) gate(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[name] == nil {
		s.gates[name] = make(chan struct{})
	}
	return s.gates[name]
}

// open opens a gate, which must happen once.
func (s *stage) open(gate string) { close(s.gate(gate)) }

// once opens a gate unless it is open, and reports whether it was not.
func (s *stage) once(gate string) bool {
	g := s.gate(gate)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-g:
		return false
	default:
		close(g)
		return true
	}
}

// wait waits until a gate is open.
func (s *side) wait(gate string) {
	select {
	case <-s.gate(gate):
	case <-s.ctx.Done():
		s.failf("waits for %q", gate)
	}
}

// failf fails the test, closes every connection and ends the script.
func (s *side) failf(format string, args ...any) {
	who := "upstream"
	if s.client {
		who = "client"
	}
	s.fail()
	s.t.Errorf("%s: %s", who, fmt.Sprintf(format, args...))
	s.Conn.Close()
	// The script must not go on. Its deferred calls run.
	s.t.FailNow()
}

// send writes texts. In them {host} is the address of the other side.
func (s *side) send(texts ...string) {
	text := strings.ReplaceAll(strings.Join(texts, ""), "{host}", s.host)
	if s.client {
		if method, _, ok := strings.Cut(text, " "); ok && strings.Contains(text, " HTTP/") {
			s.asked = append(s.asked, method)
		}
	}
	if _, err := io.WriteString(s.Conn, text); err != nil {
		s.failf("send: %v", err)
	}
}

// chunk sends a chunk of a chunked body, the last one if it is empty.
func (s *side) chunk(text string) {
	s.send(strconv.FormatInt(int64(len(text)), 16), "\r\n", text, "\r\n")
}

// head reads the head of the next message, after those of interim responses. It reports
// whether there is one.
func (s *side) head() bool {
	for s.next() {
		if !s.interim {
			return true
		}
	}
	return false
}

// next reads the head of the next message, which may be that of an interim response.
func (s *side) next() bool {
	s.message = &message{End: open, Header: http.Header{}, Digest: digest.Of(nil)}
	s.hash = digest.Hash()
	s.mu.Lock()
	*s.seen = append(*s.seen, s.message)
	s.mu.Unlock()
	var err error
	if s.client {
		err = s.responseHead()
	} else {
		err = s.requestHead()
	}
	if err != nil {
		s.body, s.message.End = nil, broken
		if errors.Is(err, io.EOF) {
			s.message.End = nothing
		}
	}
	return err == nil
}

func (s *side) responseHead() error {
	method := "POST"
	if len(s.asked) > 0 {
		method = s.asked[0]
	}
	if _, err := s.buffer.Peek(1); err != nil {
		return io.EOF
	}
	r, err := http.ReadResponse(s.buffer, &http.Request{Method: method})
	if err != nil {
		return err
	}
	s.message.Start = fmt.Sprintf("%03d", r.StatusCode)
	s.message.Header = endToEnd(r.Header)
	s.body, s.trailer = r.Body, func() http.Header { return r.Trailer }
	s.interim = r.StatusCode/100 == 1 && r.StatusCode != 101
	if s.interim {
		s.message.End = complete
	} else if len(s.asked) > 0 {
		s.asked = s.asked[1:]
	}
	return nil
}

func (s *side) requestHead() error {
	if !s.setIdle(true) {
		return io.EOF
	}
	_, err := s.buffer.Peek(1)
	s.setIdle(false)
	if err != nil {
		return io.EOF // also if the connection was reset
	}
	r, err := http.ReadRequest(s.buffer)
	if err != nil {
		return err
	}
	s.message.Start = r.Method + " " + r.RequestURI
	s.message.Header = endToEnd(r.Header)
	s.message.Header["Host"] = []string{r.Host}
	if r.Host == s.host {
		s.message.Header["Host"] = []string{"the upstream"}
	}
	s.body, s.trailer = r.Body, func() http.Header { return r.Trailer }
	return nil
}

// endToEnd returns the fields that a proxy must not change (RFC 9110 §7.6.1).
func endToEnd(h http.Header) http.Header {
	h = maps.Clone(h)
	for _, field := range h["Connection"] {
		for name := range strings.SplitSeq(field, ",") {
			delete(h, http.CanonicalHeaderKey(strings.TrimSpace(name)))
		}
	}
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade"} {
		delete(h, name)
	}
	return h
}

// read reads n bytes of the body and returns them.
func (s *side) read(n int) string {
	b := make([]byte, n)
	got, err := io.ReadFull(s.body, b)
	s.hash.Write(b[:got])
	s.message.Write(b[:got])
	s.message.Bytes += int64(got)
	s.message.Digest = digest.Sum(s.hash)
	if err != nil {
		s.failf("the body has only %d of %d bytes: %v", got, n, err)
	}
	return string(b)
}

// Write keeps the first bytes of a body.
func (m *message) Write(p []byte) (int, error) {
	m.first = append(m.first, p[:min(len(p), 1024-len(m.first))]...)
	return len(p), nil
}

// expect reads a part of the body.
func (s *side) expect(part string) {
	if got := s.read(len(part)); got != part {
		s.failf("the body has %.80q in place of %.80q", got, part)
	}
}

// rest reads the rest of the body.
func (s *side) rest() {
	if s.body == nil {
		return
	}
	n, err := io.Copy(io.MultiWriter(s.hash, s.message), s.body)
	s.message.Bytes += n
	s.message.Digest = digest.Sum(s.hash)
	s.message.End = complete
	if err != nil {
		s.message.End = broken
	}
	s.message.Trailer = s.trailer()
}

// whole reads a message and reports whether there was one.
func (s *side) whole() bool {
	found := s.head()
	s.rest()
	return found
}

// gone waits until the other side has closed or reset the connection.
func (s *side) gone() {
	if n, _ := io.Copy(io.Discard, s.buffer); n > 0 {
		s.failf("%d bytes came in place of the end of the connection", n)
	}
	if s.ctx.Err() != nil {
		s.failf("the connection was closed by the test")
	}
}

// reset closes the connection with a reset.
func (s *side) reset() {
	s.Conn.(*net.TCPConn).SetLinger(0)
	s.Conn.Close()
}

// closeWrite closes the direction to the other side.
func (s *side) closeWrite() { s.Conn.(*net.TCPConn).CloseWrite() }

// fill writes until the other side does not read, and returns the number of bytes
// written. If it stops early because the machine is slow, the test is weaker but valid.
func (s *side) fill(text string, most int) (written int) {
	for written < most {
		s.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
		n, err := io.WriteString(s.Conn, text)
		written += n
		if err != nil {
			s.SetWriteDeadline(time.Time{})
			return written
		}
	}
	s.failf("the other side does not read, but %d bytes could be written", written)
	return written
}
