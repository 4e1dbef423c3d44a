package proxy_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
)

// A response that ends after any of its bytes ends in the same way for a client of the
// proxy. The capture says how.
func TestNetworkCutResponses(t *testing.T) {
	const stream = "Content-Type: text/event-stream\r\n"
	for name, response := range map[string]string{
		"chunks": "HTTP/1.1 103 x\r\nA: 1\r\n\r\nHTTP/1.1 200 OK\r\n" + stream + "Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\ndata:\r\n4;x\r\n a\n\n\r\n0\r\nX: 1\r\n\r\n",
		"length": "HTTP/1.1 500 x\r\n" + stream + "Content-Length: 9\r\n\r\ndata: a\n\n",
		"close":  "HTTP/1.0 200 OK\r\n" + stream + "\r\ndata: a\n\n",
	} {
		for n := range len(response) + 1 {
			play{
				name:     fmt.Sprintf("%s after %d bytes", name, n),
				client:   ask(post),
				upstream: answerOnce(response[:n]),
				clientSees: func(list []*message) []*message {
					if last := len(list) - 1; list[last].Start == "" {
						list[last] = own("502")[0]
					}
					return list
				},
				keptOf: func(list []*message) []kept {
					switch last := list[len(list)-1]; {
					case last.Start == "":
						return nil
					case last.End == complete:
						return []kept{{end: capture.EndEOF}}
					}
					return []kept{{end: capture.EndError}}
				},
			}.run(t)
		}
	}
}

// A request that ends after any of its bytes is never complete for the upstream.
func TestNetworkCutRequests(t *testing.T) {
	for name, request := range map[string]string{
		"chunks": "POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\n{\"a\":\r\n4;x\r\n1234\r\n1\r\n}\r\n0\r\nX: 1\r\n\r\n",
		"length": "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 10\r\n\r\n{\"a\":1234}",
	} {
		for n := range len(request) {
			t.Run(fmt.Sprintf("%s after %d bytes", name, n), func(t *testing.T) {
				_, upstream, f := perform(t, play{
					client:   func(c *side) { c.send(request[:n]) },
					upstream: func(u *side) { u.whole() },
				}, true)
				for _, m := range upstream {
					if m.End == complete {
						t.Errorf("the upstream received %+v", m)
					}
				}
				if diff := cmp.Diff([]string(nil), names(f)); diff != "" {
					t.Errorf("captures: %s", diff)
				}
			})
		}
	}
}

// names returns the names of the captures.
func names(f *front) (list []string) {
	for _, x := range f.ended {
		if x.Name != "" {
			list = append(list, x.Name)
		}
	}
	return list
}
