package trace

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// changes returns the values that differ in two lines.
func changes(a, b []byte) (list []Change, err error) {
	x, err := parse(a)
	if err != nil {
		return nil, err
	}
	y, err := parse(b)
	if err != nil {
		return nil, err
	}
	compareValues("", x, y, &list)
	return list, nil
}

func parse(text []byte) (jsonvalue.Value, error) {
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, strictjson.NewDecoder(text), text)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return jsonvalue.Parse(v), nil
}

// none stands for a value that is not there.
type none struct{}

func compareValues(path finding.Pointer, a, b jsonvalue.Value, list *[]Change) {
	text := func(v jsonvalue.Value) []byte {
		if _, absent := v.(none); absent {
			return nil
		}
		return jsonvalue.Append(nil, v)
	}
	if bytes.Equal(text(a), text(b)) && text(a) != nil {
		return
	}
	switch x := a.(type) {
	case *jsonvalue.Object:
		y, ok := b.(*jsonvalue.Object)
		if !ok {
			break
		}
		names := append(sorted(x), sorted(y)...)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			compareValues(path.Name(name), member(x, name), member(y, name), list)
		}
		return
	case *jsonvalue.Array:
		y, ok := b.(*jsonvalue.Array)
		if !ok {
			break
		}
		compareElements(path, x, y, list)
		return
	}
	*list = append(*list, Change{Pointer: path, A: text(a), B: text(b)})
}

// compareElements compares arrays without what is equal at both ends. Of what is left, elements
// are compared in pairs, and the others are only in one.
func compareElements(path finding.Pointer, a, b *jsonvalue.Array, list *[]Change) {
	first, la, lb := 0, a.Len(), b.Len()
	same := func(i, j int) bool {
		return bytes.Equal(jsonvalue.Append(nil, a.At(i)), jsonvalue.Append(nil, b.At(j)))
	}
	for first < min(la, lb) && same(first, first) {
		first++
	}
	for la > first && lb > first && same(la-1, lb-1) {
		la, lb = la-1, lb-1
	}
	for i := first; i < max(la, lb); i++ {
		x, y := jsonvalue.Value(none{}), jsonvalue.Value(none{})
		if i < la {
			x = a.At(i)
		}
		if i < lb {
			y = b.At(i)
		}
		compareValues(path.Index(i), x, y, list)
	}
}

func member(o *jsonvalue.Object, name string) jsonvalue.Value {
	if v, ok := o.Get(name); ok {
		return v
	}
	return none{}
}
