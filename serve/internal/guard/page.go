package guard

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/p20export/p20export/internal/hostcheck"
)

// checkPage checks the target, the Host and the Origin of a request, and sets the headers
// that let a page of an allowed origin read the response (WHATWG Fetch §3.3). done reports
// that the request was answered.
func (g *Guard) checkPage(w http.ResponseWriter, r *http.Request) (done bool, no *refusal) {
	switch {
	case strings.ContainsFunc(r.RequestURI, blank):
		return false, &refusal{http.StatusBadRequest, Malformed, "the target has spaces or control characters"}
	case r.ContentLength != 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions):
		return false, &refusal{http.StatusBadRequest, Malformed, "a request with this method has no body"}
	case r.Method == http.MethodConnect || r.URL.IsAbs() || r.URL.Host != "" || !strings.HasPrefix(r.RequestURI, "/"):
		return false, &refusal{http.StatusMisdirectedRequest, Host, "the target of the request is not a path"}
	case !g.serves(r.Host):
		return false, g.hostRefused()
	}
	if name := repeated(r.Header); name != "" {
		return false, &refusal{http.StatusBadRequest, Malformed, fmt.Sprintf("the header %s occurs more than once", name)}
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	listed := origin != "" && slices.Contains(g.settings.AllowedOrigins, origin)
	if listed {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Retry-After, P20export-Upstream, P20export-Superseded, ETag, Stream-Next-Offset, Stream-Up-To-Date, Stream-Cursor, Stream-Closed")
	}
	switch {
	case listed && isPreflight(r):
		return g.preflight(w, r)
	case listed:
	case len(r.Header["Origin"]) > 0 && !sameOrigin(r, origin):
		return false, &refusal{http.StatusForbidden, Origin, "pages of this origin may not send requests"}
	case !sameSite(r.Header.Get("Sec-Fetch-Site")):
		return false, &refusal{http.StatusForbidden, Origin, "a page of another origin caused the request"}
	}
	return false, nil
}

// blank reports whether r is a space or a control character, which HTTP/1.1 does not allow
// in a target.
func blank(r rune) bool { return r <= ' ' || r == 0x7f }

// serves reports whether requests with the given Host are accepted. Without tokens and
// trusted proxies, a name must be allowed, because a page in a browser could make it its own
// for the address of this server, and then read everything.
func (g *Guard) serves(host string) bool {
	s := g.settings
	if s.AllowRemote && len(s.AllowedHosts) == 0 && (g.authenticates() || hostcheck.IsAddress(host)) {
		return true
	}
	return hostcheck.Local(host, s.AllowedHosts)
}

func (g *Guard) hostRefused() *refusal {
	return &refusal{http.StatusMisdirectedRequest, Host, "the Host of the request is not allowed"}
}

// sameOrigin reports whether an origin is that of the server. A proxy in front of the server
// may end TLS, so without TLS both schemes are those of the server.
func sameOrigin(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme+"://"+u.Host != origin || u.Host == "" {
		return false
	}
	switch {
	case u.Scheme == "https":
		return withPort(u.Host, "443") == withPort(r.Host, "443")
	case u.Scheme == "http" && r.TLS == nil:
		return withPort(u.Host, "80") == withPort(r.Host, "80")
	}
	return false
}

// withPort returns a host in lower case with its port, or with the given one.
func withPort(host, port string) string {
	host = strings.ToLower(host)
	if end := strings.LastIndexByte(host, ':'); end > strings.LastIndexByte(host, ']') {
		return host
	}
	return host + ":" + port
}

// sameSite reports whether Sec-Fetch-Site says that no page of another origin caused the
// request. Programs other than browsers do not send it.
func sameSite(site string) bool { return site == "" || site == "same-origin" || site == "none" }

// isPreflight reports whether a browser asks with the request if a page may send a request.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers a preflight request of a page of an allowed origin. The page may send any
// headers but those of a trusted proxy, because agents may need them.
func (g *Guard) preflight(w http.ResponseWriter, r *http.Request) (done bool, no *refusal) {
	requested := r.Header.Values("Access-Control-Request-Headers")
	for name := range strings.SplitSeq(strings.Join(requested, ","), ",") {
		if name = strings.TrimSpace(name); strings.EqualFold(name, TenantHeader) || strings.EqualFold(name, ScopeHeader) {
			return false, &refusal{http.StatusForbidden, Origin, "a page may not name its tenant or scope"}
		}
	}
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
	h.Set("Access-Control-Max-Age", "600")
	if len(requested) > 0 {
		h.Set("Access-Control-Allow-Headers", strings.Join(requested, ", "))
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	w.WriteHeader(http.StatusNoContent)
	return true, nil
}

// trusts reports whether the other end of the connection is a trusted proxy. Headers such as
// X-Forwarded-For do not matter, because everybody can send them.
func (g *Guard) trusts(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	address := peer.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(g.settings.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}
