package trace

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// ReadLine reads the text of a line of a trace as a Normalizer makes it. The line keeps
// text. The error says why text is no line.
func ReadLine(text []byte, at envelope.Ref) (*Line, error) {
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	o, ok := v.(*jsonvalue.Object)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	eventType := nameOf(o, "type")
	if eventType == "" {
		return nil, errors.New("its type is not a string")
	}
	o.Delete("type")
	if string(appendLine(nil, eventType, o)) != string(text) {
		return nil, errors.New("it is not as a trace is written: the type first, the other members sorted by name, and no white space")
	}
	return &Line{Type: eventType, Text: text, First: at, Last: at, order: orderOf(eventType, o), subject: subjectOf(o)}, nil
}

// appendLine appends the text of a line.
func appendLine(dst []byte, eventType string, value *jsonvalue.Object) []byte {
	dst = append(dst, `{"type":`...)
	dst = jsonvalue.AppendString(dst, eventType)
	if value.Len() > 0 {
		dst = append(dst, ',')
		return appendVisible(dst, jsonvalue.Append(nil, canonical(value))[1:])
	}
	return append(dst, '}')
}

// appendVisible appends JSON text, in which characters that are not visible are escaped.
func appendVisible(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			dst = append(dst, text[i])
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if size > 1 && finding.NeedsEscape(r) {
			dst = strictjson.AppendEscaped(dst, r)
		} else {
			dst = append(dst, text[i:i+size]...)
		}
		i += size
	}
	return dst
}

// canonical returns a value in which members are sorted by name and equal numbers have one
// text. It changes v.
func canonical(v jsonvalue.Value) jsonvalue.Value {
	switch v := v.(type) {
	case jsonvalue.Number:
		return number(v)
	case *jsonvalue.Array:
		for i, e := range v.All {
			v.Set(i, canonical(e))
		}
	case *jsonvalue.Object:
		names := sorted(v)
		o := new(jsonvalue.Object)
		for _, name := range names {
			e, _ := v.Get(name)
			o.Set(name, canonical(e))
		}
		return o
	}
	return v
}

// number returns the text that stands for all numbers with the same value: its digits without
// zeros at the ends, as an integer or decimal if that has at most 21 digits, and otherwise
// with an exponent.
func number(n jsonvalue.Number) jsonvalue.Number {
	text := string(n)
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(text[i+1:])
		if err != nil || e > 1<<30 || e < -1<<30 {
			return n // beyond all use; equal only to itself
		}
		mantissa, exponent = text[:i], e
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	point := len(digits) - len(fraction) + exponent // digits before the decimal point
	digits = strings.TrimRight(digits, "0")
	switch {
	case digits == "":
		return "0"
	case point > 21 || point < -5:
		e := strconv.Itoa(point - 1)
		if len(digits) > 1 {
			digits = digits[:1] + "." + digits[1:]
		}
		return jsonvalue.Number(sign + digits + "e" + e)
	case point <= 0:
		return jsonvalue.Number(sign + "0." + strings.Repeat("0", -point) + digits)
	case point >= len(digits):
		return jsonvalue.Number(sign + digits + strings.Repeat("0", point-len(digits)))
	}
	return jsonvalue.Number(sign + digits[:point] + "." + digits[point:])
}
