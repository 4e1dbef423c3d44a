package assay

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Errors of fields.
var (
	errMissing = errors.New("is missing")
	errType    = errors.New("has a wrong type")
	errCount   = errors.New("is not an integer in range")
	errNumber  = errors.New("contains a number out of range")
	errTime    = errors.New("is not a time")
)

// field is one field of a structure. Fields are in the order of their declaration in
// the reference.
type field struct {
	name     string
	take     func(jsonMember) error
	optional bool // may be missing or null
}

// decoder decodes structures like serde's derived code: from an object, with unknown
// members ignored, or from an array of all fields in order. It calls note with a JSON
// Pointer for every deviation.
type decoder struct {
	json  *jsonReader
	depth int
	note  func(pointer, message string) // may be nil
}

// decode decodes the members of a structure at the pointer.
func (d *decoder) decode(kind jsontext.Kind, members []jsonMember, pointer string, fields []field) error {
	if kind == '[' {
		if len(members) != len(fields) {
			return errType
		}
		d.tell(pointer, "is an array of fields, not an object")
	} else if kind != '{' {
		return errType
	}
	var seen uint32
	for i, m := range members {
		n := i
		if kind == '{' {
			for n = 0; n < len(fields) && fields[n].name != m.name; n++ {
			}
			if n == len(fields) {
				d.tell(pointer+"/"+escapePointer(m.name), "is not a field of the format")
				continue
			}
		}
		seen |= 1 << n
		if fields[n].optional && m.value.Kind() == 'n' {
			d.tell(pointer+"/"+fields[n].name, "is null; absent fields must be omitted")
			continue
		}
		if err := fields[n].take(m); err != nil {
			return fmt.Errorf("%s %w", fields[n].name, err)
		}
	}
	for n, f := range fields {
		if seen&(1<<n) == 0 && !f.optional {
			return fmt.Errorf("%s %w", f.name, errMissing)
		}
	}
	return nil
}

// nested returns a field whose value is a structure.
func (d *decoder) nested(name, pointer string, fields []field) field {
	return field{name: name, take: func(m jsonMember) error {
		inner := decoder{json: &jsonReader{}, depth: d.depth, note: d.note}
		kind, members, err := inner.json.read(m.value, d.depth)
		if err != nil {
			return err
		}
		return inner.decode(kind, members, pointer, fields)
	}}
}

func (d *decoder) tell(pointer, message string) {
	if d.note != nil {
		d.note(pointer, message)
	}
}

// text returns a required string field.
func text(name string, to *string) field {
	return field{name: name, take: func(m jsonMember) error {
		if m.value.Kind() != '"' {
			return errType
		}
		b, err := jsontext.AppendUnquote(nil, m.value)
		*to = string(b)
		return err
	}}
}

// maybe is a string that may be absent.
type maybe struct {
	set  bool
	text string
}

// optionalText returns an optional string field.
func optionalText(name string, to *maybe) field {
	f := text(name, &to.text)
	take := f.take
	f.optional, f.take = true, func(m jsonMember) error {
		to.set = true
		return take(m)
	}
	return f
}

// flag returns a required boolean field.
func flag(name string, to *bool) field {
	return field{name: name, take: func(m jsonMember) error {
		k := m.value.Kind()
		if k != 't' && k != 'f' {
			return errType
		}
		*to = k == 't'
		return nil
	}}
}

// count returns a required field for an unsigned integer of the given number of bits,
// without a sign, a point or an exponent.
func count(name string, bits int, to *uint64) field {
	return field{name: name, take: func(m jsonMember) error {
		n, err := strconv.ParseUint(string(m.value), 10, bits)
		if err != nil {
			return errCount
		}
		*to = n
		return nil
	}}
}
