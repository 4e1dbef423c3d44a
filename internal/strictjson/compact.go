package strictjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// CompactSize returns the size in bytes of a JSON text without the white space
// around its tokens. If text is not JSON, CompactSize returns its length.
func CompactSize(text []byte) int {
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Compact(); err != nil {
		return len(text)
	}
	return len(v)
}
