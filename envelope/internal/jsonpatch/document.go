// Package jsonpatch applies JSON Patches (RFC 6902) to a document.
//
// A patch is applied completely or not at all, in place: the time is proportional to
// the patch, not to the document. Numbers keep their text, and objects the order of
// their members. There are two dialects: the RFC's, and that of the reference client.
// Operations that RFC 6902 does not define can be left out, as AG-UI does.
//
// It knows JSON Patch and must not know what the documents mean.
package jsonpatch

import (
	"errors"
	"fmt"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// Dialect decides which patches apply and what they do.
type Dialect int

const (
	// RFC6902 is RFC 6902 with JSON Pointers as in RFC 6901, to the letter. Numbers
	// are equal if their exact values are. The whole document cannot be removed.
	RFC6902 Dialect = iota
	// Client is what the AG-UI client 1.0.0 does: it calls npm's fast-json-patch 3.1.1 as
	// applyPatch(document, patch, true, false). A patch that throws there does not apply
	// here. Numbers are equal if their binary64 numbers are, but keep their text.
	//
	// Its patches do more than the RFC's: an index may have leading zeros and wraps at
	// 2³¹; move and copy beyond the end of an array append; a move may go into itself
	// if the value is an array element; members that JavaScript objects inherit exist;
	// operations on members of a number, string or boolean have no effect; the whole
	// document can be removed, which leaves null. A copy or move to "" from a missing
	// member leaves undefined, which is a missing document.
	//
	// Some patches that apply there do not apply here. They exceed the limits of this
	// package, leave the document within itself, so that it is not JSON, lead into a
	// function that a value inherits, assign to the length of an array, or have an "op"
	// that RFC 6902 does not define; the client removes such operations before. A number beyond the range of binary64 is null for the
	// client, and keeps its text here.
	Client
)

// String returns the name of the dialect.
func (d Dialect) String() string {
	if d == Client {
		return "client"
	}
	return "rfc6902"
}

// Document is a JSON value that patches change. The zero value is null. A document can
// also be missing: in the client's dialect, patches can make it JavaScript's undefined.
// A missing document becomes null before a patch is applied, as in the client.
type Document struct {
	// Budget limits the work of short patches. It may be shared by the documents of one
	// stream. If it is nil when it is needed, the document gets one of its own.
	Budget *Budget

	root jsonvalue.Value

	undo   []change
	copied int // what the copies of the patch take in memory, in bytes
	growth []growth
	open   []*int // the sizes of the arrays and objects on the way to a place
	// special reports that a patch put a value into the document that is not JSON.
	special bool
}

// Budget is the work that patches caused and that is not proportional to their length. The
// zero value is ready to use.
type Budget struct {
	spent int // in bytes, less what the lengths of documents and patches permit
}

// BudgetOf returns a Budget whose Spent is n.
func BudgetOf(n int) Budget { return Budget{n} }

// Spent returns the work so far, which a Budget that goes on in the same way needs to know.
func (b *Budget) Spent() int { return b.spent }

// Reset makes the document a value that strictjson has read, or missing if v is the
// zero Value. If the value is too large, Reset returns an error and does not change
// the document.
func (d *Document) Reset(v strictjson.Value) error {
	if v.Kind == 0 {
		d.root = missing{}
		return nil
	}
	root := jsonvalue.Parse(v)
	size, depth := measure(root)
	if err := checkLimits(size, depth); err != nil {
		return err
	}
	d.root = root
	d.permit(len(v.Raw))
	return nil
}

// Clone returns a copy of the document with the same Budget.
func (d *Document) Clone() *Document {
	return &Document{Budget: d.budget(), root: jsonvalue.Clone(d.root)}
}

// Missing reports whether the document is missing.
func (d *Document) Missing() bool { return d.root == missing{} || d.root == function{} }

// IsFunction reports whether the document is missing because a patch in the dialect Client has put
// a function of JavaScript in its place.
func (d *Document) IsFunction() bool { return d.root == function{} }

// SetFunction sets the value to a function, so that IsFunction reports true.
func (d *Document) SetFunction() { d.root = function{} }

// Value returns the value, which is nil if the document is missing. The caller must not change it, and it is valid until the
// document changes.
func (d *Document) Value() jsonvalue.Value {
	if d.Missing() {
		return nil
	}
	return d.root
}

// Size returns the length of the document's text, without white space.
func (d *Document) Size() int { return sizeOf(d.root) }

// Memory returns about how many bytes of memory the document takes.
func (d *Document) Memory() int { return d.Size() + valueBytes*count(d.root) }

// Append appends the document's text to dst, without white space. It appends nothing if
// the document is missing.
func (d *Document) Append(dst []byte) []byte {
	if d.Missing() {
		return dst
	}
	return jsonvalue.Append(dst, d.root)
}

// Apply applies a patch. If any operation fails, the document does not change, and the
// error is an *Error.
//
// An operation whose "op" is a string that RFC 6902 does not define fails if unknown is
// nil. Otherwise it is passed to unknown and has no effect: a later version of AG-UI may
// define it (AG-UI 1.1, Snapshots and Deltas, When a patch does not apply).
func (d *Document) Apply(patch strictjson.Value, dialect Dialect, unknown func(index int, op string)) error {
	d.permit(len(patch.Raw))
	d.copied = 0
	apply := d.applyRFC6902
	if dialect == Client {
		apply = d.applyClient
	}
	switch patch.Kind {
	case strictjson.ArrayStart:
	case 0:
		return &Error{Index: -1, Reason: "there is no patch"}
	default:
		return &Error{Index: -1, Reason: "the patch is " + patch.Kind.String() + ", not an array"}
	}
	if d.root == (missing{}) {
		d.setRoot(nil)
	}
	err := strictjson.Elements(patch, func(i int, v strictjson.Value, o *strictjson.Object) error {
		op := operation{kind: v.Kind, Object: o, name: o.Text("op")}
		if unknown != nil && op.isUnknown() {
			unknown(i, op.name)
			return nil
		}
		err := apply(&op)
		if err == nil {
			err = checkLimits(d.Size(), 0)
		}
		if err != nil {
			return newError(i, &op, err)
		}
		return nil
	})
	if err == nil && d.special {
		if cause := d.toJSON(); cause != nil {
			err = newError(-1, new(operation), cause)
		}
	}
	if err != nil {
		d.rollBack()
	}
	d.special = false
	for _, c := range d.undo {
		if c.object != nil {
			c.object.Pack()
		}
	}
	d.undo, d.growth = reuse(d.undo), reuse(d.growth)
	return err
}

// reuse returns an empty slice with the memory of s unless it is large.
func reuse[T any](s []T) []T {
	if cap(s) > 1024 {
		return nil
	}
	clear(s)
	return s[:0]
}

// operation is one operation of a patch.
type operation struct {
	kind strictjson.Kind
	*strictjson.Object
	name    string
	pointer string // the pointer that an error is about

	// In the dialect of the client:
	from  string
	value jsonvalue.Value
}

// isUnknown reports whether the operation is one that RFC 6902 does not define. An
// operation without a name, or whose name is not a string, is malformed.
func (op *operation) isUnknown() bool {
	switch op.name {
	case "add", "remove", "replace", "move", "copy", "test":
		return false
	}
	if op.kind != strictjson.ObjectStart {
		return false
	}
	name, _ := op.Get("op")
	return name.Kind == strictjson.String
}

// Error says why a patch does not apply.
type Error struct {
	// Index is the index of the operation that failed, or -1 if the patch is not a list
	// of operations.
	Index int
	// Op is the operation's name, and Pointer the pointer that could not be followed.
	// Both are as in the patch.
	Op, Pointer string
	// Reason completes the sentence.
	Reason string
	// Limit reports that the patch exceeds a limit of this package.
	Limit bool
}

func newError(index int, op *operation, reason error) *Error {
	limit := reason == errLarge || reason == errDeep || reason == errWork || reason == errCopied
	return &Error{Index: index, Op: op.name, Pointer: op.pointer, Reason: reason.Error(), Limit: limit}
}

// Error returns the message, without the text of the document.
func (e *Error) Error() string {
	if e.Index < 0 {
		return e.Reason
	}
	return fmt.Sprintf("operation %d (%s %s): %s", e.Index, finding.Quote(e.Op), finding.Quote(e.Pointer), e.Reason)
}

// measure sets the sizes of all arrays and objects in v, and returns the size and depth
// of v.
func measure(v jsonvalue.Value) (size, depth int) {
	switch v := v.(type) {
	case *jsonvalue.Array:
		v.Size = 1 + max(v.Len(), 1)
		for _, e := range v.All {
			n, below := measure(e)
			v.Size += n
			depth = max(depth, below)
		}
		return v.Size, depth + 1
	case *jsonvalue.Object:
		v.Size = 1 + max(v.Len(), 1)
		for name, m := range v.All {
			n, below := measure(m)
			v.Size += jsonvalue.SizeString(name) + 1 + n
			depth = max(depth, below)
		}
		return v.Size, depth + 1
	}
	return jsonvalue.Size(v), 0
}

// sizeOf returns the size of a value that was measured.
func sizeOf(v jsonvalue.Value) int {
	switch v := v.(type) {
	case *jsonvalue.Array:
		return v.Size
	case *jsonvalue.Object:
		return v.Size
	}
	return jsonvalue.Size(v)
}

var (
	errLarge   = errors.New("the document would be longer than 64 MiB")
	errDeep    = errors.New("the document would nest deeper than 512 levels")
	errDiffers = errors.New("the value is another")
	errOp      = errors.New(`"op" is not one of add, remove, replace, move, copy and test`)
	errCopied  = errors.New("the patch copies more than 256 MiB")
	errWork    = errors.New("the patches so far copied too much in relation to their length")
)

func checkLimits(size, depth int) error {
	switch {
	case size > MaxBytes:
		return errLarge
	case depth > MaxDepth:
		return errDeep
	}
	return nil
}

// permit permits work in proportion to the length of a text.
func (d *Document) permit(length int) { d.budget().spent -= workFactor * length }

// work records work of n bytes.
func (d *Document) work(n int) error {
	b := d.budget()
	if n > freeWork-b.spent {
		return errWork
	}
	b.spent += n
	return nil
}

// clone copies a value, within the limits of all patches and of this one.
func (d *Document) clone(v jsonvalue.Value) (jsonvalue.Value, error) {
	if err := d.work(sizeOf(v)); err != nil {
		return nil, err
	}
	if d.copied += valueBytes * count(v); d.copied > maxCopied {
		return nil, errCopied
	}
	return jsonvalue.Clone(v), nil
}

// count returns the number of values in v, with v.
func count(v jsonvalue.Value) int {
	n := 1
	switch v := v.(type) {
	case *jsonvalue.Array:
		for _, e := range v.All {
			n += count(e)
		}
	case *jsonvalue.Object:
		for _, m := range v.All {
			n += count(m)
		}
	}
	return n
}

func (d *Document) budget() *Budget {
	if d.Budget == nil {
		d.Budget = new(Budget)
	}
	return d.Budget
}
