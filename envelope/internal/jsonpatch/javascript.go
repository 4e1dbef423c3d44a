package jsonpatch

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/p20export/p20export/internal/jsonvalue"
)

// The client's dialect needs three values of JavaScript that JSON does not have. They
// exist while a patch is applied; toJSON removes them afterwards.
type (
	// missing is undefined.
	missing struct{}
	// function is a function that all objects of a kind inherit.
	function struct{}
	// loop is the document, moved into itself.
	loop struct{ document jsonvalue.Value }
)

var (
	errBanned   = errors.New("the client bans __proto__ and constructor/prototype")
	errCyclic   = errors.New("the document would contain itself")
	errFunction = errors.New("it leads into a function of JavaScript")
	errLength   = errors.New("it leads to the length of an array")
	errProperty = errors.New("it leads into null or undefined")
)

// inherits reports whether v inherits a property.
func inherits(v jsonvalue.Value, name string) bool {
	switch name {
	case "constructor", "__defineGetter__", "__defineSetter__", "hasOwnProperty",
		"__lookupGetter__", "__lookupSetter__", "isPrototypeOf", "propertyIsEnumerable",
		"toString", "valueOf", "toLocaleString":
		return true
	}
	switch v.(type) {
	case *jsonvalue.Array:
		return ofArray(name)
	case string:
		return ofString(name)
	case jsonvalue.Number:
		return name == "toExponential" || name == "toFixed" || name == "toPrecision"
	}
	return false
}

func ofArray(name string) bool {
	switch name {
	case "at", "concat", "copyWithin", "fill", "find", "findIndex", "findLast",
		"findLastIndex", "lastIndexOf", "pop", "push", "reverse", "shift", "unshift", "slice",
		"sort", "splice", "includes", "indexOf", "join", "keys", "entries", "values",
		"forEach", "filter", "flat", "flatMap", "map", "every", "some", "reduce",
		"reduceRight", "toReversed", "toSorted", "toSpliced", "with":
		return true
	}
	return false
}

func ofString(name string) bool {
	switch name {
	case "anchor", "at", "big", "blink", "bold", "charAt", "charCodeAt", "codePointAt",
		"concat", "endsWith", "fontcolor", "fontsize", "fixed", "includes", "indexOf",
		"isWellFormed", "italics", "lastIndexOf", "link", "localeCompare", "match",
		"matchAll", "normalize", "padEnd", "padStart", "repeat", "replace", "replaceAll",
		"search", "slice", "small", "split", "strike", "sub", "substr", "substring", "sup",
		"startsWith", "toWellFormed", "trim", "trimStart", "trimLeft", "trimEnd",
		"trimRight", "toLocaleLowerCase", "toLocaleUpperCase", "toLowerCase",
		"toUpperCase":
		return true
	}
	return false
}

func isContainer(v jsonvalue.Value) bool {
	switch v.(type) {
	case *jsonvalue.Object, *jsonvalue.Array, loop:
		return true
	}
	return false
}

// truthy reports whether JavaScript takes v for true.
func truthy(v jsonvalue.Value) bool {
	switch v := v.(type) {
	case nil, missing:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case jsonvalue.Number:
		return jsonvalue.Float64(v) != 0
	}
	return true
}

// get returns v[name].
func (d *Document) get(v jsonvalue.Value, name string) (jsonvalue.Value, error) {
	switch v := v.(type) {
	case nil, missing:
		return nil, errProperty
	case function:
		return nil, errFunction
	case *jsonvalue.Object:
		if m, ok := v.Get(name); ok {
			return m, nil
		}
	case *jsonvalue.Array:
		if i, ok := canonicalIndex(name, v.Len()); ok {
			return v.At(i), nil
		}
		if name == "length" {
			return jsonvalue.Number(strconv.Itoa(v.Len())), nil
		}
	case string:
		return d.getOfString(v, name)
	}
	if inherits(v, name) {
		return function{}, nil
	}
	return missing{}, nil
}

// getJSON returns v[name] in a copy of the document that went through JSON. There are no
// values in it that JSON does not have.
func (d *Document) getJSON(v jsonvalue.Value, name string) (jsonvalue.Value, error) {
	property, err := d.get(v, name)
	if err != nil || property != (missing{}) && property != (function{}) {
		return property, err
	}
	switch v := v.(type) {
	case *jsonvalue.Object:
		if inherits(v, name) {
			return function{}, nil
		}
		return missing{}, nil
	case *jsonvalue.Array:
		if _, ok := canonicalIndex(name, v.Len()); ok {
			return nil, nil
		}
	}
	return property, nil
}

