package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// serveStream sends the first event, waits until the client has read it, and then until
// the connection is closed.
func serveStream(u *side) {
	u.whole()
	u.send(stream)
	u.chunk(event1)
	u.wait("read")
	u.gone()
}

const head = "POST /agent HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"

// Whether a client breaks off, stalls or does something unusual, the upstream sees the same
// through the proxy.
func TestNetworkClient(t *testing.T) {
	for _, p := range []play{
		{
			name: "leaves within the response",
			client: func(c *side) {
				readFirst(c)
			},
			upstream: serveStream,
			kept:     []kept{{end: capture.EndCancelled}},
		},
		{
			name: "resets within the response",
			client: func(c *side) {
				readFirst(c)
				c.reset()
			},
			upstream: serveStream,
			kept:     []kept{{end: capture.EndCancelled}},
		},
		{
			name: "leaves before the response",
			client: func(c *side) {
				c.send(post)
				c.wait("asked")
			},
			upstream: func(u *side) {
				u.whole()
				u.open("asked")
				u.gone()
			},
		},
		{
			name: "leaves within the request",
			client: func(c *side) {
				c.send(head, "Content-Length: 28\r\n\r\n", input[:10])
				c.wait("asked")
			},
			upstream: func(u *side) {
				u.head()
				u.expect(input[:10])
				u.open("asked")
				u.rest()
			},
		},
		{
			name: "leaves within a request in chunks",
			client: func(c *side) {
				c.send(head, "Transfer-Encoding: chunked\r\n\r\n")
				c.chunk(input[:10])
				c.wait("asked")
			},
			upstream: func(u *side) {
				u.head()
				u.expect(input[:10])
				u.open("asked")
				u.rest()
			},
		},
		{
			name: "sends the request in pieces",
			client: func(c *side) {
				for _, b := range []byte(strings.ReplaceAll(head, "{host}", c.host) + "Content-Length: 28\r\n\r\n") {
					c.send(string(b))
				}
				c.send(input[:10])
				c.wait("10")
				c.send(input[10:])
				c.whole()
			},
			upstream: func(u *side) {
				u.head()
				u.expect(input[:10])
				u.open("10")
				u.rest()
				u.send(ok, "Content-Length: 0\r\n\r\n")
			},
			kept: []kept{{end: capture.EndEOF}},
		},
		{
			name: "sends the request in chunks and reads meanwhile",
			client: func(c *side) {
				c.send(head, "Transfer-Encoding: chunked\r\n\r\n")
				c.chunk(input[:10])
				c.head()
				c.expect(event1)
				c.chunk(input[10:20])
				c.expect(event2)
				c.chunk(input[20:])
				c.chunk("")
				c.rest()
			},
			upstream: func(u *side) {
				u.head()
				u.expect(input[:10])
				u.send(stream)
				u.chunk(event1)
				u.expect(input[10:20])
				u.chunk(event2)
				u.rest()
				u.chunk("")
			},
			kept: []kept{{end: capture.EndEOF}},
		},
		{
			name: "does not read for a while",
			client: func(c *side) {
				c.send(post)
				c.wait("filled")
				c.whole()
			},
			upstream: func(u *side) {
				u.whole()
				u.send(ok, "\r\n")
				// How much fits into the buffers depends on the machine, so the rest
				// makes the bodies equal.
				const most = 64 << 20
				line := strings.Repeat("x", 1023) + "\n"
				written := u.fill(line, most)
				u.open("filled")
				io.Copy(u.Conn, io.LimitReader(&repeated{line: line, at: written % len(line)}, int64(most-written)))
			},
			kept: []kept{{end: capture.EndEOF}},
		},
		{
			name: "sends requests without waiting for responses",
			client: func(c *side) {
				for i := range 3 {
					c.send("POST /", fmt.Sprint(i), " HTTP/1.1\r\nHost: {host}\r\nContent-Length: 28\r\n\r\n", input)
				}
				for range 3 {
					c.whole()
				}
			},
			upstream: answer(ok, fmt.Sprintf("Content-Length: %d\r\n\r\n", len(event1)), event1),
			kept:     []kept{{end: capture.EndEOF}, {end: capture.EndEOF}, {end: capture.EndEOF}},
		},
		{
			name: "sends requests one after another",
			client: func(c *side) {
				for i := range 3 {
					c.send("POST /", fmt.Sprint(i), " HTTP/1.1\r\nHost: {host}\r\nContent-Length: 28\r\n\r\n", input)
					c.whole()
				}
			},
			upstream: answer(ok, fmt.Sprintf("Content-Length: %d\r\n\r\n", len(event1)), event1),
			kept:     []kept{{end: capture.EndEOF}, {end: capture.EndEOF}, {end: capture.EndEOF}},
		},
		{
			// To net/http, and to the servers of most agents, this client has left.
			name:       "closes its direction",
			anyRequest: true,
			client: func(c *side) {
				c.send(post)
				c.closeWrite()
				c.whole()
			},
			upstream: func(u *side) {
				asked := u.whole()
				if u.proxied {
					if asked {
						u.gone()
					}
					return
				}
				u.send(stream)
				u.chunk(event1)
				u.chunk("")
			},
			clientSees: func([]*message) []*message {
				return []*message{{End: nothing, Header: http.Header{}, Digest: digest.Of(nil)}}
			},
		},
		{
			name:     "speaks HTTP/1.0",
			client:   ask("POST / HTTP/1.0\r\nHost: {host}\r\nContent-Length: 28\r\n\r\n" + input),
			upstream: answerOnce("HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", event1),
			kept:     []kept{{end: capture.EndEOF}},
		},
		{
			name: "waits for 100",
			client: func(c *side) {
				c.send(head, "Expect: 100-continue\r\nContent-Length: 28\r\n\r\n")
				c.next()
				c.send(input)
				c.whole()
			},
			upstream: func(u *side) {
				u.head()
				u.send("HTTP/1.1 100 Continue\r\n\r\n")
				u.rest()
				u.send(ok, "Content-Length: 0\r\n\r\n")
			},
			kept: []kept{{end: capture.EndEOF}},
		},
		{
			name: "waits for 100 and is refused",
			client: func(c *side) {
				c.send(head, "Expect: 100-continue\r\nContent-Length: 28\r\n\r\n")
				c.whole()
			},
			upstream: func(u *side) {
				u.head()
				u.send("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nno\n")
			},
			kept: []kept{{end: capture.EndEOF, framing: capture.Opaque, unreadable: finding.FramingOpaque, noRequest: true}},
		},
	} {
		p.run(t)
	}
}

