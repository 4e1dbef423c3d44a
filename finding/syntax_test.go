package finding_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// The finding of a syntax error has its offset and pointer. The pointer is short
// enough already.
func TestFromSyntax(t *testing.T) {
	for text, want := range map[string]struct {
		code    finding.Code
		offset  int64
		pointer finding.Pointer
		message string
	}{
		`{"a":[1,}`:          {finding.JSONSyntax, 8, "/a/1", "not a JSON value"},
		"\"\xff\"":           {finding.JSONInvalidUTF8, 1, "", "byte 0xff is not UTF-8"},
		`{"a":1,"\u0061":2}`: {finding.JSONDuplicateKey, 7, "/a", `the key "a" appears twice in one object`},
		`[] x`:               {finding.JSONTrailing, 3, "", "bytes after the JSON value"},
		strings.Repeat("[", strictjson.MaxDepth+1): {finding.JSONTooDeep, strictjson.MaxDepth, finding.Pointer(strings.Repeat("/0", strictjson.MaxDepth)).Bounded(), "nested deeper than 512"},
	} {
		var o strictjson.Object
		_, err := strictjson.ReadText(&o, new(strictjson.Decoder), []byte(text))
		f, ok := finding.FromSyntax(err)
		if !ok || f.Code != want.code || *f.Offset != want.offset || f.Pointer != want.pointer || f.Message != want.message {
			t.Errorf("%.40s: %v at %v %q: %s", text, f.Code, *f.Offset, f.Pointer, f.Message)
		}
	}
	for _, err := range []error{nil, io.EOF, errors.New("other")} {
		if f, ok := finding.FromSyntax(err); ok {
			t.Errorf("%v: %v", err, f)
		}
	}
	if strictjson.MaxPointer != finding.MaxPointer {
		t.Errorf("pointers have %d bytes and %d", strictjson.MaxPointer, finding.MaxPointer)
	}
}
