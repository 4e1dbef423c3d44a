package trace

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/internal/jsonpatch"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/jsonvalue"
)

// A document is a state or the content of an activity, as the events of a run make it.
type document struct {
	doc   jsonpatch.Document
	known bool
	// snapshot is the type of the events that set the document, and member the member of the
	// event that has it.
	snapshot, member string
}

func newState() document { return document{snapshot: eventnames.StateSnapshot, member: "snapshot"} }

// set makes the document a value, and reports whether that changes what counts of it. A value
// that is too large is not kept.
func (n *Normalizer) set(d *document, v envelope.Value) bool {
	if len(v.Raw) == 0 { // the event has none
		d.known = false
		return true
	}
	same := d.known && jsonvalue.Equal(n.matched(d, d.doc.Value()), n.matched(d, jsonvalue.Parse(v)))
	d.known = d.doc.Reset(v) == nil
	return !same
}

// patch applies the patch in a member of an event to a document, and puts the operations that
// have the same effect in its place in the normal form. It reports whether the event counts. A
// patch that does not apply, or whose document is not known, stays as it is.
func (n *Normalizer) patch(d *document, e *envelope.Event, value *jsonvalue.Object, member string) bool {
	ops, _ := e.Get(member)
	if ops.Kind != envelope.ArrayValue {
		return true
	}
	var touched *part
	var before jsonvalue.Value
	applied := false
	if list := jsonvalue.Parse(ops).(*jsonvalue.Array); d.known && areKnown(list) {
		touched = partOf(list)
		before = n.matched(d, touched.of(d.doc.Value()))
		applied = d.doc.Apply(ops, jsonpatch.RFC6902, func(int, string) {}) == nil
	}
	if !applied || n.options.Patches {
		n.matchOperations(d, value, member)
		return true
	}
	list := new(jsonvalue.Array)
	n.difference(list, "", before, n.matched(d, touched.of(d.doc.Value())))
	value.Set(member, list)
	return list.Len() > 0
}

// areKnown reports whether a patch has only operations that JSON Patch defines. A client refuses
// the others.
func areKnown(ops *jsonvalue.Array) bool {
	for _, op := range ops.All {
		o, ok := op.(*jsonvalue.Object)
		if !ok {
			return false
		}
		switch text(o, "op") {
		case "add", "remove", "replace", "move", "copy", "test":
		default:
			return false
		}
	}
	return true
}

// matchOperations changes what matchers match in the values of a patch that stays as it is.
func (n *Normalizer) matchOperations(d *document, value *jsonvalue.Object, member string) {
	ops, _ := value.Get(member)
	each(ops, func(op *jsonvalue.Object) {
		to, _ := op.Get("path")
		path, isString := to.(string)
		v, ok := op.Get("value")
		if !isString || !ok || path != "" && path[0] != '/' {
			return
		}
		if v, ok = n.matchers.applyAt(d.snapshot, append([]string{d.member}, tokens(path)...), v, nil); ok {
			op.Set("value", v)
		} else {
			op.Delete("value")
		}
	})
}

// A part is the parts of a value that a patch can change: all of it, or those of its members.
type part struct {
	all     bool
	members map[string]*part
}

// partOf returns what a patch can change.
func partOf(ops *jsonvalue.Array) *part {
	p := new(part)
	for _, op := range ops.All {
		o := op.(*jsonvalue.Object)
		for _, member := range [...]string{"path", "from"} {
			v, _ := o.Get(member)
			if path, ok := v.(string); ok {
				p.add(tokens(path))
			}
		}
	}
	return p
}

func (p *part) add(tokens []string) {
	for _, t := range tokens {
		if p.members == nil {
			p.members = map[string]*part{}
		}
		if p.members[t] == nil {
			p.members[t] = new(part)
		}
		p = p.members[t]
	}
	p.all = true
}

// of returns the part of a value. An array is there as a whole, because an element moves others.
func (p *part) of(v jsonvalue.Value) jsonvalue.Value {
	o, ok := v.(*jsonvalue.Object)
	if p.all || !ok {
		return v
	}
	to := new(jsonvalue.Object)
	for _, name := range slices.Sorted(maps.Keys(p.members)) {
		if member, ok := o.Get(name); ok {
			to.Set(name, p.members[name].of(member))
		}
	}
	return to
}

