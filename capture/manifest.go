package capture

import (
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/digest"
)

// The names of files in a capture directory. Framing.FileName returns the name of
// the response file.
const (
	ManifestName = "capture.json"
	RequestName  = "request.json"
	ArrivalsName = "arrivals.tsv"
)

// ManifestSchema is the value of the manifest's schema key.
const ManifestSchema = "p20export.capture.v1"

// Manifest is the content of capture.json. It describes what was captured, when, and
// how the response ended. It means that the capture was closed, not that the run
// succeeded.
type Manifest struct {
	Schema    string    `json:"schema"`
	Source    Source    `json:"source"`
	Framing   Framing   `json:"framing"`
	StartedAt time.Time `json:"started_at"`
	// FirstByteAt is zero if no byte arrived or arrivals were not recorded.
	FirstByteAt time.Time         `json:"first_byte_at,omitzero"`
	EndedAt     time.Time         `json:"ended_at"`
	End         End               `json:"end"`
	Files       Files             `json:"files"`
	Labels      map[string]string `json:"labels,omitempty"`
	Tool        Tool              `json:"tool"`
}

// Source describes where the bytes came from. For a file, only Kind is set.
type Source struct {
	Kind   Kind   `json:"kind"`
	Method string `json:"method,omitzero"`
	// URL has no user info, query or fragment.
	URL string `json:"url,omitzero"`
	// Proxy is the URL of the proxy that the request was sent through, without
	// user info, query and fragment.
	Proxy string `json:"proxy,omitzero"`
	// Status is the three-digit HTTP status, from 000 to 999. It need not be defined
	// by RFC 9110 §15. Status is nil if there was no HTTP response.
	Status      *int   `json:"status,omitzero"`
	ContentType string `json:"content_type,omitzero"`
	// Headers are response headers with lower-case names. Request headers are
	// never stored.
	Headers map[string]string `json:"headers,omitempty"`
}

// Kind is the kind of a source.
type Kind string

// The kinds of source.
const (
	KindHTTP  Kind = "http"
	KindProxy Kind = "proxy"
	KindFile  Kind = "file"
)

// End is the reason why the response ended.
type End string

// The reasons.
const (
	EndEOF       End = "eof"       // the response is complete
	EndCancelled End = "cancelled" // the capture was cancelled
	EndError     End = "error"     // the response broke off
	EndLimit     End = "limit"     // a time or size limit of the capture was reached
	EndStorage   End = "storage"   // storing failed before the response had ended
)

// Files lists the other files of the capture, in the order of the manifest. It has
// exactly one response file, that of the manifest's framing.
type Files struct {
	SSE      *File `json:"response.sse,omitzero"`
	NDJSON   *File `json:"response.ndjson,omitzero"`
	JSON     *File `json:"response.json,omitzero"`
	Opaque   *File `json:"response.opaque,omitzero"`
	Request  *File `json:"request.json,omitzero"`
	Arrivals *File `json:"arrivals.tsv,omitzero"`
}

// File is the size in bytes and the digest of a file.
type File struct {
	Bytes  int64         `json:"bytes"`
	Digest digest.Digest `json:"digest"`
}

// Tool is the program that wrote the capture.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Response returns the entry of the response file, or nil if there is none.
func (m *Manifest) Response() *File { return *m.Files.response(m.Framing) }

// allLabels returns the labels. It returns nil only if there is no manifest.
func (m *Manifest) allLabels() map[string]string {
	switch {
	case m == nil:
		return nil
	case m.Labels == nil:
		return map[string]string{}
	}
	return m.Labels
}

// Encode returns the content of capture.json: JSON with two-space indent, keys in
// the order of the fields, sorted map keys, and one line feed at the end. Equal
// manifests have equal bytes. Encode fails if DecodeManifest would reject the
// manifest.
func (m *Manifest) Encode() ([]byte, error) {
	if p := m.check(); p != nil {
		return nil, fmt.Errorf("manifest: %s: %s", p.at, p.message)
	}
	b, err := json.Marshal(m, json.Deterministic(true), json.WithMarshalers(marshalTime()), jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if len(b) >= MaxManifestBytes {
		return nil, fmt.Errorf("manifest: longer than %d bytes", MaxManifestBytes)
	}
	return append(b, '\n'), nil
}

// timeLayout is RFC 3339 in UTC with microseconds.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Package json uses the results of marshalTime and unmarshalTime as cache keys, so
// there is only one of each.
var marshalTime = sync.OnceValue(func() *json.Marshalers {
	return json.MarshalToFunc(func(e *jsontext.Encoder, t time.Time) error {
		return e.WriteToken(jsontext.String(t.UTC().Format(timeLayout)))
	})
})

var unmarshalTime = sync.OnceValue(func() *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(d *jsontext.Decoder, t *time.Time) error {
		var s string
		if err := json.UnmarshalDecode(d, &s); err != nil {
			return err
		}
		parsed, err := time.Parse(timeLayout, s)
		if err != nil || parsed.Format(timeLayout) != s {
			return fmt.Errorf("a time does not have the format %s", timeLayout)
		}
		*t = parsed
		return nil
	})
})

