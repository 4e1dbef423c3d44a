package capture

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/finding"
)

// DecodeManifest decodes capture.json strictly. It must be one JSON object (RFC
// 8259) with known keys, in any order and with any white space, without duplicate
// keys or nulls, and with values in the format of Encode. Otherwise DecodeManifest
// returns a finding capture_manifest_malformed, with the pointer and the byte offset
// if they are known.
func DecodeManifest(b []byte) (*Manifest, error) {
	if err := rejectNull(b); err != nil {
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

// malformed returns the finding for an error of the JSON decoder.
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

// reason returns the text of err, truncated.
func reason(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "it ends too early"
	}
	return truncate(err.Error())
}

// truncate returns at most the first 200 bytes of s, without splitting a rune.
func truncate(s string) string {
	const keep = 200
	if len(s) <= keep {
		return s
	}
	return string(bytes.ToValidUTF8([]byte(s[:keep]), nil)) + "…"
}

var errNull = errors.New("a value is null")

// rejectNull returns an error if b is not a JSON value or contains null. The decoder
// would accept null for an absent value.
func rejectNull(b []byte) error {
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
	// json.Unmarshal rejects data after the value.
	return nil
}

// locate returns the offset of the value at p in the valid JSON text b, or of the
// nearest enclosing value that exists.
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

// valueOffset returns the offset of the value after the member name that ends at at.
func valueOffset(b []byte, at int64) int64 {
	for at < int64(len(b)) && (isSpace(b[at]) || b[at] == ':') {
		at++
	}
	return at
}
