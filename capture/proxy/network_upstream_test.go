package proxy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
)

// The parts of messages that many scripts send.
const (
	input  = `{"threadId":"t","runId":"r"}`
	post   = "POST /agent?k=v HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 28\r\n\r\n" + input
	ok     = "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/event-stream\r\n"
	stream = ok + "Transfer-Encoding: chunked\r\n\r\n"
	event1 = "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"
	event2 = "data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"
)

// ask sends a request and reads the response.
func ask(request string) script {
	return func(c *side) {
		c.send(request)
		c.whole()
	}
}

// answer reads requests and sends the same response to each.
func answer(response ...string) script {
	return func(u *side) {
		for u.whole() {
			u.send(response...)
		}
	}
}

// answerOnce reads a request, sends a response and closes the connection.
func answerOnce(response ...string) script {
	return func(u *side) {
		if u.whole() {
			u.send(response...)
		}
	}
}

// readFirst sends a request, reads the first event and opens the gate "read".
func readFirst(c *side) {
	c.send(post)
	c.head()
	c.expect(event1)
	c.open("read")
}

// Whether an upstream breaks off, stalls or does something unusual, the client sees the same
// through the proxy. If there is no response to pass on, it sees status 502.
func TestNetworkUpstream(t *testing.T) {
	for _, p := range []play{
		{
			name:     "ends as it should",
			client:   ask(post),
			upstream: answer(ok, fmt.Sprintf("Content-Length: %d\r\n\r\n", len(event1+event2)), event1+event2),
			kept:     []kept{{end: capture.EndEOF}},
		},
		{
			name: "resets within an event",
			client: func(c *side) {
				c.send(post)
				c.head()
				c.expect(event1 + "data: {")
				c.open("read")
				c.rest()
			},
			upstream: func(u *side) {
				u.whole()
				u.send(stream)
				u.chunk(event1 + "data: {")
				u.wait("read")
				u.reset()
			},
			kept: []kept{{end: capture.EndError}},
		},
		{
			name:     "closes within a chunk",
			client:   ask(post),
			upstream: answerOnce(stream, "ffff\r\n", event1, "data"),
			kept:     []kept{{end: capture.EndError}},
		},
		{
			name:   "closes without a last chunk",
			client: ask(post),
			upstream: func(u *side) {
				u.whole()
				u.send(stream)
				u.chunk(event1)
			},
			kept: []kept{{end: capture.EndError}},
		},
		{
			name:     "closes within the size of a chunk",
			client:   ask(post),
			upstream: answerOnce(stream, "5\r\n\n\n\n\n\n\r\n1"),
			kept:     []kept{{end: capture.EndError}},
		},
		{
			name:     "sends a chunk that is longer than its size",
			client:   ask(post),
			upstream: answerOnce(stream, "5\r\n12345678\r\n0\r\n\r\n"),
			kept:     []kept{{end: capture.EndError}},
		},
		{
			name:     "sends an invalid size of a chunk",
			client:   ask(post),
			upstream: answerOnce(stream, "5\r\n12345\r\n-1\r\n\r\n"),
			kept:     []kept{{end: capture.EndError}},
		},
		{
			name:     "announces more than it sends",
			client:   ask(post),
			upstream: answerOnce(ok, "Content-Length: 1000\r\n\r\n", event1),
			kept:     []kept{{end: capture.EndError}},
		},
		{
			name:     "announces and sends nothing",
			client:   ask(post),
			upstream: answer(ok, "Content-Length: 0\r\n\r\n"),
			kept:     []kept{{end: capture.EndEOF}},
		},
		{
			name:     "delimits by closing",
			client:   ask(post),
			upstream: answerOnce("HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", event1, event2),
			kept:     []kept{{end: capture.EndEOF}},
		},
		{
			name:   "delimits by closing and resets",
			client: readFirstAndRest,
			upstream: func(u *side) {
				u.whole()
				u.send(ok, "\r\n", event1)
				u.wait("read")
				u.reset()
			},
			kept: []kept{{end: capture.EndError}},
		},
		{
			name: "stalls and goes on",
			client: func(c *side) {
				readFirst(c)
				c.expect(event2)
				c.open("read 2")
				c.rest()
			},
			upstream: func(u *side) {
				u.whole()
				u.send(stream)
				u.chunk(event1)
				u.wait("read")
				u.chunk(event2)
				u.wait("read 2")
				u.chunk("")
			},
			kept: []kept{{end: capture.EndEOF}},
		},
		{
			name: "sends the head and waits",
			client: func(c *side) {
				c.send(post)
				c.head()
				c.open("head")
				c.rest()
			},
			upstream: func(u *side) {
				u.whole()
				u.send(stream)
				u.wait("head")
				u.chunk(event1)
				u.chunk("")
			},
			kept: []kept{{end: capture.EndEOF}},
		},
		{
			name: "sends the head with a length and waits",
			client: func(c *side) {
				c.send(post)
				c.head()
				c.open("head")
				c.rest()
			},
			upstream: func(u *side) {
				u.whole()
				u.send(ok, "Content-Length: ", fmt.Sprint(len(event1)), "\r\n\r\n")
				u.wait("head")
				u.send(event1)
			},
			kept: []kept{{end: capture.EndEOF}},
		},
		{
			name: "answers before the request is complete",
			client: func(c *side) {
				c.send(head, "Content-Length: 28\r\n\r\n", input[:10])
				c.whole()
			},
			upstream: func(u *side) {
				u.head()
				u.expect(input[:10])
				u.send(ok, "Connection: close\r\n\r\n", event1)
			},
			kept: []kept{{end: capture.EndEOF, request: input[:10]}},
		},
		{
			name:     "sends many interim responses",
			client:   ask(post),
			upstream: answerOnce(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 100), stream, "0\r\n\r\n"),
			kept:     []kept{{end: capture.EndEOF}},
		},
		{
			name: "sends byte by byte",
			client: func(c *side) {
				c.send(post)
				c.head()
				for i, b := range []byte(event1) {
					c.expect(string(b))
					c.open(fmt.Sprint(i))
				}
				c.rest()
			},
			upstream: func(u *side) {
				u.whole()
				for _, b := range []byte(stream) {
					u.send(string(b))
				}
				for i, b := range []byte(event1) {
					for _, b := range []byte("1\r\n" + string(b) + "\r\n") {
						u.send(string(b))
					}
					u.wait(fmt.Sprint(i))
				}
				u.chunk("")
			},
			kept: []kept{{end: capture.EndEOF}},
		},
		{
			name:   "stops sending until the client leaves",
			client: readFirst,
			upstream: func(u *side) {
				u.whole()
				u.send(stream)
				u.chunk(event1)
				u.gone()
			},
			kept: []kept{{end: capture.EndCancelled}},
		},
		{
			name:   "closes its direction and waits",
			client: ask(post),
			upstream: func(u *side) {
				u.whole()
				u.send(ok, "Connection: close\r\n\r\n", event1)
				u.closeWrite()
				u.gone()
			},
			kept: []kept{{end: capture.EndEOF}},
		},
		{
			name:       "sends garbage",
			client:     ask(post),
			upstream:   answerOnce("SSH-2.0-OpenSSH_9.2\r\n\x00\xff\r\n"),
			clientSees: badGateway,
		},
		{
			name:       "closes without a response",
			client:     ask(post),
			upstream:   answerOnce(),
			clientSees: badGateway,
		},
		{
			name:       "closes without a response to a request that can be repeated",
			client:     ask("POST / HTTP/1.1\r\nHost: {host}\r\nIdempotency-Key: x\r\nContent-Length: 0\r\n\r\n"),
			upstream:   answerOnce(),
			clientSees: badGateway,
		},
		{
			name: "does not answer in time",
			client: func(c *side) {
				c.send(post)
				if c.proxied {
					c.whole()
				} else {
					c.wait("asked")
				}
			},
			upstream:   func(u *side) { u.whole(); u.once("asked"); u.gone() },
			settings:   func(s *proxy.Settings) { s.Timeout = 3 * time.Second },
			clientSees: func([]*message) []*message { return own("504") },
		},
		{
			name: "resets without a response",
			client: func(c *side) {
				c.send(post)
				c.whole()
			},
			upstream: func(u *side) {
				u.whole()
				u.reset()
			},
			clientSees: badGateway,
		},
		{
			name:       "closes within the head",
			client:     ask(post),
			upstream:   answerOnce(ok),
			clientSees: badGateway,
		},
		{
			name:       "sends two lengths",
			client:     ask(post),
			upstream:   answerOnce(ok, "Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456"),
			clientSees: badGateway,
		},
		{
			name:     "sends a length and chunks",
			client:   ask(post),
			upstream: answerOnce(ok, "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n"),
			kept:     []kept{{end: capture.EndEOF}},
		},
		{
			name:       "sends a coding of transfer that is not chunked",
			client:     ask(post),
			upstream:   answerOnce(ok, "Transfer-Encoding: gzip, chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n"),
			clientSees: badGateway,
		},
		{
			// The rest must not become the response to another request.
			name: "sends more than it announces",
			client: func(c *side) {
				c.send(post)
				c.whole()
				if c.proxied {
					c.wait("closed")
				}
				c.send(post)
				c.whole()
			},
			upstream: func(u *side) {
				u.whole()
				u.send(ok, "Content-Length: 5\r\n\r\n12345", "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled")
				if u.once("first") && u.proxied {
					u.gone()
					u.open("closed")
					return
				}
				u.whole()
			},
			clientSees: func(list []*message) []*message { return []*message{list[0], list[0]} },
			kept:       []kept{{end: capture.EndEOF}, {end: capture.EndEOF}},
		},
	} {
		p.run(t)
	}
}

func readFirstAndRest(c *side) { readFirst(c); c.rest() }

// badGateway is the response to a client when that of the upstream cannot be passed on.
func badGateway([]*message) []*message { return own("502") }
