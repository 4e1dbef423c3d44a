package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/p20export/p20export/finding"
)

// parseUpstream parses the value of --upstream.
func parseUpstream(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || !isEndpoint(s) || u.Hostname() == "" || !isPort(u.Port()):
		return nil, fmt.Errorf("--upstream %s must be the URL of the agent, such as http://127.0.0.1:8011/", finding.QuoteURL(s))
	case u.User != nil:
		return nil, errors.New("--upstream cannot have a user or a password; the front end sends the credentials, and they are passed through")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("--upstream %s cannot have a query or a fragment; give only the scheme, the host and the path", finding.QuoteURL(s))
	}
	return u, nil
}

// isPort reports whether s, which consists of digits, is empty or the number of a port to
// connect to.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}

// checkLoop returns an error if the upstream is the address that the proxy listens on.
func checkLoop(upstream string, listening net.Addr) error {
	u, err := url.Parse(upstream)
	at, ok := listening.(*net.TCPAddr)
	if err != nil || !ok || u.Port() != strconv.Itoa(at.Port) {
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if ip := net.ParseIP(name); name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && (ip.Equal(at.IP) || at.IP.IsUnspecified() && ip.IsLoopback()) {
		return fmt.Errorf("--upstream %s is the address of --listen; give the address of the agent", finding.QuoteURL(upstream))
	}
	return nil
}
