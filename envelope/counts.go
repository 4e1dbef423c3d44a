package envelope

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/internal/eventnames"
)

// maxFamilies is the maximum number of names that are counted one by one, and
// maxFamilyBytes the maximum length of such a name. They bound the memory for
// hostile names. The event types of AG-UI, about forty, are always counted, so
// their counts do not depend on the other names.
const (
	maxFamilies    = 512
	maxFamilyBytes = 128
)

// MaxFamilies returns the maximum number of event types that a Counts counts.
func MaxFamilies() int { return maxFamilies + eventnames.Count() }

// Counts counts names and keeps the order of their first appearance. The zero value
// is empty.
type Counts struct {
	entries   []counted
	index     map[string]int // nil for a few names
	last      int            // index of the name that was counted last
	uncounted int
}

// counted is a name and how often it was counted.
type counted struct {
	name  string
	count int
}

// AddRole counts the role of a message. Half a surrogate pair in the role becomes
// U+FFFD. Only the first sixteen roles are counted.
func (f *Counts) AddRole(role string) {
	if role = strings.ToValidUTF8(role, "\uFFFD"); f.Len() < maxRoles || f.Count(role) > 0 {
		f.Add(role)
	}
}

// Add increments the count of name. If name is too long, or there are too many
// names, Add increments the number of uncounted names instead.
func (f *Counts) Add(name string) {
	if f.last < len(f.entries) && f.entries[f.last].name == name {
		f.entries[f.last].count++
		return
	}
	i := f.find(name)
	if i < 0 {
		known := eventnames.Intern([]byte(name))
		if len(f.entries) >= maxFamilies && known == "" || len(name) > maxFamilyBytes {
			f.uncounted++
			return
		}
		i = len(f.entries)
		if known != "" {
			name = known // comparing it with the type of an event is fast
		} else {
			name = strings.Clone(name)
		}
		if f.entries == nil {
			f.entries = make([]counted, 0, 4) // most have more than one
		}
		f.entries = append(f.entries, counted{name: name})
		switch {
		case f.index != nil:
			f.index[name] = i
		case len(f.entries) > fewNames:
			f.index = make(map[string]int)
			for i, e := range f.entries {
				f.index[e.name] = i
			}
		}
	}
	f.last = i
	f.entries[i].count++
}

// fewNames is the number of names up to which they are compared one by one.
const fewNames = 12

// find returns the index of name, or -1.
func (f *Counts) find(name string) int {
	if f.index == nil {
		return slices.IndexFunc(f.entries, func(e counted) bool { return e.name == name })
	}
	if i, ok := f.index[name]; ok {
		return i
	}
	return -1
}

// Count returns the count of name.
func (f *Counts) Count(name string) int {
	if i := f.find(name); i >= 0 {
		return f.entries[i].count
	}
	return 0
}

// All calls yield for each name in the order of first appearance.
func (f *Counts) All(yield func(name string, count int) bool) {
	for _, e := range f.entries {
		if !yield(e.name, e.count) {
			return
		}
	}
}

// Len returns the number of different names.
func (f *Counts) Len() int { return len(f.entries) }

// Uncounted returns how often Add was called with a name that is not counted,
// because it is too long or there are too many names.
func (f *Counts) Uncounted() int { return f.uncounted }

// MarshalJSONTo encodes f as an object of names and counts, in order.
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

// MarshalJSON implements json.Marshaler of encoding/json.
func (f Counts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	if err := f.MarshalJSONTo(jsontext.NewEncoder(&b)); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// UnmarshalJSON implements json.Unmarshaler of encoding/json.
func (f *Counts) UnmarshalJSON(data []byte) error {
	if string(data) == "null" { // a no-op by convention
		return nil
	}
	return f.UnmarshalJSONFrom(jsontext.NewDecoder(bytes.NewReader(data)))
}

// UnmarshalJSONFrom decodes an object that MarshalJSONTo wrote.
func (f *Counts) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return orMalformed(err)
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
			return orMalformed(err)
		}
		n, err := value.Int()
		if err != nil || n < 1 {
			return orMalformed(err)
		}
		f.Add(key)
		if i := f.find(key); i >= 0 {
			f.entries[i].count = int(n)
		}
	}
	_, err := dec.ReadToken()
	return err
}

// orMalformed returns err or, if err is nil, an error which says that the counts
// are malformed.
func orMalformed(err error) error {
	if err == nil {
		err = fmt.Errorf("families are not an object of names to counts")
	}
	return err
}

// count returns n and the singular or plural of a noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
