package strictjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// CompactSize is the size in bytes of a JSON text without the white space around
// its tokens; of what is no JSON text its own size.
func CompactSize(text []byte) int {
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Compact(); err != nil {
		return len(text)
	}
	return len(v)
}
