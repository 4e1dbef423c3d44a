package client

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
)

const (
	// readBytes is the size of network reads.
	readBytes = 64 << 10
	// headerBytes limits the response headers. The manifest stores some of them.
	headerBytes = 64 << 10
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
		DialContext:            dialGated,
		MaxIdleConnsPerHost:    -1, // net/http logs data of idle connections
		ReadBufferSize:         readBytes,
		MaxResponseHeaderBytes: headerBytes,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport.CloseIdleConnections
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

// source returns the description of a response for the manifest.
func source(target, proxy string, response *http.Response) capture.Source {
	return capture.Source{
		Kind: capture.KindHTTP, Method: http.MethodPost, URL: target, Proxy: proxy,
		Status:      &response.StatusCode,
		ContentType: printable(response.Header.Get("Content-Type")),
		Headers:     keptHeaders(response.Header),
	}
}

// keptNames are the names of the response headers that are stored. They describe the
// response and never contain a secret.
var keptNames = []string{"cache-control", "content-encoding", "server"}

func keptHeaders(h http.Header) map[string]string {
	kept := map[string]string{}
	for _, name := range keptNames {
		if values := h.Values(name); len(values) > 0 {
			kept[name] = printable(strings.Join(values, ", "))
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// printable returns the value of a header as valid UTF-8, for JSON. RFC 9110 §5.5
// allows other bytes.
func printable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

const eventStream = "text/event-stream"

// mediaType returns the media type of a response in lower case and without
// parameters, or "" if it has none.
func mediaType(response *http.Response) string {
	value := response.Header.Get("Content-Type")
	if t, _, err := mime.ParseMediaType(value); err == nil {
		return t
	}
	t, _, _ := strings.Cut(value, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// framing returns the framing to store for a response: the configured framing or, if
// there is none, that of the media type.
func framing(configured capture.Framing, response *http.Response) capture.Framing {
	if configured != "" {
		return configured
	}
	switch mediaType(response) {
	case "application/json":
		return capture.JSON
	case "application/x-ndjson", "application/ndjson", "application/jsonl":
		return capture.NDJSON
	}
	return capture.SSE
}

// checkHead checks the status and the media type of a response. It returns a finding,
// which quotes the first bytes of the body, or nil.
func checkHead(configured capture.Framing, response *http.Response, body []byte) *finding.Finding {
	var f finding.Finding
	switch t := mediaType(response); {
	case response.StatusCode != http.StatusOK:
		f = finding.New(finding.HTTPStatus, "the endpoint answered with status %03d%s", response.StatusCode, quoted(body))
		if to := location(response); to != "" {
			f = f.WithHint("redirects are not followed; it points to %s", to)
		}
	case configured == "" && t == "":
		f = finding.New(finding.HTTPContentType, "the endpoint answered without a content type%s", quoted(body))
	case configured == "" && t != eventStream:
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
	return finding.Escape(publicURL(response.Request.URL.ResolveReference(u)))
}
