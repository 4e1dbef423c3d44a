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

// The names of the files in a capture directory; a response file is named by
// Framing.FileName.
const (
	ManifestName = "capture.json"
	RequestName  = "request.json"
	ArrivalsName = "arrivals.tsv"
)

// ManifestSchema is the value of a manifest's schema key.
const ManifestSchema = "p20export.capture.v1"

// Manifest is capture.json: what was captured, when, and how it ended. It means
// that the capture was closed, not that the run succeeded.
type Manifest struct {
	Schema    string    `json:"schema"`
	Source    Source    `json:"source"`
	Framing   Framing   `json:"framing"`
	StartedAt time.Time `json:"started_at"`
	// FirstByteAt is zero when no byte arrived or arrivals were not noted.
	FirstByteAt time.Time         `json:"first_byte_at,omitzero"`
	EndedAt     time.Time         `json:"ended_at"`
	End         End               `json:"end"`
	Files       Files             `json:"files"`
	Labels      map[string]string `json:"labels,omitempty"`
	Tool        Tool              `json:"tool"`
}

// Source says where the bytes came from. Everything but Kind is empty for a file.
type Source struct {
	Kind   Kind   `json:"kind"`
	Method string `json:"method,omitzero"`
	// URL has no user info, query or fragment.
	URL string `json:"url,omitzero"`
	// Proxy is the URL of the proxy that the request was sent through, without
	// user info, query and fragment.
	Proxy string `json:"proxy,omitzero"`
	// Status is of three digits, 000 included, whether or not RFC 9110 §15 knows
	// it. It is nil when there was no HTTP response.
	Status      *int   `json:"status,omitzero"`
	ContentType string `json:"content_type,omitzero"`
	// Headers are response headers with lower-case names. Request headers are
	// never stored.
	Headers map[string]string `json:"headers,omitempty"`
}

// Kind is the way the bytes came.
type Kind string

// The kinds of source.
const (
	KindHTTP  Kind = "http"
	KindProxy Kind = "proxy"
	KindFile  Kind = "file"
)

// End is how the response ended.
type End string

// The ends of a response.
const (
	EndEOF       End = "eof"       // to its own end
	EndCancelled End = "cancelled" // by whoever captured it
	EndError     End = "error"     // broken off
	EndLimit     End = "limit"     // by a limit of time or size set for the capture
)

// Files lists the files beside the manifest, in the order they are written in.
// Exactly one response is there, the one of the manifest's framing.
type Files struct {
	SSE      *File `json:"response.sse,omitzero"`
	NDJSON   *File `json:"response.ndjson,omitzero"`
	JSON     *File `json:"response.json,omitzero"`
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

// Response returns the entry of the response file, or nil when there is none.
func (m *Manifest) Response() *File { return *m.Files.response(m.Framing) }

// Encode returns the bytes of capture.json: two-space indent, keys in the order
// of the fields, map keys sorted, one line feed at the end. Equal manifests have
// equal bytes. It fails on a manifest that DecodeManifest would refuse.
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

// What marshalTime and unmarshalTime return is cached by package json, so each
// is made once.
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
			return fmt.Errorf("a time is not written as %s", timeLayout)
		}
		*t = parsed
		return nil
	})
})

// response returns the place of the response entry of a framing.
func (f *Files) response(framing Framing) **File {
	switch framing {
	case NDJSON:
		return &f.NDJSON
	case JSON:
		return &f.JSON
	}
	return &f.SSE
}

// problem is a rule that a manifest breaks, and where.
type problem struct {
	at      string // JSON Pointer
	message string
}

// check returns the first rule broken, or nil.
func (m *Manifest) check() *problem {
	responses := 0
	for _, f := range []*File{m.Files.SSE, m.Files.NDJSON, m.Files.JSON} {
		if f != nil {
			responses++
		}
	}
	_, framingErr := ParseFraming(string(m.Framing))
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
	case framingErr != nil:
		return &problem{"/framing", "the framing is not sse, ndjson or json"}
	case !slices.Contains([]End{EndEOF, EndCancelled, EndError, EndLimit}, m.End):
		return &problem{"/end", "the end is not eof, cancelled, error or limit"}
	case responses != 1 || m.Response() == nil:
		return &problem{"/files", "the only response is not " + m.Framing.FileName()}
	case m.Tool.Name == "" || m.Tool.Version == "":
		return &problem{"/tool", "the tool has no name or no version"}
	}
	if p := m.checkTimes(); p != nil {
		return p
	}
	return m.Files.check()
}

// checkTimes holds started_at <= first_byte_at <= ended_at, all in years of four
// digits.
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
			return &problem{t.at, "the year has not four digits"}
		case t.time.Before(before):
			return &problem{t.at, "the time is before the one it should follow"}
		}
		before = t.time
	}
	return nil
}

// check looks at every entry, in the order they are written in.
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

// entry is a file with its name.
type entry struct {
	name string
	file *File
}

// entries returns the files that are listed, in the order they are written in.
func (f *Files) entries() []entry {
	return slices.DeleteFunc([]entry{
		{SSE.FileName(), f.SSE},
		{NDJSON.FileName(), f.NDJSON},
		{JSON.FileName(), f.JSON},
		{RequestName, f.Request},
		{ArrivalsName, f.Arrivals},
	}, func(e entry) bool { return e.file == nil })
}

// bareURL reports whether s is empty or a URL without user info, query and
// fragment.
func bareURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && u.RawFragment == ""
}
