package assay

import (
	"bytes"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// longNumber is the length in bytes from which strconv.ParseFloat may misread a number.
// ParseFloat keeps 800 digits and does not count further digits of an integer. It also
// does not compute exponents beyond 9,999 exactly, although many zeros can bring such a
// number back into range. (With Go 1.26, 1 followed by 800 zeros and e-800 is read as
// 0.1.)
const longNumber = 780

// decisive is the number of digits that determine the nearest double. One more digit
// shows whether all further digits are 0.
const decisive = 770

// finite reports whether a JSON number is in the range of IEEE doubles.
func finite(number []byte) bool {
	if len(number) < 300 && !bytes.ContainsAny(number, "eE") {
		return true
	}
	f, _ := strconv.ParseFloat(string(shorten(number)), 64)
	return !math.IsInf(f, 0)
}

// canonical returns the canonical form of raw (RFC 8785).
func canonical(raw jsontext.Value) (jsontext.Value, error) {
	v := jsontext.Value(shortenAll(raw))
	err := v.Canonicalize()
	return v, err
}

// shortenAll returns a copy of a JSON text in which ParseFloat reads all numbers
// correctly.
func shortenAll(raw []byte) []byte {
	if len(raw) < longNumber {
		return bytes.Clone(raw)
	}
	out := make([]byte, 0, len(raw))
	number, inside, escaped := -1, false, false // start of the current number, or -1
	for i, c := range raw {
		digit := !inside && (c == '-' || c == '+' || c == '.' || '0' <= c && c <= '9' || number >= 0 && c|0x20 == 'e')
		if digit && number < 0 {
			number = i
		} else if !digit {
			if number >= 0 {
				out = append(out, shorten(raw[number:i])...)
				number = -1
			}
			out = append(out, c)
		}
		if c == '"' && !escaped {
			inside = !inside
		}
		escaped = inside && c == '\\' && !escaped
	}
	if number >= 0 {
		out = append(out, shorten(raw[number:])...)
	}
	return out
}

// shorten rewrites a long JSON number with decisive digits and one more.
func shorten(number []byte) []byte {
	if len(number) < longNumber {
		return number
	}
	mantissa, power, _ := bytes.Cut(bytes.ReplaceAll(number, []byte("E"), []byte("e")), []byte("e"))
	mantissa, negative := bytes.CutPrefix(mantissa, []byte("-"))
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	exponent, err := strconv.ParseInt(string(power), 10, 32)
	if err != nil && len(power) > 0 { // out of range; the digits cannot bring it back
		exponent = math.MaxInt32
		if power[0] == '-' {
			exponent = math.MinInt32
		}
	}
	exponent -= int64(len(fraction))
	digits := bytes.TrimLeft(append(bytes.Clone(whole), fraction...), "0")
	if len(digits) > decisive {
		rest := digits[decisive:]
		exponent += int64(len(rest)) - 1
		last := byte('0')
		if len(bytes.Trim(rest, "0")) > 0 {
			last = '1'
		}
		digits = append(digits[:decisive:decisive], last)
	}
	if len(digits) == 0 {
		digits = []byte("0")
	}
	var out []byte
	if negative {
		out = append(out, '-')
	}
	out = append(append(out, digits...), 'e')
	return strconv.AppendInt(out, exponent, 10)
}
