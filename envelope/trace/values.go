package trace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

func parse(text []byte) (jsonvalue.Value, error) {
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, strictjson.NewDecoder(text), text)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return jsonvalue.Parse(v), nil
}

// changes returns the values that differ in two lines. Names in the same place that have no
// counterpart yet are of the same id from then on.
func (c *comparison) changes(a, b *Line) (list []Change, err error) {
	x, err := parse(a.Text)
	if err != nil {
		return nil, err
	}
	y, err := parse(b.Text)
	if err != nil {
		return nil, err
	}
	c.compareValues("", x, y, &list)
	return list, nil
}

// compareValues adds the values that differ to list.
func (c *comparison) compareValues(path finding.Pointer, a, b jsonvalue.Value, list *[]Change) {
	switch x := a.(type) {
	case *jsonvalue.Object:
		if y, ok := b.(*jsonvalue.Object); ok {
			c.compareMembers(path, x, y, list)
			return
		}
	case *jsonvalue.Array:
		if y, ok := b.(*jsonvalue.Array); ok {
			c.compareElements(path, x, y, list)
			return
		}
	case string:
		if y, ok := b.(string); ok && roleIn(x) != 0 && roleIn(x) == roleIn(y) && c.pair(x, y) {
			return
		}
	}
	other := c.translate(b)
	if jsonvalue.Equal(a, other) {
		return
	}
	*list = append(*list, Change{Pointer: path, A: jsonvalue.Append(nil, a), B: jsonvalue.Append(nil, other)})
}

func (c *comparison) compareMembers(path finding.Pointer, a, b *jsonvalue.Object, list *[]Change) {
	translated := map[string]jsonvalue.Value{} // the members of b by their names in a
	var names []string
	for name, v := range b.All {
		name = c.translateText(name)
		translated[name] = v
		names = append(names, name)
	}
	names = append(names, sorted(a)...)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, inA := a.Get(name)
		y, inB := translated[name]
		switch at := path.Name(name); {
		case inA && inB:
			c.compareValues(at, x, y, list)
		case inA:
			*list = append(*list, Change{Pointer: at, A: jsonvalue.Append(nil, x)})
		default:
			*list = append(*list, Change{Pointer: at, B: jsonvalue.Append(nil, c.translate(y))})
		}
	}
}

// maxAligned limits the product of the lengths of arrays that are aligned. The elements of longer
// ones are compared in pairs.
const maxAligned = 1 << 18

// maxCompared limits the bytes that are compared for an alignment, at most.
const maxCompared = 1 << 27

// compareElements compares arrays, aligned so that as many elements as possible are equal, or
// else alike. What is equal at both ends is left out first.
func (c *comparison) compareElements(path finding.Pointer, a, b *jsonvalue.Array, list *[]Change) {
	first, la, lb := 0, a.Len(), b.Len()
	for first < min(la, lb) && c.alike(a.At(first), b.At(first)) == equalElements {
		c.compareValues(path.Index(first), a.At(first), b.At(first), list) // for the names
		first++
	}
	for la > first && lb > first && c.alike(a.At(la-1), b.At(lb-1)) == equalElements {
		la, lb = la-1, lb-1
	}
	steps := pairs(la-first, lb-first)
	if rest, other := la-first, lb-first; rest*other <= maxAligned && rest*jsonvalue.Size(b)+other*jsonvalue.Size(a) <= maxCompared {
		steps = alignment(la-first, lb-first, func(i, j int) int32 { return c.alike(a.At(first+i), b.At(first+j)) })
	}
	i, j := first, first
	for _, s := range steps {
		switch s {
		case both:
			c.compareValues(path.Index(i), a.At(i), b.At(j), list)
			i, j = i+1, j+1
		case onlyA:
			*list = append(*list, Change{Pointer: path.Index(i), A: jsonvalue.Append(nil, a.At(i))})
			i++
		case onlyB:
			*list = append(*list, Change{Pointer: path.Index(j), B: jsonvalue.Append(nil, c.translate(b.At(j)))})
			j++
		}
	}
	for ; i < a.Len() && j < b.Len(); i, j = i+1, j+1 {
		c.compareValues(path.Index(i), a.At(i), b.At(j), list) // for the names
	}
}

