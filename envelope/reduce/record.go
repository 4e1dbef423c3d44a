package reduce

import (
	"bytes"
	"slices"

	"github.com/p20export/p20export/envelope/internal/jsonpatch"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// record is a JSON object whose members are changed one by one: a message, a tool
// call, its function, or metadata. A record that was never changed is only its text.
type record struct {
	raw     rawJSON // nil if members is used
	members jsonvalue.Object
}

// The value of a member is a rawJSON, a string, a *Text, a *record, a *content or a
// *callList.

// rawJSON is the text of a value, without white space between tokens. It is never
// changed.
type rawJSON []byte

// content is the content of an activity to which patches were applied.
type content struct{ jsonpatch.Document }

// compact returns a copy of a JSON text without white space between tokens.
func compact(text []byte) rawJSON {
	if !bytes.ContainsAny(text, " \t\r\n") {
		return bytes.Clone(text)
	}
	return slices.Clip(strictjson.AppendCompact(make(rawJSON, 0, len(text)), text))
}

// value returns the value that a raw text has.
func (raw rawJSON) value() strictjson.Value {
	v, _ := read(raw)
	return v
}

// read reads a JSON text that was read before. If it is not an object, o is empty.
func read(text []byte) (v strictjson.Value, o *strictjson.Object) {
	o = new(strictjson.Object)
	v, err := strictjson.ReadText(o, new(strictjson.Decoder), text)
	if err != nil {
		panic("reduce: " + err.Error())
	}
	return v, o
}

// open prepares the record for changes of its members.
func (r *record) open() {
	if r.raw == nil {
		return
	}
	_, o := read(r.raw)
	for m := range o.All {
		name, _ := m.Name.Text()
		r.members.Set(name, rawJSON(m.Value.Raw))
	}
	r.raw = nil
}

// get returns a member of an open record, or nil.
func (r *record) get(name string) any {
	v, _ := r.members.Get(name)
	return v
}

// string returns a member, and whether it is a string.
func (r *record) string(name string) (s string, ok bool) {
	switch v := r.get(name).(type) {
	case string:
		return v, true
	case *Text:
		return v.String(), true
	case rawJSON:
		if v[0] == '"' {
			s, _ = strictjson.Unquote(v)
			return s, true
		}
	}
	return "", false
}

// is reports whether a member is the string s. It does not copy a long member to compare
// it with a short string.
func (r *record) is(name, s string) bool {
	if raw, ok := r.get(name).(rawJSON); ok && len(raw) > len(`""`)+len(`\u0000`)*len(s) {
		return false // even if all characters were escaped
	}
	old, ok := r.string(name)
	return ok && old == s
}

// text returns a member as text, which is empty if the member is not a string, and the
// change in size.
func (r *record) text(name string) (t *Text, added int) {
	if t, ok := r.get(name).(*Text); ok {
		return t, 0
	}
	t = new(Text)
	old := r.get(name)
	if raw, ok := old.(rawJSON); ok && raw[0] == '"' {
		t.Append(raw)
	}
	added = t.Len() - size(old)
	r.members.Set(name, t)
	return t, added
}

// record returns a member as an open record, which is empty if the member is not an
// object, and the change in size.
func (r *record) record(name string) (member *record, added int) {
	switch v := r.get(name).(type) {
	case *record:
		return v, 0
	case rawJSON:
		if v[0] == '{' {
			member = &record{raw: v}
			member.open()
		} else {
			member, added = new(record), -len(v)
		}
	default:
		member = new(record)
	}
	r.members.Set(name, member)
	return member, added
}

// set sets a member to the text of a value, and returns the change in size.
func (r *record) set(name string, v rawJSON) (added int) {
	old, ok := r.members.Get(name)
	if added = len(v) - size(old); !ok {
		added += len(name) + memberBytes
	}
	r.members.Set(name, v)
	return added
}

// remove removes a member, and returns the change in size.
func (r *record) remove(name string) (added int) {
	if old, ok := r.members.Get(name); ok {
		added = -size(old) - len(name) - memberBytes
		r.members.Delete(name)
	}
	return added
}

// size returns the size of the value of a member.
func size(v any) int {
	switch v := v.(type) {
	case rawJSON:
		return len(v)
	case string:
		return len(v)
	case *Text:
		return v.Len()
	case *content:
		return v.Size()
	}
	return 0
}

// append appends the JSON text of the record.
func (r *record) append(dst []byte) []byte {
	if r.raw != nil {
		return append(dst, r.raw...)
	}
	dst = append(dst, '{')
	for name, v := range r.members.All {
		if c, ok := v.(*content); ok && c.Missing() {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(jsonvalue.AppendString(dst, name), ':')
		switch v := v.(type) {
		case rawJSON:
			dst = append(dst, v...)
		case string:
			dst = jsonvalue.AppendString(dst, v)
		case *Text:
			dst = jsonvalue.AppendBytes(dst, v.bytes)
		case *record:
			dst = v.append(dst)
		case *content:
			dst = v.Append(dst)
		case *callList:
			dst = append(dst, '[')
			for i, c := range v.of.calls {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = c.append(dst)
			}
			dst = append(dst, ']')
		}
	}
	return append(dst, '}')
}