// getOfString returns s[name]. Indexes and the length of s count UTF-16 code units.
func (d *Document) getOfString(s, name string) (jsonvalue.Value, error) {
	i, ok := canonicalIndex(name, len(s))
	if !ok && name != "length" {
		if inherits(s, name) {
			return function{}, nil
		}
		return missing{}, nil
	}
	if err := d.work(len(s)); err != nil {
		return nil, err
	}
	units := 0
	for j := 0; j < len(s); {
		r, n := utf8.DecodeRuneInString(s[j:])
		text := s[j : j+n]
		switch {
		case r == utf8.RuneError && n == 1:
			n = 3 // half a surrogate pair
			text = s[j : j+n]
		case n == 4:
			high, low := utf16.EncodeRune(r)
			switch {
			case ok && i == units:
				return half(high), nil
			case ok && i == units+1:
				return half(low), nil
			}
			units++
		}
		if ok && i == units {
			return text, nil
		}
		units++
		j += n
	}
	if ok {
		return missing{}, nil
	}
	return jsonvalue.Number(strconv.Itoa(units)), nil
}

// half returns half a surrogate pair as a string.
func half(r rune) string {
	return string([]byte{byte(0xe0 | r>>12), byte(0x80 | r>>6&0x3f), byte(0x80 | r&0x3f)})
}

// canonicalIndex returns the index below length of which name is the text.
func canonicalIndex(name string, length int) (int, bool) {
	i, err := strconv.Atoi(name)
	return i, err == nil && 0 <= i && i < length && (name[0] != '0' || name == "0") && name[0] != '+' && name[0] != '-'
}

// place is v[name] in JavaScript; v is p.in.
type place struct {
	in   jsonvalue.Value
	name string
	// index replaces the name if in is an array and the name has only digits, or is "-".
	index   int
	indexed bool
}

// step returns the place in v to which tokens[i] leads, and notes that v is on the way.
func (d *Document) step(v jsonvalue.Value, tokens []string, i int) (place, error) {
	if l, ok := v.(loop); ok {
		v = l.document
		d.open = d.open[:0]
	}
	d.enter(v)
	p := place{in: v, name: "undefined"}
	a, isArray := v.(*jsonvalue.Array)
	if i >= len(tokens) { // a pointer without a slash
		if isArray {
			return p, errProperty
		}
		return p, nil
	}
	p.name = unescape(tokens[i])
	if p.name == "__proto__" || p.name == "prototype" && tokens[i-1] == "constructor" {
		return p, errBanned
	}
	switch {
	case !isArray:
	case p.name == "-":
		p.index, p.indexed = a.Len(), true
	case strings.Trim(p.name, "0123456789") == "":
		p.index, p.indexed = toInt32(p.name), true
	}
	return p, nil
}

// toInt32 converts digits as ~~ does in JavaScript.
func toInt32(digits string) int {
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0 // no digits, or infinity
	}
	return int(int32(uint32(math.Mod(f, 1<<32))))
}

// place returns the place to which a pointer other than "" leads, without validation.
func (d *Document) place(pointer string) (place, error) {
	d.open = d.open[:0]
	tokens := strings.Split(pointer, "/")
	v := d.root
	for i := 1; ; i++ {
		p, err := d.step(v, tokens, i)
		if err != nil || i >= len(tokens)-1 {
			return p, err
		}
		if v, err = d.value(p); err != nil {
			return p, err
		}
	}
}

// value returns the value at a place.
func (d *Document) value(p place) (jsonvalue.Value, error) {
	if p.indexed {
		if a := p.in.(*jsonvalue.Array); 0 <= p.index && p.index < a.Len() {
			return a.At(p.index), nil
		}
		return missing{}, nil
	}
	return d.get(p.in, p.name)
}