// equalElements is how much equal elements are alike.
const equalElements = 4

// alike returns how much two elements are alike: 0 if they are about different things. Names
// that have no counterpart yet are taken for those of the same id.
func (c *comparison) alike(a, b jsonvalue.Value) int32 {
	if c.equalValues(a, b) {
		return equalElements
	}
	x, isObject := a.(*jsonvalue.Object)
	y, ok := b.(*jsonvalue.Object)
	if !isObject || !ok {
		return 1
	}
	for _, member := range [...]string{"id", "path"} { // of a message, or of an operation
		if s, t := text(x, member), text(y, member); s != "" && t != "" && (c.names[0][s] == t || roleIn(s) == 0 && c.translateText(t) == s) {
			return 3
		}
	}
	for _, member := range [...]string{"role", "type", "op"} {
		if text(x, member) != text(y, member) {
			return 0
		}
	}
	return 1
}

// equalValues reports whether two values are equal, or would be if names without a counterpart
// were of the same ids.
func (c *comparison) equalValues(a, b jsonvalue.Value) bool {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		if !ok {
			return false
		}
		if roleIn(x) != 0 && roleIn(x) == roleIn(y) {
			return c.canPair(x, y)
		}
		return x == c.translateText(y)
	case *jsonvalue.Array:
		y, ok := b.(*jsonvalue.Array)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for i, e := range x.All {
			if !c.equalValues(e, y.At(i)) {
				return false
			}
		}
		return true
	case *jsonvalue.Object:
		y, ok := b.(*jsonvalue.Object)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for name, v := range y.All {
			if e, ok := x.Get(c.translateText(name)); !ok || !c.equalValues(e, v) {
				return false
			}
		}
		return true
	}
	return jsonvalue.Equal(a, b)
}

// canPair reports whether two names are of the same id, or can be because both have no
// counterpart yet.
func (c *comparison) canPair(x, y string) bool {
	to, old := c.names[0][x]
	from, taken := c.names[1][y]
	return !old && !taken || to == y && from == x
}

// pair is canPair, after which the names are of the same id.
func (c *comparison) pair(x, y string) bool {
	if !c.canPair(x, y) {
		return false
	}
	c.names[0][x], c.names[1][y] = y, x
	return true
}

// translate returns a value of the second trace with the names of the first one, as far as they
// have counterparts.
func (c *comparison) translate(v jsonvalue.Value) jsonvalue.Value {
	switch v := v.(type) {
	case string:
		return c.translateText(v)
	case *jsonvalue.Array:
		to := new(jsonvalue.Array)
		for _, e := range v.All {
			to.Append(c.translate(e))
		}
		return to
	case *jsonvalue.Object:
		to := new(jsonvalue.Object)
		for name, e := range v.All {
			to.Set(c.translateText(name), c.translate(e))
		}
		return to
	}
	return v
}

// translateText is translate for a string: a name, a JSON Pointer with names, or a text with
// names between quotes.
func (c *comparison) translateText(s string) string {
	if roleIn(s) != 0 {
		return c.translateName(s)
	}
	if !strings.HasPrefix(s, "/") {
		return quotedNames(s, c.translateName)
	}
	tokens := strings.Split(s, "/")
	for i, t := range tokens {
		if roleIn(t) != 0 {
			tokens[i] = c.translateName(t)
		}
	}
	return strings.Join(tokens, "/")
}

// translateName is translate for a name. One that has no counterpart keeps its number, and says
// so if the first trace has the number for another id.
func (c *comparison) translateName(name string) string {
	if to, ok := c.names[1][name]; ok {
		return to
	}
	if _, ok := c.names[0][name]; ok && roleIn(name) != 0 {
		return name + " of B"
	}
	return name
}

// text returns a member that is a string, or "".
func text(o *jsonvalue.Object, member string) string {
	v, _ := o.Get(member)
	s, _ := v.(string)
	return s
}
