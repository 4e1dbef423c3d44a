package reduce

import (
	"errors"
	"fmt"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/internal/jsonpatch"
	"github.com/p20export/p20export/finding"
)

// Dialect is a dialect of JSON Patch.
type Dialect int

const (
	// RFC6902 is JSON Patch as RFC 6902 defines it.
	RFC6902 Dialect = iota
	// Client is JSON Patch as the reference client applies it.
	Client
)

// Dialects returns the names of the dialects.
func Dialects() []string { return []string{RFC6902.String(), Client.String()} }

// ParseDialect returns the dialect with a name.
func ParseDialect(name string) (Dialect, error) {
	for _, d := range []Dialect{RFC6902, Client} {
		if name == d.String() {
			return d, nil
		}
	}
	return 0, fmt.Errorf("the dialects are %s", strings.Join(Dialects(), " and "))
}

// String returns the name of the dialect.
func (d Dialect) String() string { return jsonpatch.Dialect(d).String() }

// state is the state of a conversation.
type state struct {
	raw   rawJSON             // used while document is nil; nil stands for an empty object
	doc   *jsonpatch.Document // nil before the first patch
	known bool
	// shared means that a View or another Reducer has doc too, so it must not change.
	shared bool
}

// HasState reports whether a STATE_SNAPSHOT, a request or an input set the state. Otherwise it is
// the result of all patches to an empty object.
func (r *Reducer) HasState() bool { return r.state.known }

// AppendState appends the state to dst. It appends nothing if a patch in the dialect
// Client left no value.
func (r *Reducer) AppendState(dst []byte) []byte {
	return r.state.append(dst)
}

// append appends the JSON text of the state.
func (s *state) append(dst []byte) []byte {
	switch {
	case s.doc != nil:
		return s.doc.Append(dst)
	case s.raw == nil:
		return append(dst, "{}"...)
	default:
		return append(dst, s.raw...)
	}
}

// stateSnapshot handles STATE_SNAPSHOT.
func (r *Reducer) stateSnapshot(e *envelope.Event) {
	v, ok := e.Get("snapshot")
	if !ok {
		r.warn(e, finding.EventFieldMalformed, "%s has no snapshot and is ignored", e.Type)
		return
	}
	r.state = state{raw: compact(v.Raw), known: true}
}

// stateDelta handles STATE_DELTA.
func (r *Reducer) stateDelta(e *envelope.Event) {
	ops, _ := e.Get("delta")
	s := &r.state
	if s.doc == nil {
		raw := s.raw
		if raw == nil {
			raw = rawJSON("{}")
		}
		doc := &jsonpatch.Document{Budget: &r.patches}
		if err := doc.Reset(raw.value()); err != nil {
			r.patchFailed(e, err)
			return
		}
		s.raw, s.doc, s.shared = nil, doc, false
	}
	if s.shared {
		s.doc, s.shared = s.doc.Clone(), false
		s.doc.Budget = &r.patches
	}
	if err := r.patch(e, s.doc, "/delta", ops); err != nil {
		r.patchFailed(e, err)
	}
}

// patch applies a patch, which is at a pointer in the event. It leaves out operations
// that JSON Patch does not define, with a warning.
func (r *Reducer) patch(e *envelope.Event, doc *jsonpatch.Document, at finding.Pointer, ops envelope.Value) error {
	var unknown UnknownOperations
	err := doc.Apply(ops, jsonpatch.Dialect(r.options.Dialect), unknown.Add)
	if unknown.n > 0 {
		r.found = append(r.found, unknown.Finding(e, at, ops))
	}
	return err
}

// UnknownOperations has the operations of a patch that JSON Patch does not define.
type UnknownOperations struct {
	n, first int
	op       string // of the first
}

// Add adds an operation.
func (u *UnknownOperations) Add(index int, op string) {
	if u.n++; u.n == 1 {
		u.first, u.op = index, op
	}
}

// Any reports whether there is one.
func (u *UnknownOperations) Any() bool { return u.n > 0 }

// Finding returns a warning about the operations of a patch, which is at a pointer in the
// event.
func (u *UnknownOperations) Finding(e *envelope.Event, at finding.Pointer, patch envelope.Value) finding.Finding {
	at = at.Index(u.first)
	text := fmt.Sprintf("%s: %s is the operation %s, which JSON Patch does not define", e.Type, at, finding.Quote(u.op))
	if u.n == 1 {
		text += "; it is left out"
	} else {
		text += fmt.Sprintf("; it and %d more such operations are left out", u.n-1)
	}
	return e.FindingAt(patch, finding.EventAltered, "%s", text).WithPointer(at).WithSeverity(finding.Warning)
}

// patchFailed adds a warning about a patch that does not apply.
func (r *Reducer) patchFailed(e *envelope.Event, err error) {
	var failed *jsonpatch.Error
	if !errors.As(err, &failed) || failed.Limit {
		r.full = true
		r.warn(e, finding.ConversationTooLarge, "%s is ignored: %v", e.Type, err)
		return
	}
	r.warn(e, finding.PatchFailed, "%s is ignored: %v", e.Type, err)
}