// at returns the value at a pointer, and whether there is one.
func at(v jsonvalue.Value, tokens []string) (jsonvalue.Value, bool) {
	for _, t := range tokens {
		ok := false
		switch in := v.(type) {
		case *jsonvalue.Object:
			v, ok = in.Get(t)
		case *jsonvalue.Array:
			i, err := strconv.Atoi(t)
			if ok = err == nil && i >= 0 && i < in.Len(); ok {
				v = in.At(i)
			}
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

// member returns the pointer to a member, with the name in the place of an id. Unlike
// Pointer.Name, it keeps halves of surrogate pairs, so that different names stay different.
func (n *Normalizer) member(p finding.Pointer, name string) finding.Pointer {
	return p + "/" + finding.Pointer(strings.NewReplacer("~", "~0", "/", "~1").Replace(n.names.free(name)))
}

// operations puts names in the place of ids in a patch that stays as it is, but for what can be
// the index of an element.
func (n *names) operations(ops *jsonvalue.Array) {
	for i, op := range ops.All {
		o, ok := op.(*jsonvalue.Object)
		if n.found != nil || !ok {
			ops.Set(i, n.anywhere(op))
			continue
		}
		for _, name := range sorted(o) {
			v, _ := o.Get(name)
			s, text := v.(string)
			if name != "op" && name != "path" && name != "from" && name != "value" {
				o.Delete(name)
				o.Set(n.free(name), n.anywhere(v))
				continue
			}
			if !text || name != "path" && name != "from" || !strings.HasPrefix(s, "/") {
				o.Set(name, n.anywhere(v))
				continue
			}
			tokens := strings.Split(s, "/")
			for i, t := range tokens {
				index := strings.Trim(t, "0123456789") == ""
				if id := unescape(t); !index && n.known.roles[id] != 0 || likeName(t) {
					tokens[i] = n.free(id)
				}
			}
			o.Set(name, strings.Join(tokens, "/"))
		}
	}
}

// unescape returns the name of a member in a token of a pointer.
func unescape(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

// difference adds the operations to list that make a value another one. They depend only on
// the two values.
func (n *Normalizer) difference(list *jsonvalue.Array, path finding.Pointer, before, after jsonvalue.Value) {
	if jsonvalue.Equal(before, after) {
		return
	}
	switch b := before.(type) {
	case *jsonvalue.Object:
		if a, ok := after.(*jsonvalue.Object); ok {
			n.members(list, path, b, a)
			return
		}
	case *jsonvalue.Array:
		if a, ok := after.(*jsonvalue.Array); ok {
			n.elements(list, path, b, a)
			return
		}
	}
	n.operation(list, "replace", path, after)
}

func (n *Normalizer) members(list *jsonvalue.Array, path finding.Pointer, before, after *jsonvalue.Object) {
	for _, name := range n.names.keys(before) {
		if _, ok := after.Get(name); !ok {
			n.operation(list, "remove", n.member(path, name), nil)
		}
	}
	for _, name := range n.names.keys(after) {
		a, _ := after.Get(name)
		if b, ok := before.Get(name); ok {
			n.difference(list, n.member(path, name), b, a)
		} else {
			n.operation(list, "add", n.member(path, name), a)
		}
	}
}

// elements compares arrays without what is equal at both ends. Of what is left, elements are
// compared in pairs, and the others removed from the end or added.
func (n *Normalizer) elements(list *jsonvalue.Array, path finding.Pointer, before, after *jsonvalue.Array) {
	first, lb, la := 0, before.Len(), after.Len()
	for first < min(lb, la) && jsonvalue.Equal(before.At(first), after.At(first)) {
		first++
	}
	for lb > first && la > first && jsonvalue.Equal(before.At(lb-1), after.At(la-1)) {
		lb, la = lb-1, la-1
	}
	for i := first; i < min(lb, la); i++ {
		n.difference(list, path.Index(i), before.At(i), after.At(i))
	}
	for i := lb - 1; i >= la; i-- {
		n.operation(list, "remove", path.Index(i), nil)
	}
	for i := lb; i < la; i++ {
		n.operation(list, "add", path.Index(i), after.At(i))
	}
}

// operation adds an operation to list. The value is copied, because documents go on changing.
func (n *Normalizer) operation(list *jsonvalue.Array, op string, path finding.Pointer, value jsonvalue.Value) {
	o := new(jsonvalue.Object)
	o.Set("op", op)
	o.Set("path", string(path))
	if op != "remove" {
		o.Set("value", n.names.anywhere(jsonvalue.Clone(value)))
	}
	list.Append(o)
}
