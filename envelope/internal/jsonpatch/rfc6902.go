package jsonpatch

import (
	"errors"
	"fmt"
	"strings"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// applyRFC6902 applies one operation (RFC 6902 §4).
func (d *Document) applyRFC6902(op *operation) error {
	if op.kind != strictjson.ObjectStart {
		return fmt.Errorf("the operation is %s, not an object", op.kind)
	}
	var from string
	switch op.name {
	case "add", "remove", "replace", "test":
	case "move", "copy":
		var err error
		if from, err = op.location("from"); err != nil {
			return err
		}
	default:
		return errOp
	}
	path, err := op.location("path")
	if err != nil {
		return err
	}
	switch op.name {
	case "remove":
		_, err := d.remove(path)
		return err
	case "move":
		if path == from {
			_, err := d.find(path)
			return err
		}
		if strings.HasPrefix(path, from+"/") {
			return errors.New("the value cannot move into itself")
		}
		op.pointer = from
		v, err := d.remove(from)
		if err != nil {
			return err
		}
		op.pointer = path
		return d.add(path, v, len(d.open))
	case "copy":
		op.pointer = from
		v, err := d.find(from)
		if err != nil {
			return err
		}
		v, err = d.clone(v)
		if err != nil {
			return err
		}
		op.pointer = path
		return d.add(path, v, len(d.open))
	}
	text, ok := op.Get("value")
	if !ok {
		return errors.New("\"value\" is missing")
	}
	v := jsonvalue.Parse(text)
	if op.name == "test" {
		have, err := d.find(path)
		if err == nil && !jsonvalue.Equal(have, v) {
			err = errDiffers
		}
		return err
	}
	measure(v)
	if op.name == "replace" {
		return d.replace(path, v)
	}
	return d.add(path, v, 0)
}

// location returns the JSON Pointer (RFC 6901 §3) in a member of the operation.
func (op *operation) location(name string) (string, error) {
	v, ok := op.Get(name)
	if !ok {
		return "", fmt.Errorf("%q is missing", name)
	}
	if v.Kind != strictjson.String {
		return "", fmt.Errorf("%q is %s, not a string", name, v.Kind)
	}
	op.pointer, _ = v.Text()
	for i, c := range []byte(op.pointer) {
		switch {
		case i == 0 && c != '/':
			return "", fmt.Errorf("%q does not begin with a slash", name)
		case c == '~' && (i+1 == len(op.pointer) || op.pointer[i+1] != '0' && op.pointer[i+1] != '1'):
			return "", fmt.Errorf("%q has a ~ that neither 0 nor 1 follows", name)
		}
	}
	return op.pointer, nil
}

// find returns the value to which a pointer leads.
func (d *Document) find(pointer string) (jsonvalue.Value, error) {
	d.open = d.open[:0]
	v := d.root
	for pointer != "" {
		var name string
		name, pointer = token(pointer)
		d.enter(v)
		next, err := child(v, name)
		if err != nil {
			return nil, err
		}
		v = next
	}
	return v, nil
}

// child returns the member or element of v that a reference token names.
func child(v jsonvalue.Value, token string) (jsonvalue.Value, error) {
	switch v := v.(type) {
	case *jsonvalue.Object:
		name := unescape(token)
		if m, ok := v.Get(name); ok {
			return m, nil
		}
		return nil, fmt.Errorf("there is no member %s", finding.Quote(name))
	case *jsonvalue.Array:
		i, err := index(token, v.Len()-1)
		if err != nil {
			return nil, err
		}
		return v.At(i), nil
	}
	return nil, fmt.Errorf("it leads to %s into a value that is neither an object nor an array", finding.Quote(unescape(token)))
}

// index returns the array index that a reference token stands for (RFC 6901 §4), at
// most last.
func index(token string, last int) (int, error) {
	n := 0
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			n = -1
			break
		}
		n = min(n*10+int(c-'0'), MaxBytes) // no array has so many elements
	}
	switch {
	case n < 0, token == "", len(token) > 1 && token[0] == '0':
		return 0, fmt.Errorf("%s is not an array index", finding.Quote(token))
	case n > last:
		return 0, fmt.Errorf("index %s is beyond the end of the array", token[:min(len(token), 20)])
	}
	return n, nil
}

// parent returns the array or object that contains the place to which a pointer other
// than "" leads, and the last reference token.
func (d *Document) parent(pointer string) (parent jsonvalue.Value, last string, err error) {
	i := strings.LastIndexByte(pointer, '/')
	parent, err = d.find(pointer[:i])
	d.enter(parent)
	return parent, pointer[i+1:], err
}

// add adds v, which was in from arrays and objects.
func (d *Document) add(pointer string, v jsonvalue.Value, from int) error {
	if pointer == "" {
		d.setRoot(v)
		return nil
	}
	parent, last, err := d.parent(pointer)
	if err != nil {
		return err
	}
	if err := d.checkDepth(v, from); err != nil {
		return err
	}
	switch parent := parent.(type) {
	case *jsonvalue.Object:
		d.setMember(parent, unescape(last), v)
		return nil
	case *jsonvalue.Array:
		i := parent.Len()
		if last != "-" {
			if i, err = index(last, parent.Len()); err != nil {
				return err
			}
		}
		d.insertElement(parent, i, v)
		return nil
	}
	_, err = child(parent, last)
	return err
}

func (d *Document) replace(pointer string, v jsonvalue.Value) error {
	if pointer == "" {
		d.setRoot(v)
		return nil
	}
	parent, last, err := d.parent(pointer)
	if err != nil {
		return err
	}
	if _, err := child(parent, last); err != nil {
		return err
	}
	if err := d.checkDepth(v, 0); err != nil {
		return err
	}
	switch parent := parent.(type) {
	case *jsonvalue.Object:
		d.setMember(parent, unescape(last), v)
	case *jsonvalue.Array:
		i, _ := index(last, parent.Len()-1)
		d.setElement(parent, i, v)
	}
	return nil
}

// remove removes the value to which a pointer leads, and returns it.
func (d *Document) remove(pointer string) (jsonvalue.Value, error) {
	if pointer == "" {
		return nil, errors.New("the whole document cannot be removed")
	}
	parent, last, err := d.parent(pointer)
	if err != nil {
		return nil, err
	}
	v, err := child(parent, last)
	if err != nil {
		return nil, err
	}
	switch parent := parent.(type) {
	case *jsonvalue.Object:
		d.removeMember(parent, unescape(last))
	case *jsonvalue.Array:
		i, _ := index(last, parent.Len()-1)
		d.removeElement(parent, i)
	}
	return v, nil
}