// response returns a pointer to the response entry of a framing.
func (f *Files) response(framing Framing) **File {
	switch framing {
	case NDJSON:
		return &f.NDJSON
	case JSON:
		return &f.JSON
	case Opaque:
		return &f.Opaque
	}
	return &f.SSE
}

// problem is a violation of a rule by a manifest.
type problem struct {
	at      string // JSON Pointer
	message string
}

// check returns the first violation, or nil.
func (m *Manifest) check() *problem {
	responses := 0
	for _, f := range []*File{m.Files.SSE, m.Files.NDJSON, m.Files.JSON, m.Files.Opaque} {
		if f != nil {
			responses++
		}
	}
	switch {
	case m.Schema != ManifestSchema:
		return &problem{"/schema", "the schema is not " + ManifestSchema}
	case !slices.Contains([]Kind{KindHTTP, KindProxy, KindFile}, m.Source.Kind):
		return &problem{"/source/kind", "the kind is not http, proxy or file"}
	case m.Source.Status != nil && (*m.Source.Status < 0 || *m.Source.Status > 999):
		return &problem{"/source/status", "the status is not from 0 to 999"}
	case !bareURL(m.Source.URL):
		return &problem{"/source/url", "the URL cannot be read, or has user info, a query or a fragment"}
	case !bareURL(m.Source.Proxy):
		return &problem{"/source/proxy", "the URL of the proxy cannot be read, or has user info, a query or a fragment"}
	case !slices.Contains(framings(), m.Framing):
		return &problem{"/framing", "the framing is not sse, ndjson, json or opaque"}
	case !slices.Contains([]End{EndEOF, EndCancelled, EndError, EndLimit, EndStorage}, m.End):
		return &problem{"/end", "the end is not eof, cancelled, error, limit or storage"}
	case responses != 1 || m.Response() == nil:
		return &problem{"/files", "the manifest must list exactly one response, " + m.Framing.FileName()}
	case m.Tool.Name == "" || m.Tool.Version == "":
		return &problem{"/tool", "the tool has no name or no version"}
	}
	if p := m.checkTimes(); p != nil {
		return p
	}
	return m.Files.check()
}

// checkTimes checks that started_at <= first_byte_at <= ended_at, and that all years
// have four digits.
func (m *Manifest) checkTimes() *problem {
	before := m.StartedAt
	for _, t := range []struct {
		at       string
		time     time.Time
		optional bool
	}{
		{"/started_at", m.StartedAt, false},
		{"/first_byte_at", m.FirstByteAt, true},
		{"/ended_at", m.EndedAt, false},
	} {
		switch y := t.time.UTC().Year(); {
		case t.time.IsZero() && t.optional:
			continue
		case t.time.IsZero():
			return &problem{t.at, "the time is missing"}
		case y < 1 || y > 9999:
			return &problem{t.at, "the year does not have four digits"}
		case t.time.Before(before):
			return &problem{t.at, "the time is before the preceding one"}
		}
		before = t.time
	}
	return nil
}

// check returns the first violation in the entries, or nil.
func (f *Files) check() *problem {
	for _, e := range f.entries() {
		at := "/files/" + e.name
		if e.file.Bytes < 0 {
			return &problem{at + "/bytes", "the size is negative"}
		}
		if _, err := digest.Parse(string(e.file.Digest)); err != nil {
			return &problem{at + "/digest", "the digest is not sha256: and 64 lower-case hex digits"}
		}
	}
	return nil
}

// entry is an entry of Files with its file name.
type entry struct {
	name string
	file *File
}

// entries returns the entries that are set, in the order of the manifest.
func (f *Files) entries() []entry {
	return slices.DeleteFunc([]entry{
		{SSE.FileName(), f.SSE},
		{NDJSON.FileName(), f.NDJSON},
		{JSON.FileName(), f.JSON},
		{Opaque.FileName(), f.Opaque},
		{RequestName, f.Request},
		{ArrivalsName, f.Arrivals},
	}, func(e entry) bool { return e.file == nil })
}

// Names returns the names of the listed files, in the order of the manifest.
func (f *Files) Names() (names []string) {
	for _, e := range f.entries() {
		names = append(names, e.name)
	}
	return names
}

// bareURL reports whether s is empty or a URL without user info, query and
// fragment.
func bareURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && u.RawFragment == ""
}
