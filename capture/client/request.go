package client

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/internal/exchange"
	"github.com/p20export/p20export/finding"
)

// newClient returns a client that uses proxy, unless it is nil. The client does not
// follow redirects and does not decode content codings. closeIdle closes its idle
// connections.
func newClient(proxy *url.URL) (client *http.Client, closeIdle func()) {
	transport := &http.Transport{
		Proxy:                  http.ProxyURL(proxy),
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		DisableCompression:     true,
		DialContext:            exchange.Dial,
		MaxIdleConnsPerHost:    -1, // net/http logs data of idle connections
		ReadBufferSize:         exchange.ReadBytes,
		MaxResponseHeaderBytes: exchange.HeaderBytes,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport.CloseIdleConnections
}

// PublicURL returns a URL without user info, query and fragment, as it is stored in
// captures.
func PublicURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return exchange.PublicURL(u)
}

// newRequest returns the request.
func newRequest(ctx context.Context, s Settings) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(s.Body))
	if err != nil {
		return nil, err
	}
	h := request.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	h.Set("User-Agent", "p20export/"+s.Tool.Version)
	for name, values := range s.Header {
		h[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	// net/http ignores a Host header and uses the field Host.
	if host := h.Get("Host"); host != "" {
		request.Host = host
		h.Del("Host")
	}
	h.Set("Accept-Encoding", "identity")
	return request, nil
}

// framing returns the framing to store for a response: the configured framing or, if
// there is none, that of the media type.
func framing(configured capture.Framing, response *http.Response) capture.Framing {
	if configured != "" {
		return configured
	}
	if f := exchange.Framing(exchange.MediaType(response.Header)); f != "" {
		return f
	}
	return capture.SSE
}

// checkHead checks the status and the media type of a response. It returns a finding,
// which quotes the first bytes of the body, or nil.
func checkHead(configured capture.Framing, response *http.Response, body []byte) *finding.Finding {
	var f finding.Finding
	switch t := exchange.MediaType(response.Header); {
	case response.StatusCode != http.StatusOK:
		f = finding.New(finding.HTTPStatus, "the endpoint answered with status %03d%s", response.StatusCode, quoted(body))
		if to := location(response); to != "" {
			f = f.WithHint("redirects are not followed; it points to %s", to)
		}
	case configured == "" && t == "":
		f = finding.New(finding.HTTPContentType, "the endpoint answered without a content type%s", quoted(body))
	case configured == "" && t != exchange.EventStream:
		f = finding.New(finding.HTTPContentType, "the endpoint answered with content type %s%s", finding.Quote(t), quoted(body))
	default:
		return nil
	}
	return &f
}

func quoted(body []byte) string {
	if len(body) == 0 {
		return " and no body"
	}
	return " and " + finding.Quote(string(body))
}

// location returns the public URL of a redirect's target, or "" if there is none.
func location(response *http.Response) string {
	to := response.Header.Get("Location")
	u, err := url.Parse(to)
	if to == "" || err != nil || response.StatusCode < 300 || response.StatusCode > 399 {
		return ""
	}
	return finding.Escape(exchange.PublicURL(response.Request.URL.ResolveReference(u)))
}
