package event

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// kind is a kind of JSON value that a field can have, and T its Go type.
type kind[T any] interface {
	// String returns what the value is, with its article.
	String() string
	// read returns the value, or reports why it is not valid and returns false.
	read(d *decoder, v strictjson.Value) (T, bool)
	append(dst []byte, v T) []byte
	// nullable reports that an optional field can be null.
	nullable() bool
}

// notNull is embedded in kinds of which an optional field cannot be null.
type notNull struct{}

func (notNull) nullable() bool { return false }

// textKind is a string.
type textKind struct {
	notNull
	values []string // the legal values, or nil for all
}

var text kind[string] = textKind{}

func (k textKind) String() string {
	if k.values == nil {
		return "a string"
	}
	return strings.Join(k.values, ", ")
}

func (k textKind) read(d *decoder, v strictjson.Value) (string, bool) {
	if v.Kind != strictjson.String {
		d.wrongKind(v, "a string")
		return "", false
	}
	s, _ := v.Text()
	if k.values != nil && !slices.Contains(k.values, s) {
		d.report(refused, "", v.Start, "is %s and must be %s", finding.Quote(s), strings.Join(k.values, " or "))
		// One of several values can be newer than this program. A single value is fixed.
		d.setFatal(true, len(k.values) == 1)
		return "", false
	}
	return s, true
}

func (k textKind) append(dst []byte, v string) []byte { return jsonvalue.AppendString(dst, v) }

// openKind is a string. The values are those that AG-UI defines, and others are read too.
type openKind struct{ textKind }

func (openKind) read(d *decoder, v strictjson.Value) (string, bool) { return text.read(d, v) }

var pointer kind[string] = pointerKind{}

// pointerKind is a string that is a JSON Pointer (RFC 6901).
type pointerKind struct{ textKind }

func (pointerKind) String() string { return "a JSON Pointer" }

func (k pointerKind) read(d *decoder, v strictjson.Value) (string, bool) {
	s, ok := k.textKind.read(d, v)
	if ok && !isPointer(s) {
		d.report(PatchPointer, "", v.Start, "is %s, which is not a JSON Pointer", finding.Quote(s))
	}
	return s, ok
}

// isPointer reports whether s is a JSON Pointer (RFC 6901 §3).
func isPointer(s string) bool {
	if s != "" && s[0] != '/' {
		return false
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return false
		}
	}
	return true
}

// countKind is an integer from 0 to MaxInteger.
type countKind struct{ notNull }

func (countKind) String() string { return "a count" }

func (countKind) read(d *decoder, v strictjson.Value) (int64, bool) {
	if v.Kind != strictjson.Number {
		d.wrongKind(v, "a number")
		return 0, false
	}
	n, whole, ok := integer(v.Raw)
	if !ok || !whole || n < 0 {
		d.report(refused, "", v.Start, "must be an integer from 0 to 2^53-1")
		return 0, false
	}
	return n, true
}

