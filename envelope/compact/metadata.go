package compact

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
)

// metadata is the metadata of several events. The zero value is absent.
type metadata struct {
	present bool
	whole   []byte // the only value so far, if it is not an object
	keys    []string
	values  map[string][]byte
}

// append appends the JSON text of m.
func (m *metadata) append(dst []byte) []byte {
	if m.whole != nil {
		return append(dst, m.whole...)
	}
	dst = append(dst, '{')
	for i, key := range m.keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, key...), ':')
		dst = append(dst, m.values[key]...)
	}
	return append(dst, '}')
}

// keep makes v, which is the zero Value if it is absent, the value of m. It counts the
// memory in bytes.
func (w *memory) keep(e *envelope.Event, bytes *int, m *metadata, v envelope.Value) error {
	if v.Kind == 0 || v.Kind == envelope.ObjectValue {
		return w.fold(e, bytes, m, v)
	}
	m.present, m.whole = true, append([]byte(nil), v.Raw...)
	return w.hold(e, bytes, len(m.whole))
}

// fold sets the keys of v in m, as mergeMetadata of @ag-ui/core does: a later value
// replaces an earlier one as a whole, and the keys of an array or a string are its
// indices. It does nothing if v is the zero Value, and counts the memory in bytes.
func (w *memory) fold(e *envelope.Event, bytes *int, m *metadata, v envelope.Value) error {
	if v.Kind == 0 {
		return nil
	}
	set := func(key string, value []byte) error {
		old, exists := m.values[key]
		n := len(value) - len(old)
		if !exists {
			if m.values == nil {
				m.values = make(map[string][]byte)
			}
			m.keys = append(m.keys, key)
			n += len(key) + keyBytes
		}
		m.values[key] = append([]byte(nil), value...)
		return w.hold(e, bytes, n)
	}
	m.present = true
	if whole := m.whole; whole != nil {
		m.whole = nil
		if err := spread(whole, set); err != nil {
			return err
		}
	}
	return spread(v.Raw, set)
}

// spread calls set for each property of a JSON value, as the spread syntax of
// JavaScript does.
func spread(text []byte, set func(key string, value []byte) error) error {
	var o envelope.Object
	v, err := strictjson.ReadText(&o, new(strictjson.Decoder), text)
	if err != nil {
		return err
	}
	index := func(i int) string { return `"` + strconv.Itoa(i) + `"` }
	switch v.Kind {
	case envelope.ObjectValue:
		for m := range o.All {
			if err := set(stringKey(m.Name), m.Value.Raw); err != nil {
				return err
			}
		}
	case envelope.ArrayValue:
		return strictjson.Elements(v, func(i int, element envelope.Value, _ *envelope.Object) error {
			return set(index(i), element.Raw)
		})
	case envelope.StringValue:
		for i, unit := range units(v) {
			if err := set(index(i), unit); err != nil {
				return err
			}
		}
	}
	return nil
}

// units calls yield for each UTF-16 code unit of a string, as a JSON string.
func units(v envelope.Value) func(yield func(i int, unit []byte) bool) {
	return func(yield func(i int, unit []byte) bool) {
		text, _ := v.Text()
		var quoted []byte
		for n := 0; len(text) > 0; {
			r, w := utf8.DecodeRuneInString(text)
			code := []uint16{uint16(r)}
			switch {
			case r == utf8.RuneError && w == 1: // half a surrogate pair in three bytes
				half, _ := strictjson.LoneSurrogate(text)
				code[0], w = uint16(half), 3
			case r > 0xffff:
				code = utf16.AppendRune(code[:0], r)
			}
			for _, unit := range code {
				quoted = fmt.Appendf(quoted[:0], `"\u%04x"`, unit)
				if !yield(n, quoted) {
					return
				}
				n++
			}
			text = text[w:]
		}
	}
}
