package record

import (
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/p20export/p20export/artifact"
)

// Encode returns the record's canonical form: the key order of the structures,
// two-space indent, minimal escapes and one newline at the end. It returns an error if a
// string is not valid UTF-8.
//
// It is written by hand because package json takes as long as reading a small capture.
func (r *Record) Encode() ([]byte, error) {
	p := &r.Predicate
	w := writer{buf: make([]byte, 0, r.Size())}
	w.begin('{')
	w.text("_type", r.Type)
	w.key("subject")
	w.begin('[')
	for _, s := range r.Subject {
		w.element()
		w.begin('{')
		w.text("name", s.Name)
		w.key("digest")
		w.begin('{')
		w.text("sha256", s.Digest.SHA256)
		w.end('}')
		w.end('}')
	}
	w.end(']')
	w.text("predicateType", r.PredicateType)
	w.key("predicate")
	w.begin('{')
	w.key("projection")
	w.begin('{')
	w.text("name", string(p.Projection.Name))
	w.number("version", int64(p.Projection.Version))
	w.text("snapshot", string(p.Projection.Snapshot))
	w.text("origin", string(p.Projection.Origin))
	w.end('}')
	w.text("profile", string(p.Profile))
	w.key("tool")
	w.begin('{')
	w.text("name", p.Tool.Name)
	w.text("version", p.Tool.Version)
	w.end('}')
	w.key("capture")
	w.begin('{')
	w.text("digest", string(p.Capture.Digest))
	w.number("bytes", p.Capture.Bytes)
	w.text("framing", p.Capture.Framing)
	w.optional("manifest_digest", string(p.Capture.ManifestDigest))
	w.number("run", int64(p.Capture.Run))
	w.end('}')
	w.key("events")
	w.begin('[')
	for _, e := range p.Events {
		w.element()
		w.begin('{')
		w.text("part", e.Part)
		w.number("index", int64(e.Index))
		w.number("offset", e.Offset)
		w.number("bytes", e.Bytes)
		w.end('}')
	}
	w.end(']')
	w.key("times")
	w.begin('{')
	w.text("source", string(p.Times.Source))
	w.optional("started_at", p.Times.StartedAt)
	w.optional("finished_at", p.Times.FinishedAt)
	w.end('}')
	w.key("omissions")
	w.begin('[')
	for _, o := range p.Omissions {
		w.element()
		w.begin('{')
		if o.EventIndex != nil {
			w.number("event_index", int64(*o.EventIndex))
		}
		w.optional("file", o.File)
		w.text("pointer", string(o.Pointer))
		w.text("reason", string(o.Reason))
		if o.Count != 0 {
			w.number("count", int64(o.Count))
		}
		w.end('}')
	}
	w.end(']')
	w.key("families")
	w.begin('{')
	for name, n := range p.Families.All {
		w.element()
		w.buf = append(artifact.AppendString(w.buf, name), ": "...)
		w.buf = strconv.AppendInt(w.buf, int64(n), 10)
	}
	w.end('}')
	w.key("sizes")
	w.begin('{')
	w.number("capture_bytes", p.Sizes.CaptureBytes)
	w.number("envelope_bytes", int64(p.Sizes.EnvelopeBytes))
	w.number("artifact_bytes", int64(p.Sizes.ArtifactBytes))
	w.end('}')
	w.end('}')
	w.end('}')
	if !utf8.Valid(w.buf) {
		return nil, errors.New("encode record: a string is not valid UTF-8")
	}
	return append(w.buf, '\n'), nil
}

// writer writes indented JSON.
type writer struct {
	buf   []byte
	depth int
}

// begin begins an object or array.
func (w *writer) begin(bracket byte) {
	w.buf = append(w.buf, bracket)
	w.depth++
}

// end ends an object or array.
func (w *writer) end(bracket byte) {
	w.depth--
	if last := w.buf[len(w.buf)-1]; last != '{' && last != '[' {
		w.line()
	}
	w.buf = append(w.buf, bracket)
}

// element begins an element of an array, or a member of an object.
func (w *writer) element() {
	if last := w.buf[len(w.buf)-1]; last != '{' && last != '[' {
		w.buf = append(w.buf, ',')
	}
	w.line()
}

// line begins a line. The depth is at most 5.
func (w *writer) line() { w.buf = append(w.buf, "\n          "[:1+2*w.depth]...) }

// key begins a member whose name needs no escapes.
func (w *writer) key(name string) {
	w.element()
	w.buf = append(append(append(w.buf, '"'), name...), `": `...)
}

func (w *writer) text(name, value string) {
	w.key(name)
	w.buf = artifact.AppendString(w.buf, value)
}

// optional writes a member unless value is empty.
func (w *writer) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *writer) number(name string, value int64) {
	w.key(name)
	w.buf = strconv.AppendInt(w.buf, value, 10)
}
