package transport

import (
	"strings"

	"github.com/p20export/p20export/finding"
)

// CORS is what a server answered to a request and to a preflight request of a page of an
// origin (the Fetch standard, section 3.2).
type CORS struct {
	Origin string
	// Allowed are the values of Access-Control-Allow-Origin in the response.
	Allowed []string
	// Preflight is the answer to the preflight request, or nil if there was none.
	Preflight *Preflight
}

// Preflight is the answer to an OPTIONS request that asks for POST with Content-Type.
type Preflight struct {
	Status  int
	Allowed []string
	// Headers are the values of Access-Control-Allow-Headers.
	Headers []string
	// Failed says why there is no answer, or is empty.
	Failed string
}

// check checks N10.
func (c *CORS) check() (list []finding.Finding) {
	if why := c.refuses(c.Allowed); why != "" {
		list = append(list, finding.Violation("N10", "the response %s", why))
	}
	p := c.Preflight
	switch {
	case p == nil:
	case p.Failed != "":
		list = append(list, finding.Violation("N10", "the preflight request (OPTIONS) failed: %s", p.Failed))
	case p.Status < 200 || p.Status > 299:
		list = append(list, finding.Violation("N10", "the answer to the preflight request (OPTIONS) has the status %03d", p.Status))
	case c.refuses(p.Allowed) != "":
		list = append(list, finding.Violation("N10", "the answer to the preflight request (OPTIONS) %s", c.refuses(p.Allowed)))
	case !lists(p.Headers, "content-type"):
		list = append(list, finding.Violation("N10", "the answer to the preflight request (OPTIONS) does not allow the header Content-Type: Access-Control-Allow-Headers lacks it"))
	}
	return list
}

// refuses says why a browser does not give a response with the allowed origins to a page,
// or returns "".
func (c *CORS) refuses(allowed []string) string {
	switch {
	case len(allowed) == 0:
		return "has no Access-Control-Allow-Origin, so a browser refuses it to pages of " + finding.Quote(c.Origin)
	case len(allowed) > 1:
		return "has several headers Access-Control-Allow-Origin, which a browser refuses"
	case allowed[0] != "*" && allowed[0] != c.Origin:
		return "has Access-Control-Allow-Origin: " + finding.Quote(allowed[0]) + ", so a browser refuses it to pages of " + finding.Quote(c.Origin)
	}
	return ""
}

// lists reports whether a header that is a list has a name or is *.
func lists(values []string, name string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if part = strings.TrimSpace(part); part == "*" || strings.EqualFold(part, name) {
				return true
			}
		}
	}
	return false
}