// Traffic goes on when a limit of the capture is reached, unless storing must not fail.
func TestNetworkLimits(t *testing.T) {
	both := func(u *side) {
		u.whole()
		u.send(stream)
		u.chunk(event1)
		u.wait("read")
		u.chunk(event2)
		u.chunk("")
	}
	for _, p := range []play{
		{
			name:     "size",
			client:   readFirstAndRest,
			upstream: both,
			settings: func(s *proxy.Settings) { s.MaxBytes = int64(len(event1) + 10) },
			kept:     []kept{{end: capture.EndLimit, partial: true, size: len(event1) + 10}},
		},
		{
			name:     "same size",
			client:   readFirstAndRest,
			upstream: both,
			settings: func(s *proxy.Settings) { s.MaxBytes = int64(len(event1 + event2)) },
			kept:     []kept{{end: capture.EndEOF}},
		},
		{
			name:     "queue",
			client:   readFirstAndRest,
			upstream: both,
			settings: func(s *proxy.Settings) { s.QueueBytes = int64(len(input) + 1) },
			kept:     []kept{{end: capture.EndStorage, partial: true}},
		},
		{
			name:     "queue of the request",
			client:   readFirstAndRest,
			upstream: both,
			settings: func(s *proxy.Settings) { s.QueueBytes = int64(len(input) - 1) },
			kept:     []kept{{end: capture.EndStorage, partial: true, noRequest: true}},
		},
		{
			name: "queue that must suffice",
			client: func(c *side) {
				if c.proxied {
					c.send(post)
					c.whole()
				} else {
					readFirstAndRest(c)
				}
			},
			upstream: func(u *side) {
				if !u.proxied {
					both(u)
					return
				}
				u.whole()
				u.send(stream)
				u.chunk(event1)
				u.gone()
			},
			settings: func(s *proxy.Settings) { s.QueueBytes, s.FailOnStore = int64(len(input)+1), true },
			clientSees: func(list []*message) []*message {
				list[0].Bytes, list[0].Digest, list[0].End = 0, digest.Of(nil), broken
				return list
			},
			kept: []kept{{end: capture.EndStorage, partial: true}},
		},
	} {
		p.run(t)
	}
}

// repeated is an endless line.
type repeated struct {
	line string
	at   int
}

func (r *repeated) Read(p []byte) (n int, _ error) {
	for n < len(p) {
		c := copy(p[n:], r.line[r.at:])
		n += c
		r.at = (r.at + c) % len(r.line)
	}
	return n, nil
}
