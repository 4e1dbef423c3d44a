package replay

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// AnyOrigin permits the pages of every origin.
const AnyOrigin = "*"

// ParseOrigin parses the origin of a page: AnyOrigin, or a scheme, a host and, unless it is
// the default of the scheme, a port. It returns the form that browsers send.
func ParseOrigin(s string) (string, error) {
	if s == AnyOrigin {
		return s, nil
	}
	u, err := url.Parse(strings.ToLower(s))
	if err != nil || u.Scheme == "" || u.Hostname() == "" || u.Scheme+"://"+u.Host != strings.ToLower(s) {
		return "", errors.New("an origin is a scheme, a host and a port without a path, such as http://localhost:5173, or * for all")
	}
	switch {
	case u.Scheme == "http":
		u.Host = strings.TrimSuffix(u.Host, ":80")
	case u.Scheme == "https":
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	return u.Scheme + "://" + u.Host, nil
}

// allowOrigin sets the headers of a response that let the page that sent the request read
// it (WHATWG Fetch §3.3), if the origin of the page is allowed. It reports whether it is.
func (r *Replay) allowOrigin(h http.Header, request *http.Request) bool {
	list := r.settings.AllowedOrigins
	if len(list) == 0 {
		return false
	}
	allowed := AnyOrigin
	if !slices.Contains(list, AnyOrigin) {
		h.Add("Vary", "Origin")
		if allowed = request.Header.Get("Origin"); !slices.Contains(list, allowed) {
			return false
		}
	}
	h.Set("Access-Control-Allow-Origin", allowed)
	h.Set("Access-Control-Expose-Headers", AlteredHeader)
	return true
}

// isPreflight reports whether a browser asks with the request if a page of another origin
// may send a request.
func isPreflight(request *http.Request) bool {
	return request.Method == http.MethodOptions && request.Header.Get("Origin") != "" &&
		request.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers a preflight request. A page may send POST requests with any headers,
// because none of them matters here.
func (r *Replay) preflight(w http.ResponseWriter, request *http.Request, allowed bool) {
	if !allowed {
		r.refuse(w, http.StatusForbidden, "the page in the browser has another origin, which is not allowed")
		return
	}
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", http.MethodPost)
	if headers := request.Header.Values("Access-Control-Request-Headers"); len(headers) > 0 {
		h.Set("Access-Control-Allow-Headers", strings.Join(headers, ", "))
	}
	w.WriteHeader(http.StatusNoContent)
}
