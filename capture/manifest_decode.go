package capture

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/finding"
)

// DecodeManifest reads capture.json strictly: one JSON object (RFC 8259) with the
// known keys in any order and white space, none of them twice, no null, and every
// value spelled as Encode spells it. Whatever it refuses is a
// finding.ManifestMalformed, with the pointer and the byte offset where they are
// known.
func DecodeManifest(b []byte) (*Manifest, error) {
	if err := refuseNull(b); err != nil {
		return nil, malformed(b, err)
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m, json.RejectUnknownMembers(true), json.WithUnmarshalers(unmarshalTime())); err != nil {
		return nil, malformed(b, err)
	}
	if p := m.check(); p != nil {
		f := finding.New(finding.ManifestMalformed, "%s: %s", ManifestName, p.message).WithPointer(finding.Pointer(p.at))
		if at, ok := locate(b, jsontext.Pointer(p.at)); ok {
			f = f.WithOffset(at)
		}
		return nil, f
	}
	return m, nil
}

// malformed makes a finding of what the JSON decoder reports.
func malformed(b []byte, err error) finding.Finding {
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		return finding.New(finding.ManifestMalformed, "%s: %s", ManifestName, finding.Escape(reason(syntactic.Err))).
			WithPointer(finding.Pointer(syntactic.JSONPointer)).WithOffset(min(syntactic.ByteOffset, int64(len(b))))
	case errors.As(err, &semantic):
		message := "the value has the wrong type"
		if semantic.Err != nil {
			message = reason(semantic.Err)
		}
		return finding.New(finding.ManifestMalformed, "%s: %s", ManifestName, finding.Escape(message)).
			WithPointer(finding.Pointer(semantic.JSONPointer)).WithOffset(min(semantic.ByteOffset, int64(len(b))))
	}
	return finding.New(finding.ManifestMalformed, "%s: %s", ManifestName, finding.Escape(reason(err)))
}

// reason returns the text of err, shortened.
func reason(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "it ends too early"
	}
	return shorten(err.Error())
}

// shorten keeps the first 200 bytes of a text, without cutting a rune.
func shorten(s string) string {
	const keep = 200
	if len(s) <= keep {
		return s
	}
	return string(bytes.ToValidUTF8([]byte(s[:keep]), nil)) + "…"
}

var errNull = errors.New("a value is null")

// refuseNull walks the whole text, which must be one JSON value without null. No
// key of a manifest may be null, and the decoder would take null for absence.
func refuseNull(b []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.ReadToken()
		switch {
		case err != nil:
			return err
		case token.Kind() == 'n':
			return &json.SemanticError{ByteOffset: d.InputOffset() - int64(len("null")), JSONPointer: d.StackPointer(), Err: errNull}
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	// json.Unmarshal refuses what follows the value.
	return nil
}

// locate returns the offset of the value that a pointer names in valid JSON, or
// of the nearest value around it that is there.
func locate(b []byte, p jsontext.Pointer) (int64, bool) {
	for ; p != ""; p = p.Parent() {
		d := jsontext.NewDecoder(bytes.NewReader(b))
		for {
			if d.StackPointer() == p {
				if _, n := d.StackIndex(d.StackDepth()); d.StackDepth() > 0 && n%2 == 1 {
					kind := d.PeekKind()
					if kind == 0 {
						break
					}
					return valueOffset(b, d.InputOffset()), true
				}
			}
			if _, err := d.ReadToken(); err != nil {
				break
			}
		}
	}
	return 0, false
}

// valueOffset steps from just past an object's name to its value.
func valueOffset(b []byte, at int64) int64 {
	for at < int64(len(b)) && (isSpace(b[at]) || b[at] == ':') {
		at++
	}
	return at
}
