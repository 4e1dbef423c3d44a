package compact

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// contentOf returns a digest of a JSON value. Values that are equal have the same
// digest: the order of members and the notation of numbers and strings do not matter.
func contentOf(v strictjson.Value) [32]byte {
	return sha256.Sum256(appendCanonical(nil, jsonvalue.Parse(v)))
}

// appendCanonical appends a text that is the same for equal values.
func appendCanonical(dst []byte, v jsonvalue.Value) []byte {
	switch v := v.(type) {
	case jsonvalue.Number:
		return append(dst, decimal(string(v))...)
	case *jsonvalue.Array:
		dst = append(dst, '[')
		for _, e := range v.All {
			dst = append(appendCanonical(dst, e), ',')
		}
		return append(dst, ']')
	case *jsonvalue.Object:
		names := make([]string, 0, v.Len())
		for name := range v.All {
			names = append(names, name)
		}
		slices.Sort(names)
		dst = append(dst, '{')
		for _, name := range names {
			m, _ := v.Get(name)
			dst = append(jsonvalue.AppendString(dst, name), ':')
			dst = append(appendCanonical(dst, m), ',')
		}
		return append(dst, '}')
	}
	return jsonvalue.Append(dst, v)
}

// decimal returns the notation of a number that all numbers with the same value share:
// its digits without zeros at either end, and an exponent. An exponent of more than 18
// digits is not interpreted, and the number returned as it is.
func decimal(number string) string {
	mantissa, exponent := number, int64(0)
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa = number[:i]
		n, err := strconv.ParseInt(number[i+1:], 10, 64)
		if err != nil || n > 1e18 || n < -1e18 {
			return number
		}
		exponent = n
	}
	sign := ""
	if digits, ok := strings.CutPrefix(mantissa, "-"); ok {
		sign, mantissa = "-", digits
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= int64(len(fraction))
	trimmed := strings.TrimRight(digits, "0")
	if trimmed == "" {
		return "0"
	}
	exponent += int64(len(digits) - len(trimmed))
	return sign + trimmed + "e" + strconv.FormatInt(exponent, 10)
}
