package proxy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/p20export/p20export/capture/proxy"
)

// A play runs a client's script against an upstream's, once on a direct connection and
// once through a proxy. Both sides must see the same in both.
type play struct {
	name string
	// client runs on one connection. upstream runs on every connection that is made
	// to the upstream.
	client, upstream script
	// settings change the settings of the proxy, if set.
	settings func(*proxy.Settings)
	// prepare changes the proxy before it serves, if set.
	prepare func(*front)
	// clientSees and upstreamSees change what is seen on the direct connection into
	// what must be seen through the proxy. They are for what a proxy must change.
	clientSees, upstreamSees func([]*message) []*message
	// anyRequest means that what the upstream sees depends on the time at which the client
	// does something.
	anyRequest bool
	// kept are the captures in the order in which the exchanges began.
	kept []kept
	// keptOf returns them for what the client has seen directly, if set.
	keptOf func(client []*message) []kept
}

// run performs the play directly and through a proxy.
func (p play) run(t *testing.T) {
	t.Run(p.name, func(t *testing.T) {
		t.Parallel()
		clientSees, upstreamSees, _ := perform(t, p, false)
		client, upstream, f := perform(t, p, true)
		if t.Failed() {
			return
		}
		if p.keptOf != nil {
			p.kept = p.keptOf(clientSees)
		}
		if p.clientSees != nil {
			clientSees = p.clientSees(clientSees)
		}
		if p.upstreamSees != nil {
			upstreamSees = p.upstreamSees(upstreamSees)
		}
		compare(t, "client", clientSees, client)
		if !p.anyRequest {
			compare(t, "upstream", upstreamSees, upstream)
		}
		f.check(p.kept, client)
	})
}

// compare compares what one side has seen on the direct connection and through the
// proxy. Of a response of the proxy's own, only the status is expected.
func compare(t *testing.T, who string, direct, proxied []*message) {
	t.Helper()
	for i := range min(len(direct), len(proxied)) {
		want, got := direct[i], proxied[i]
		if want.Header == nil && want.Start == got.Start {
			checkOwn(t, got)
			direct[i] = got
		}
		// RFC 9110 §6.6.1 requires a proxy to add a Date.
		if want.Header["Date"] == nil {
			delete(got.Header, "Date")
		}
	}
	if diff := cmp.Diff(direct, proxied, cmpopts.IgnoreUnexported(message{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the %s sees through the proxy (-direct +proxy):\n%s", who, diff)
	}
}

// checkOwn checks a response that the proxy has made: one line of text with a reason.
func checkOwn(t *testing.T, m *message) {
	t.Helper()
	text := string(m.first)
	if m.Header.Get("Content-Type") != "text/plain; charset=utf-8" || m.End != complete ||
		!strings.HasSuffix(text, "\n") || strings.Count(text, "\n") != 1 || len(text) < 10 || strings.Contains(text, "127.0.0.1") {
		t.Errorf("status %s: %v, %s, %q; want one line with the reason and no address", m.Start, m.Header, m.End, text)
	}
}

// own returns a response of the proxy's own.
func own(status string) []*message { return []*message{{Start: status}} }

// withoutEmpty returns the messages except those of connections without a request,
// which a proxy may keep or close as it likes.
func withoutEmpty(list []*message) []*message {
	return slices.DeleteFunc(list, func(m *message) bool { return m.End == nothing })
}
