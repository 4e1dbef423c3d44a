package envelope

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/envelope/event/names"
)

// maxFamilies is how many names are told apart in one count, and
// maxFamilyBytes how long one may be, so that hostile names cost no memory.
// The event types of AG-UI, about forty, are told apart beyond it: what a run
// has of them must not depend on what else it has.
const (
	maxFamilies    = 512
	maxFamilyBytes = 128
)

// MaxFamilies is how many names of event types one count may hold.
func MaxFamilies() int { return maxFamilies + names.Count() }

// Counts counts names in the order of their first appearance. The zero value
// has counted nothing.
type Counts struct {
	names     []string
	counts    []int
	index     map[string]int
	uncounted int
}

// AddRole counts a message's role, in which halves of surrogate pairs are U+FFFD.
// Roles past the sixteenth are not counted.
func (f *Counts) AddRole(role string) {
	if role = strings.ToValidUTF8(role, "\uFFFD"); f.Len() < maxRoles || f.Count(role) > 0 {
		f.Add(role)
	}
}

// Add counts one more of name.
func (f *Counts) Add(name string) {
	i, ok := f.index[name]
	if !ok {
		if len(f.names) >= maxFamilies && !names.IsReleased(name) || len(name) > maxFamilyBytes {
			f.uncounted++
			return
		}
		if f.index == nil {
			f.index = make(map[string]int)
		}
		i = len(f.names)
		name = strings.Clone(name)
		f.index[name] = i
		f.names, f.counts = append(f.names, name), append(f.counts, 0)
	}
	f.counts[i]++
}

// Count returns how many of name were counted.
func (f *Counts) Count(name string) int {
	if i, ok := f.index[name]; ok {
		return f.counts[i]
	}
	return 0
}

// All calls yield for each name in the order of first appearance.
func (f *Counts) All(yield func(name string, count int) bool) {
	for i, name := range f.names {
		if !yield(name, f.counts[i]) {
			return
		}
	}
}

// Len returns how many names were told apart.
func (f *Counts) Len() int { return len(f.names) }

// Uncounted returns how often a name was added that is not told apart: one past
// the number, or past the length, of those that are.
func (f *Counts) Uncounted() int { return f.uncounted }

// MarshalJSONTo writes an object of name to count, in order.
func (f Counts) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for name, n := range f.All {
		if err := enc.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if err := enc.WriteToken(jsontext.Int(int64(n))); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// MarshalJSON is MarshalJSONTo for encoding/json.
func (f Counts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := f.MarshalJSONTo(jsontext.NewEncoder(&b)); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// UnmarshalJSON is UnmarshalJSONFrom for encoding/json.
func (f *Counts) UnmarshalJSON(data []byte) error {
	if string(data) == "null" { // which encoding/json has change nothing
		return nil
	}
	return f.UnmarshalJSONFrom(jsontext.NewDecoder(bytes.NewReader(data)))
}

// UnmarshalJSONFrom reads what MarshalJSONTo wrote.
func (f *Counts) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return orWrong(err)
	}
	*f = Counts{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		value, err := dec.ReadToken()
		if err != nil || value.Kind() != '0' {
			return orWrong(err)
		}
		n, err := value.Int()
		if err != nil || n < 1 {
			return orWrong(err)
		}
		f.Add(key)
		if i, ok := f.index[key]; ok {
			f.counts[i] = int(n)
		}
	}
	_, err := dec.ReadToken()
	return err
}

func orWrong(err error) error {
	if err == nil {
		err = fmt.Errorf("families are not an object of names to counts")
	}
	return err
}

// count puts a number before the form of a noun that goes with it.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
