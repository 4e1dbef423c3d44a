// Package hostcheck decides whether the Host header of a request names this machine. A
// server on a loopback address must refuse other hosts: a page in a browser can give its own
// name the address 127.0.0.1 and then send requests to the server.
package hostcheck

import (
	"net/netip"
	"slices"
	"strings"
)

// Local reports whether host, the Host header of a request, is a loopback name or address,
// or one of the allowed names. The port does not matter.
func Local(host string, allowed []string) bool {
	name, ok := hostName(host)
	if !ok {
		return false
	}
	if address, err := netip.ParseAddr(name); err == nil && address.Unmap().IsLoopback() {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(a, name) })
}

// IsAddress reports whether a host is an IP address, with or without a port. A page in a
// browser cannot make an address its own.
func IsAddress(host string) bool {
	_, err := netip.ParseAddrPort(host)
	if err != nil {
		_, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	}
	return err == nil
}

// hostName returns a host in lower case, without its port, the brackets of an IPv6 address
// and a dot at the end, and whether it is well-formed.
func hostName(host string) (name string, ok bool) {
	// The colons of an address are in brackets.
	if end := strings.LastIndexByte(host, ':'); end > strings.LastIndexByte(host, ']') {
		if strings.Trim(host[end+1:], "0123456789") != "" {
			return "", false
		}
		host = host[:end]
	}
	if address, bracketed := strings.CutPrefix(host, "["); bracketed {
		address, ok = strings.CutSuffix(address, "]")
		return address, ok && strings.Contains(address, ":")
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), !strings.ContainsAny(host, ":]")
}
