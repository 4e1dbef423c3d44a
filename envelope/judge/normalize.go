package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Normalize returns a JSON text in a form that is equal for equal values as JavaScript
// sees them: keys are sorted, of duplicate keys the last counts, and numbers are rounded
// to binary64. A number beyond its range becomes null, as in JSON.stringify, and -0
// becomes 0. Lone surrogates stay.
func Normalize(text string) (string, error) {
	// encoding/json would replace lone surrogates by U+FFFD, so their escapes are
	// protected before it reads them.
	d := json.NewDecoder(strings.NewReader(protect(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", fmt.Errorf("%w in %.200q", err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		return "", fmt.Errorf("more than one value in %.200q", text)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(round(v)); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Equal reports whether two JSON texts have the same value as JavaScript sees it. A text
// that is not JSON equals none.
func Equal(a, b string) bool {
	x, err := Normalize(a)
	if err != nil {
		return false
	}
	y, err := Normalize(b)
	return err == nil && x == y
}

// round rounds the numbers of a value.
func round(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil || math.IsInf(f, 0) {
			return nil
		}
		return f + 0 // +0 for -0
	case []any:
		for i := range v {
			v[i] = round(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = round(v[k])
		}
	}
	return v
}

// mark precedes the digits of a protected surrogate. Texts that contain it already are
// escaped too, so that no two texts become one.
const mark = "\U00100000"

// protect replaces the escape \udXXX of each lone surrogate by the mark and the digits in
// lower case.
func protect(text string) string {
	if !strings.Contains(text, `\u`) && !strings.Contains(text, mark) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], mark):
			b.WriteString(mark + mark)
			i += len(mark)
		case text[i] != '\\' || i+1 == len(text):
			b.WriteByte(text[i])
			i++
		default:
			first := surrogate(text[i:])
			switch {
			case first == 0:
				b.WriteString(text[i : i+2])
				i += 2
			case first < 0xDC00 && surrogate(text[i+6:]) >= 0xDC00:
				b.WriteString(text[i : i+12])
				i += 12
			default:
				b.WriteString(mark + strings.ToLower(text[i+2:i+6]))
				i += 6
			}
		}
	}
	return b.String()
}

// surrogate returns the surrogate that the text starts with the escape of, or 0.
func surrogate(text string) uint64 {
	if len(text) < 6 || text[:2] != `\u` {
		return 0
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil || n < 0xD800 || n > 0xDFFF {
		return 0
	}
	return n
}

// FirstState returns the state in the input of the first RUN_STARTED, or {}. The client that
// sent the input has this state before the first event.
func FirstState(events []string) string {
	for _, text := range events {
		var e struct {
			Type  string
			Input struct{ State json.RawMessage }
		}
		if json.Unmarshal([]byte(text), &e) == nil && e.Type == "RUN_STARTED" {
			if state := string(e.Input.State); state != "" && state != "null" {
				return state
			}
			break
		}
	}
	return "{}"
}

// WithoutBinaryResults removes binary parts from tool results, where the client drops them
// instead of converting them.
func WithoutBinaryResults(events []string) []string {
	const part = `{"type":"binary","mimeType":"image/png","data":"QUJD","filename":"a.png"}`
	cut := slices.Clone(events)
	for i, text := range cut {
		if strings.HasPrefix(text, `{"type":"TOOL_CALL_RESULT"`) {
			cut[i] = strings.NewReplacer(","+part, "", part, "").Replace(text)
		}
	}
	return cut
}
