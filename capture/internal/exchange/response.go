package exchange

import (
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/p20export/p20export/capture"
)

const (
	// ReadBytes is the size of network reads.
	ReadBytes = 64 << 10
	// HeaderBytes limits the headers of a message. The manifest stores some of them.
	HeaderBytes = 64 << 10
)

// EventStream is the media type of server-sent events.
const EventStream = "text/event-stream"

// MediaType returns the media type of a message in lower case and without parameters, or
// "" if it has none.
func MediaType(h http.Header) string {
	value := h.Get("Content-Type")
	if t, _, err := mime.ParseMediaType(value); err == nil {
		return t
	}
	t, _, _ := strings.Cut(value, ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// Framing returns the framing of responses with the given media type, or "" if it is not
// known.
func Framing(mediaType string) capture.Framing {
	switch mediaType {
	case EventStream:
		return capture.SSE
	case "application/json":
		return capture.JSON
	case "application/x-ndjson", "application/ndjson", "application/jsonl":
		return capture.NDJSON
	}
	return ""
}

// Streams reports whether responses with the given media type are streams of events.
func Streams(mediaType string) bool {
	f := Framing(mediaType)
	return f == capture.SSE || f == capture.NDJSON || mediaType == "application/vnd.ag-ui.event+proto"
}

// Source returns the description of the response to a POST request for the manifest. The
// target and the proxy are public URLs; the proxy may be empty.
func Source(kind capture.Kind, target, proxy string, response *http.Response) capture.Source {
	return capture.Source{
		Kind: kind, Method: http.MethodPost, URL: target, Proxy: proxy,
		Status:      &response.StatusCode,
		ContentType: Printable(response.Header.Get("Content-Type")),
		Headers:     keptHeaders(response),
	}
}

// KeptHeaders are the names of the response headers that are stored. They describe the
// response and never contain a secret.
var KeptHeaders = []string{"cache-control", "content-encoding", "server"}

func keptHeaders(response *http.Response) map[string]string {
	kept := map[string]string{}
	for _, name := range KeptHeaders {
		values := response.Header.Values(name)
		if len(values) > 0 && !(name == "cache-control" && mayBeAdded(response)) {
			kept[name] = Printable(strings.Join(values, ", "))
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// mayBeAdded reports whether Cache-Control may not have been sent: with HTTP/1, package
// http adds no-cache to responses that have Pragma: no-cache and no Cache-Control.
func mayBeAdded(response *http.Response) bool {
	pragma, control := response.Header["Pragma"], response.Header["Cache-Control"]
	return response.ProtoMajor == 1 && len(pragma) > 0 && pragma[0] == "no-cache" && len(control) == 1 && control[0] == "no-cache"
}

// Printable returns the value of a header as valid UTF-8, for JSON. RFC 9110 §5.5
// allows other bytes.
func Printable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// PublicURL returns u without user info, query and fragment. It returns "" for nil.
func PublicURL(u *url.URL) string {
	if u == nil {
		return ""
	}
	v := *u
	v.User, v.RawQuery, v.ForceQuery, v.Fragment, v.RawFragment = nil, "", false, "", ""
	return v.String()
}