// addAt assigns a value, which was in from arrays and objects, to a place, or inserts it
// into an array.
func (d *Document) addAt(p place, v jsonvalue.Value, from int) error {
	if err := d.checkDepth(v, from); err != nil {
		return err
	}
	switch v.(type) {
	case missing, function, loop:
		d.special = true
	}
	switch in := p.in.(type) {
	case nil, missing:
		return errProperty
	case *jsonvalue.Object:
		d.setMember(in, p.name, v)
	case *jsonvalue.Array:
		if p.indexed {
			d.insertElement(in, clampIndex(p.index, in.Len()), v)
		} else if p.name == "length" {
			return errLength
		}
		// Other properties of an array are not part of its JSON.
	}
	return nil // JavaScript ignores assignments to properties of other values
}

// removeAt removes the value at a place and returns it.
func (d *Document) removeAt(p place) (jsonvalue.Value, error) {
	switch in := p.in.(type) {
	case *jsonvalue.Array:
		i := p.index
		if !p.indexed {
			i = toInteger(p.name)
		}
		if i = clampIndex(i, in.Len()); i == in.Len() {
			return missing{}, nil
		}
		return d.removeElement(in, i), nil
	case *jsonvalue.Object:
		if _, ok := in.Get(p.name); ok {
			return d.removeMember(in, p.name), nil
		}
	}
	return d.get(p.in, p.name)
}

// clampIndex returns the index at which splice begins in an array of n elements.
func clampIndex(i, n int) int {
	if i < 0 {
		return max(n+i, 0)
	}
	return min(i, n)
}

// toInteger converts a name that splice takes for an index. Names that are not decimal
// numbers count as 0.
func toInteger(name string) int {
	name = strings.TrimSpace(name)
	if strings.Trim(name, "0123456789+-.eE") != "" {
		return 0
	}
	f, _ := strconv.ParseFloat(name, 64)
	return int(max(min(f, MaxBytes), -MaxBytes))
}

// isJSON reports whether v is a value of JSON, apart from what it contains.
func isJSON(v jsonvalue.Value) bool {
	switch v.(type) {
	case missing, function, loop:
		return false
	}
	return true
}

// hasMember reports whether an object at any depth has a member.
func hasMember(v jsonvalue.Value, name string) bool {
	switch v := v.(type) {
	case *jsonvalue.Array:
		for _, e := range v.All {
			if hasMember(e, name) {
				return true
			}
		}
	case *jsonvalue.Object:
		if _, ok := v.Get(name); ok {
			return true
		}
		for _, m := range v.All {
			if hasMember(m, name) {
				return true
			}
		}
	}
	return false
}

// cyclic reports whether the document contains itself.
func (d *Document) cyclic() (bool, error) {
	if !d.special {
		return false, nil
	}
	if err := d.work(d.Size()); err != nil {
		return false, err
	}
	return hasLoop(d.root), nil
}

func hasLoop(v jsonvalue.Value) bool {
	switch v := v.(type) {
	case loop:
		return true
	case *jsonvalue.Array:
		for _, e := range v.All {
			if hasLoop(e) {
				return true
			}
		}
	case *jsonvalue.Object:
		for _, m := range v.All {
			if hasLoop(m) {
				return true
			}
		}
	}
	return false
}

// cloneJSON returns a copy of v that went through JSON.
func (d *Document) cloneJSON(v jsonvalue.Value) (jsonvalue.Value, error) {
	if v == (missing{}) {
		return nil, nil
	}
	v, err := d.clone(v)
	if err != nil {
		return nil, err
	}
	if d.special {
		dropSpecial(v)
		measure(v)
	}
	return v, nil
}

// toJSON removes the values from the document that JSON does not have.
func (d *Document) toJSON() error {
	cyclic, err := d.cyclic()
	if err != nil {
		return err
	}
	if cyclic {
		return errCyclic
	}
	dropSpecial(d.root)
	measure(d.root)
	return nil
}

// dropSpecial removes members of v that JSON does not have, and makes such elements null.
func dropSpecial(v jsonvalue.Value) {
	switch v := v.(type) {
	case *jsonvalue.Array:
		for i, e := range v.All {
			if !isJSON(e) {
				v.Set(i, nil)
			}
			dropSpecial(e)
		}
	case *jsonvalue.Object:
		var names []string
		for name, m := range v.All {
			if !isJSON(m) {
				names = append(names, name)
			}
			dropSpecial(m)
		}
		for _, name := range names {
			v.Delete(name)
		}
	}
}