func (countKind) append(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

// timestampKind is an integer from -MaxInteger to MaxInteger.
type timestampKind struct{ countKind }

func (timestampKind) String() string { return "an integer" }

func (timestampKind) read(d *decoder, v strictjson.Value) (int64, bool) {
	if v.Kind != strictjson.Number {
		d.wrongKind(v, "a number")
		return 0, false
	}
	n, whole, ok := integer(v.Raw)
	if !ok {
		d.report(refused, "", v.Start, "must be between -(2^53-1) and 2^53-1")
		return 0, false
	}
	if !whole {
		d.report(FractionalTimestamp, "", v.Start, "must be an integer")
	}
	return n, true
}

// integer returns the greatest integer that is not above a number, and whether it is
// the number. It fails if the integer is not between -MaxInteger and MaxInteger.
func integer(number []byte) (n int64, whole, ok bool) {
	negative := number[0] == '-'
	digits := make([]byte, 0, 32)
	exponent := int64(0)
	for i := 0; i < len(number); i++ {
		switch c := number[i]; {
		case c == 'e' || c == 'E':
			// Texts are shorter than the limits of ParseInt, which it returns for numbers
			// beyond them.
			e, _ := strconv.ParseInt(string(number[i+1:]), 10, 48)
			exponent += e
			i = len(number)
		case c == '.':
			exponent -= int64(fractionLen(number[i+1:]))
		case c >= '0' && c <= '9' && (c != '0' || len(digits) > 0):
			digits = append(digits, c)
		}
	}
	fraction := false
	for exponent < 0 && len(digits) > 0 {
		fraction = fraction || digits[len(digits)-1] != '0'
		digits = digits[:len(digits)-1]
		exponent++
	}
	switch {
	case len(digits) == 0:
	case int64(len(digits))+exponent > 16:
		return 0, false, false
	default:
		for _, c := range digits {
			n = n*10 + int64(c-'0')
		}
		for range exponent {
			n *= 10
		}
	}
	if negative {
		n = -n
		if fraction {
			n--
		}
	}
	return n, !fraction, n >= -MaxInteger && n <= MaxInteger
}

// fractionLen returns the number of digits at the start of b.
func fractionLen(b []byte) int {
	i := slices.IndexFunc(b, func(c byte) bool { return c < '0' || c > '9' })
	if i < 0 {
		return len(b)
	}
	return i
}

// boolKind is true or false.
type boolKind struct{ notNull }

func (boolKind) String() string { return "a boolean" }

func (boolKind) read(d *decoder, v strictjson.Value) (value, ok bool) {
	if v.Kind != strictjson.True && v.Kind != strictjson.False {
		d.wrongKind(v, "a boolean")
		return false, false
	}
	return v.Kind == strictjson.True, true
}

func (boolKind) append(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

// jsonKind is any value, or any object.
type jsonKind struct {
	object bool
	null   bool // an optional field can be null
}

var (
	anyJSON   kind[JSON] = jsonKind{}
	anyObject kind[JSON] = jsonKind{object: true}
	orNull    kind[JSON] = jsonKind{null: true}
)

func (k jsonKind) String() string {
	if k.object {
		return "any object"
	}
	return "any JSON"
}

func (k jsonKind) nullable() bool { return k.null }

func (k jsonKind) read(d *decoder, v strictjson.Value) (JSON, bool) {
	if k.object && v.Kind != strictjson.ObjectStart {
		d.wrongKind(v, "an object")
		return nil, false
	}
	return v.Raw[:len(v.Raw):len(v.Raw)], true
}

func (jsonKind) append(dst []byte, v JSON) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	return append(dst, v...)
}

// listKind is an array.
type listKind[T any] struct {
	notNull
	of kind[T]
	// what is the name of the elements, in the plural.
	what string
	max  int // the maximum number of elements, or 0
}

func (k *listKind[T]) String() string { return "an array of " + k.what }

func (k *listKind[T]) read(d *decoder, v strictjson.Value) ([]T, bool) {
	if v.Kind != strictjson.ArrayStart {
		d.wrongKind(v, "an array")
		return nil, false
	}
	list := []T{}
	ok := d.elements(v, k.max, func(v strictjson.Value) bool {
		e, valid := k.of.read(d, v)
		list = append(list, e)
		return valid
	})
	return list, ok
}

// errStop stops the reading of an array that has too many elements or faults.
var errStop = errors.New("stop")

// elements calls read with each element of an array, and reports whether all are valid. If
// limit is not 0, it is the maximum number of elements.
func (d *decoder) elements(v strictjson.Value, limit int, read func(v strictjson.Value) bool) bool {
	ok := true
	// The text was read before, so the only possible error is errStop.
	_ = strictjson.Elements(v, func(i int, v strictjson.Value, _ *strictjson.Object) error {
		if i == limit && limit > 0 {
			d.report(refused, "", v.Start, "has more than %d elements", limit)
			ok = false
			return errStop
		}
		d.path = append(d.path, step{"", i})
		ok = read(v) && ok
		d.path = d.path[:len(d.path)-1]
		if d.full {
			return errStop
		}
		return nil
	})
	return ok && !d.full
}

func (k *listKind[T]) append(dst []byte, list []T) []byte {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = k.of.append(dst, e)
	}
	return append(dst, ']')
}

// record is an object with known fields.
type record interface {
	visit(f *fields)
	extra() *JSON
}

// recordKind is an object of type T.
type recordKind[T any, P interface {
	*T
	record
}] struct {
	notNull
	what string
}

func (k *recordKind[T, P]) String() string { return k.what }

func (k *recordKind[T, P]) read(d *decoder, v strictjson.Value) (T, bool) {
	var t T
	ok := d.record(v, P(&t))
	return t, ok
}

func (k *recordKind[T, P]) append(dst []byte, v T) []byte { return appendRecord(dst, P(&v)) }

// record reads an object into r and reports whether it is valid.
func (d *decoder) record(v strictjson.Value, r record) bool {
	f := d.enter(v)
	if f == nil {
		return false
	}
	defer f.leave()
	before := d.refused
	r.visit(f)
	*r.extra() = f.rest(true)
	return d.refused == before && !d.full
}

func appendRecord(dst []byte, r record) []byte {
	f := fields{out: append(dst, '{')}
	r.visit(&f)
	return append(appendMembers(f.out, f.more, *r.extra()), '}')
}

// stringList is an array of strings.
var stringList kind[[]string] = &listKind[string]{of: text, what: "strings"}
