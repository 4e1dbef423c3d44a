// Package jsonvalue holds JSON values as trees that can be changed and written
// again.
//
// It keeps what encoding/json loses: numbers as they were written, the order of
// members, and halves of surrogate pairs. It must not know what the values mean.
package jsonvalue

import "github.com/p20export/p20export/internal/strictjson"

// A Value is nil, a bool, a Number, a string, an *Array or an *Object. Strings are
// valid UTF-8, except that half a surrogate pair is encoded as three bytes (WTF-8).
// Two halves that form a pair are never adjacent.
type Value = any

// Number is the text of a number.
type Number string

// Parse returns the tree of a value that strictjson has read. It shares no memory
// with the text. Parse panics if the text is not valid.
func Parse(v strictjson.Value) Value {
	d := strictjson.NewDecoder(v.Raw)
	return read(d, next(d))
}

func next(d *strictjson.Decoder) strictjson.Token {
	t, err := d.Next()
	if err != nil {
		panic("jsonvalue: " + err.Error())
	}
	return t
}

func read(d *strictjson.Decoder, t strictjson.Token) Value {
	switch t.Kind {
	case strictjson.ObjectStart:
		o := new(Object)
		for name := next(d); name.Kind != strictjson.ObjectEnd; name = next(d) {
			key, _ := d.Text(name)
			o.Set(key, read(d, next(d)))
		}
		return o
	case strictjson.ArrayStart:
		a := new(Array)
		for e := next(d); e.Kind != strictjson.ArrayEnd; e = next(d) {
			a.Append(read(d, e))
		}
		return a
	case strictjson.String:
		text, _ := d.Text(t)
		return text
	case strictjson.Number:
		return Number(d.Bytes(t))
	case strictjson.True, strictjson.False:
		return t.Kind == strictjson.True
	}
	return nil
}

// Clone returns a copy of v that shares no arrays and objects with it.
func Clone(v Value) Value {
	switch v := v.(type) {
	case *Array:
		a := &Array{blocks: make([][]Value, len(v.blocks)), len: v.len, Size: v.Size}
		for i, block := range v.blocks {
			a.blocks[i] = make([]Value, len(block))
			for j, e := range block {
				a.blocks[i][j] = Clone(e)
			}
		}
		return a
	case *Object:
		o := &Object{members: make([]member, 0, v.Len()), Size: v.Size}
		for name, m := range v.All {
			o.Set(name, Clone(m))
		}
		return o
	}
	return v
}
