package compact

import (
	"bytes"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// plain reports whether v is a string without escapes. Such strings are equal if
// their texts are.
func plain(v envelope.Value) bool {
	return v.Kind == envelope.StringValue && bytes.IndexByte(v.Raw, '\\') < 0
}

// keyOf returns the key of an id. Equal ids have equal keys, as in a Map of JavaScript:
// a missing id and null are ids too, and no two arrays or objects are equal. The
// number unique is different for each call that creates a group.
func keyOf(id envelope.Value, unique int) string {
	switch id.Kind {
	case 0:
		return ""
	case envelope.StringValue:
		return stringKey(id)
	case envelope.NumberValue:
		return string(appendNumber(nil, id.Raw))
	case envelope.ObjectValue, envelope.ArrayValue:
		return "{" + strconv.Itoa(unique)
	}
	return string(id.Raw)
}

// stringKey returns the one text of a string's value.
func stringKey(v envelope.Value) string {
	if bytes.IndexByte(v.Raw, '\\') < 0 {
		return string(v.Raw)
	}
	text, _ := strictjson.Unquote(v.Raw)
	return string(jsonvalue.AppendString(nil, text))
}

// appendDelta appends the text of a delta, without quotes, to that of the deltas
// before it. Two halves of a surrogate pair become one character because their
// escapes are adjacent. A delta that is missing or not a string is joined as
// JavaScript joins it.
func appendDelta(dst []byte, delta envelope.Value) []byte {
	switch delta.Kind {
	case 0, envelope.NullValue:
		return dst
	case envelope.StringValue:
		return append(dst, delta.Raw[1:len(delta.Raw)-1]...)
	}
	// The text was read before, so there is no error.
	d := strictjson.NewDecoder(delta.Raw)
	for afterStart := true; ; {
		t, err := d.Next()
		if err != nil {
			return dst
		}
		if t.Kind == strictjson.ArrayEnd {
			afterStart = false
			continue
		}
		depth := d.Depth()
		if t.Kind == strictjson.ArrayStart {
			depth--
		}
		if t.Kind == strictjson.ObjectStart {
			depth--
		}
		if depth > 0 && !afterStart {
			dst = append(dst, ',')
		}
		afterStart = t.Kind == strictjson.ArrayStart
		switch t.Kind {
		case strictjson.String:
			raw := d.Bytes(t)
			dst = append(dst, raw[1:len(raw)-1]...)
		case strictjson.Number:
			dst = appendNumber(dst, d.Bytes(t))
		case strictjson.True, strictjson.False:
			dst = append(dst, d.Bytes(t)...)
		case strictjson.ObjectStart:
			dst = append(dst, "[object Object]"...)
			_, _ = d.Skip(t)
		}
	}
}

// appendNumber appends the text that JavaScript has for a number.
func appendNumber(dst, number []byte) []byte {
	f, _ := strconv.ParseFloat(string(number), 64)
	switch {
	case f == 0:
		return append(dst, '0')
	case math.IsInf(f, 0):
		if f < 0 {
			dst = append(dst, '-')
		}
		return append(dst, "Infinity"...)
	}
	text, _ := json.Marshal(f)
	return append(dst, text...)
}
