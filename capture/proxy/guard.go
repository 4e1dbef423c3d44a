package proxy

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/p20export/p20export/internal/hostcheck"
)

// refusal is a response of the proxy itself.
type refusal struct {
	status int
	reason string
}

// check returns a refusal if the request must not be passed on.
func (p *Proxy) check(r *http.Request) *refusal {
	s := p.settings
	switch {
	case strings.ContainsFunc(r.RequestURI, blank) || strings.Trim(r.Method, tokenBytes) != "" || r.ProtoMajor > 1 && !oneLength(r.Header):
		return &refusal{http.StatusBadRequest, "the request cannot be passed on as HTTP/1.1"}
	case r.Method == http.MethodConnect:
		return &refusal{http.StatusMethodNotAllowed, "CONNECT is not allowed"}
	case r.URL.IsAbs() || r.URL.Host != "" || !strings.HasPrefix(r.RequestURI, "/"):
		return &refusal{http.StatusMisdirectedRequest, "the target of the request is not a path"}
	case !p.serves(r.Host):
		return &refusal{http.StatusMisdirectedRequest, "the Host of the request is not allowed"}
	case upgrades(r.Header):
		return &refusal{http.StatusNotImplemented, "upgrades are not supported"}
	case strings.Trim(s.Upstream.Path, "/") != "" && leaves(r.URL):
		return &refusal{http.StatusBadRequest, "the path has dot segments"}
	case r.ContentLength > s.MaxRequestBytes:
		return &refusal{http.StatusRequestEntityTooLarge, "the request body is too large"}
	}
	return nil
}

// tokenBytes are the bytes of a token (RFC 9110 §5.6.2), such as a method.
const tokenBytes = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// blank reports whether r is a space or a control character. In HTTP/1.1, it would end the
// target of a request; in HTTP/2, net/http allows spaces there.
func blank(r rune) bool { return r <= ' ' || r == 0x7f }

// oneLength reports whether a request has at most one length. In HTTP/2, net/http takes the
// first, and 0 for one that is malformed.
func oneLength(h http.Header) bool {
	lengths := h["Content-Length"]
	for _, length := range lengths {
		if _, err := strconv.ParseUint(length, 10, 63); err != nil || length != lengths[0] {
			return false
		}
	}
	return true
}

// serves reports whether requests with the given Host are accepted.
func (p *Proxy) serves(host string) bool {
	s := p.settings
	return s.AllowRemote && len(s.AllowedHosts) == 0 || hostcheck.Local(host, s.AllowedHosts)
}

// CheckHost returns a handler for another address of the program, such as that of metrics.
// It refuses the hosts that p refuses. If other machines may connect, it also accepts
// addresses, which monitoring often uses; a page in a browser cannot make them its own.
func (p *Proxy) CheckHost(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.serves(r.Host) && !(p.settings.AllowRemote && hostcheck.IsAddress(r.Host)) {
			p.refuse(w, r, refusal{http.StatusMisdirectedRequest, "the Host of the request is not allowed"})
			return
		}
		h.ServeHTTP(w, r)
	})
}

// upgrades reports whether the client asks for another protocol. It may ask for HTTP/2
// without TLS, as some clients always do; the request is then served as HTTP/1.1 (RFC 9110
// §7.8).
func upgrades(h http.Header) bool {
	for _, value := range h.Values("Upgrade") {
		for protocol := range strings.SplitSeq(value, ",") {
			if p := strings.TrimSpace(protocol); p != "" && !strings.EqualFold(p, "h2c") {
				return true
			}
		}
	}
	return false
}

// leaves reports whether a path has dot segments, so that it could leave the path of the
// upstream.
func leaves(u *url.URL) bool {
	for segment := range strings.FieldsFuncSeq(u.Path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// refuse answers a request with the reason why it is not passed on.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, no refusal) {
	p.settings.Log.Info("request refused", "status", no.status, "reason", no.reason)
	p.settings.Observer.Refused(no.status)
	no.write(w, r)
}

// write writes the response.
func (no refusal) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	clear(h)
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	if no.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close") // the request may have a body, which is not read
	}
	w.WriteHeader(no.status)
	io.WriteString(w, no.reason+"\n")
}
