package jsonpatch

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// The dialect of the client is that of npm's fast-json-patch 3.1.1, called as
// applyPatch(document, patch, true, false). That function validates the way to each
// path, except where it applies a move or copy: there it follows from and path as
// JavaScript follows properties. So there are two walks here, too: the one in
// applyClient validates, and Document.place does not.

// applyClient applies one operation.
func (d *Document) applyClient(op *operation) error {
	if op.kind != strictjson.ObjectStart {
		return fmt.Errorf("the operation is %s, not an object", op.kind)
	}
	path, ok := op.Get("path")
	if !ok || path.Kind != strictjson.String {
		return errors.New(`"path" is not a string`)
	}
	op.pointer, _ = path.Text()
	if op.pointer != "" && op.pointer[0] != '/' {
		return errors.New(`"path" does not begin with a slash`)
	}
	switch op.name {
	case "add", "replace", "test":
		text, ok := op.Get("value")
		if !ok {
			return errors.New(`"value" is missing`)
		}
		op.value = jsonvalue.Parse(text)
		measure(op.value)
	case "move", "copy":
		from, ok := op.Get("from")
		if !ok || from.Kind != strictjson.String {
			return errors.New(`"from" is not a string`)
		}
		op.from, _ = from.Text()
	case "remove":
	default:
		return errOp
	}
	if op.pointer == "" {
		return d.applyToRoot(op)
	}

	tokens := strings.Split(op.pointer, "/")
	d.open = d.open[:0]
	v := d.root
	validated := false
	for i := 1; ; i++ {
		last := i == len(tokens)-1
		p, err := d.step(v, tokens, i)
		if err != nil {
			return err
		}
		next, err := d.get(p.in, p.name)
		if err != nil {
			return err
		}
		if exists := next != (missing{}); !validated && (!exists || last) {
			if err := d.validate(op, p.name, exists, last); err != nil {
				return err
			}
			validated = true
		}
		a, _ := p.in.(*jsonvalue.Array)
		if a != nil && !p.indexed {
			return fmt.Errorf("%s is not an array index", finding.Quote(p.name))
		}
		if last {
			if a != nil && op.name == "add" && p.index > a.Len() {
				return fmt.Errorf("index %d is beyond the end of the array", p.index)
			}
			return d.applyAt(op, p)
		}
		if v, err = d.value(p); err != nil {
			return err
		}
		if !isContainer(v) {
			return leadsThrough(p.name)
		}
	}
}

// applyToRoot applies an operation whose path is "".
func (d *Document) applyToRoot(op *operation) error {
	switch op.name {
	case "add", "replace":
		d.setRoot(op.value)
	case "remove":
		d.setRoot(nil)
	case "move", "copy":
		v, err := d.lookUp(op.from)
		if err != nil {
			return err
		}
		if l, ok := v.(loop); ok {
			v = l.document
		}
		d.setRoot(v)
	case "test":
		return d.test(d.root, op.value)
	}
	return nil
}

// validate checks what the client checks when it meets the first missing value on the
// way, or the end of the path.
func (d *Document) validate(op *operation, name string, exists, last bool) error {
	if !truthy(d.root) {
		return nil // the client takes such a document for none
	}
	switch op.name {
	case "add":
		if !last {
			return fmt.Errorf("there is no member or element %s", finding.Quote(name))
		}
	case "replace", "remove":
		if !exists {
			return fmt.Errorf("there is no member or element %s", finding.Quote(name))
		}
	case "move", "copy":
		return d.validateFrom(op.from)
	}
	return nil
}

// validateFrom checks that from leads to a value of the document as JSON. The client
// does not notice if from is not a JSON Pointer, or names a property of an array.
func (d *Document) validateFrom(from string) error {
	if cyclic, err := d.cyclic(); cyclic || err != nil {
		return cmp.Or(err, errCyclic)
	}
	if from == "" || from[0] != '/' {
		return nil
	}
	tokens := strings.Split(from, "/")
	v := d.root
	for i := 1; ; i++ {
		p, err := d.step(v, tokens, i)
		if err != nil {
			return err
		}
		if v, err = d.getJSON(p.in, p.name); err != nil {
			return err
		}
		if v == (missing{}) {
			return fmt.Errorf("\"from\" leads to no member or element %s", finding.Quote(p.name))
		}
		if _, array := p.in.(*jsonvalue.Array); array && !p.indexed || i == len(tokens)-1 {
			return nil
		}
		if !isContainer(v) {
			return leadsThrough(p.name)
		}
	}
}

func leadsThrough(name string) error {
	return fmt.Errorf("it leads through %s, which is neither an object nor an array", finding.Quote(name))
}

// applyAt applies an operation to the last place on the way to its path.
func (d *Document) applyAt(op *operation, p place) error {
	switch op.name {
	case "add":
		return d.addAt(p, op.value, 0)
	case "replace":
		if a, ok := p.in.(*jsonvalue.Array); ok {
			if err := d.checkDepth(op.value, 0); err != nil {
				return err
			}
			d.setElement(a, p.index, op.value)
			return nil
		}
		return d.addAt(p, op.value, 0)
	case "remove":
		_, err := d.removeAt(p)
		return err
	case "test":
		v, err := d.value(p)
		if err != nil {
			return err
		}
		return d.test(v, op.value)
	case "copy":
		v, err := d.lookUp(op.from)
		if err != nil {
			return err
		}
		from := len(d.open)
		if v, err = d.cloneJSON(v); err != nil {
			return err
		}
		return d.addTo(op.pointer, v, from)
	case "move":
		v := d.root
		if op.from != "" {
			from, err := d.place(op.from)
			if err == nil {
				v, err = d.removeAt(from)
			}
			if err != nil {
				return err
			}
		} else if isContainer(v) {
			v = loop{v}
		}
		return d.addTo(op.pointer, v, len(d.open))
	}
	return nil
}

// addTo adds a value, which was in from arrays and objects, without validation of the
// way.
func (d *Document) addTo(pointer string, v jsonvalue.Value, from int) error {
	p, err := d.place(pointer)
	if err != nil {
		return err
	}
	return d.addAt(p, v, from)
}

// lookUp returns the value to which a pointer leads, without validation of the way.
func (d *Document) lookUp(pointer string) (jsonvalue.Value, error) {
	if pointer == "" {
		d.open = d.open[:0]
		return d.root, nil
	}
	p, err := d.place(pointer)
	if err != nil {
		return nil, err
	}
	return d.value(p)
}

func (d *Document) test(v, want jsonvalue.Value) error {
	// The client calls hasOwnProperty of each object in want that it compares.
	if !jsonvalue.EqualFunc(v, want, jsonvalue.EqualFloat64) || hasMember(want, "hasOwnProperty") {
		return errDiffers
	}
	return nil
}
