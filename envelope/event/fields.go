package event

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// fields visits the fields of one object, in the order in which they are written. Each
// type has a method visit that names its fields once, for decoding, encoding and the
// tables of the documentation.
type fields struct {
	// d is nil unless the object is decoded.
	d      *decoder
	object strictjson.Object
	base   int // offset of the text to which object refers
	start  int // offset of the object
	raw    []byte
	known  []int // offsets of the values that were read

	// out is the text so far, and more reports that it has a member of the object.
	out  []byte
	more bool

	// table is not nil if the fields are only listed.
	table *[]field
}

// field is a row of a table of fields.
type field struct {
	name     string
	kind     string
	required bool
	since    Protocol // the version that added it, or empty for 1.0
}

// must visits a required field.
func must[T any](f *fields, name string, p *T, k kind[T]) {
	if v, ok := visit(f, name, true, true, *p, k); ok {
		*p = v
	}
}

// may visits an optional field.
func may[T any](f *fields, name string, p *Optional[T], k kind[T]) {
	if v, ok := visit(f, name, false, p.Present, p.Value, k); ok {
		*p = Some(v)
	}
}

// mayList visits an optional field that is absent if *p is nil.
func mayList[S ~[]E, E any](f *fields, name string, p *S, k kind[S]) {
	if v, ok := visit(f, name, false, *p != nil, *p, k); ok {
		*p = v
	}
}

// mayObject visits an optional field that is absent if *p is nil.
func mayObject[T any](f *fields, name string, p **T, k kind[T]) {
	var v T
	if *p != nil {
		v = **p
	}
	if v, ok := visit(f, name, false, *p != nil, v, k); ok {
		*p = &v
	}
}

// constant visits a required field with only one legal value, which k lists.
func constant(f *fields, name, value string, k kind[string]) {
	if f.lacks(name) {
		f.d.report(MissingConstant, name, f.start, "is missing")
		return
	}
	must(f, name, &value, k)
}

// payload visits a required field with any value, which AG-UI 0.x left out if it was
// null.
func payload(f *fields, name string, p *JSON) {
	if f.lacks(name) {
		f.d.report(MissingPayload, name, f.start, "is missing")
		*p = JSON("null")
		return
	}
	must(f, name, p, anyJSON)
}

// visit decodes, encodes or lists a field. If it decoded a value, it returns the value
// and true. It is compiled for each T, so what does not depend on T is in other
// methods.
func visit[T any](f *fields, name string, required, present bool, v T, k kind[T]) (T, bool) {
	switch {
	case f.d != nil:
		value, m, found := f.begin(name, required, k.nullable())
		if !found {
			return v, false
		}
		v, ok := k.read(f.d, value)
		return v, f.end(m, value, required, ok)
	case f.table != nil:
		*f.table = append(*f.table, field{name: name, kind: k.String(), required: required})
	case present:
		f.out = k.append(f.appendName(name), v)
	}
	return v, false
}

// begin returns the value of a field that has to be read. After it is read, end has to be
// called.
func (f *fields) begin(name string, required, nullable bool) (strictjson.Value, mark, bool) {
	d := f.d
	value, found := f.find(name)
	if !found && required {
		if name, value, found = f.snakeCase(name); !found {
			d.report(refused, name, f.start, "is missing")
		}
	}
	if !found {
		return value, mark{}, false
	}
	d.path = append(d.path, step{name, -1})
	if value.Kind == strictjson.Null && !required && !nullable {
		d.report(NullOptional, "", value.Start, "is null where AG-UI 1.0 leaves the field out")
		d.setFatal(!f.convertsNull(name), !f.convertsNull(name))
		d.path = d.path[:len(d.path)-1]
		return value, mark{}, false
	}
	return value, d.mark(), true
}

// end ends the reading of a value for which begin returned the mark, and returns valid. It
// absorbs the faults of an optional value.
func (f *fields) end(m mark, value strictjson.Value, required, valid bool) bool {
	d := f.d
	if !valid && !required {
		d.absorb(m, MalformedOptional, value.Start)
	}
	d.path = d.path[:len(d.path)-1]
	return valid
}

// appendName returns the text so far with the name of the next member.
func (f *fields) appendName(name string) []byte {
	if f.more {
		f.out = append(f.out, ',')
	}
	f.more = true
	return append(append(append(f.out, '"'), name...), '"', ':')
}

// find returns the value of a member, and whether there is one. The member is known.
func (f *fields) find(name string) (strictjson.Value, bool) {
	v, ok := f.object.Get(name)
	if ok {
		if v.Start += f.base; !slices.Contains(f.known, v.Start) {
			f.known = append(f.known, v.Start)
		}
	}
	return v, ok
}

// lacks reports whether an object that is decoded has no member with the given name, in
// camel case or snake case.
func (f *fields) lacks(name string) bool {
	if f.d == nil {
		return false
	}
	_, ok := f.object.Get(name)
	if !ok {
		_, ok = f.object.Get(snakeCase(name))
	}
	return !ok
}

// snakeCase finds a required field under its name in snake case.
func (f *fields) snakeCase(name string) (string, strictjson.Value, bool) {
	snake := snakeCase(name)
	if snake == name {
		return name, strictjson.Value{}, false
	}
	v, ok := f.find(snake)
	if !ok {
		return name, v, false
	}
	f.d.report(SnakeCaseName, snake, v.Start, "is called %s in AG-UI", name)
	return snake, v, true
}

// snakeCase returns a name in snake case: message_id for messageId.
func snakeCase(name string) string {
	if !strings.ContainsAny(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		return name
	}
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// drafted returns the name under which a field is found: draft if the object has no
// member name but one with the draft's name. Otherwise it returns name.
func (f *fields) drafted(name, draft string) string {
	if f.d == nil || !f.lacks(name) || f.lacks(draft) {
		return name
	}
	v, _ := f.object.Get(draft)
	f.d.report(DraftName, draft, f.base+v.Start, "is called %s in AG-UI", name)
	return draft
}

// convertsNull reports whether the reference client converts null in the named field to
// an absent field.
func (f *fields) convertsNull(name string) bool {
	switch name {
	case "rawEvent", "result", "forwardedProps", "parameters", "payload":
		return true
	case "outcome":
		return f.d.kind == eventnames.RunFinished
	case "parentMessageId":
		return f.d.kind == eventnames.ToolCallStart || f.d.kind == eventnames.ToolCallChunk
	case "metadata":
		kind, _ := f.object.Get("type")
		return slices.ContainsFunc(mediaKinds, kind.Is) && f.d.kind != eventnames.ToolCallResult
	}
	return false
}

// rest returns the members that were not read as one object, or nil if there are none.
// If report is true, they are faults.
func (f *fields) rest(report bool) JSON {
	if len(f.known) >= f.object.Len() {
		return nil
	}
	out := []byte{'{'}
	for m := range f.object.All {
		if slices.Contains(f.known, f.base+m.Value.Start) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.Name.Raw...), ':'), m.Value.Raw...)
		if report {
			name, _ := m.Name.Text()
			f.d.report(UnknownKey, name, f.base+m.Name.Start, "is not defined by AG-UI")
		}
	}
	return append(out, '}')
}

// decoder decodes one text.
type decoder struct {
	strict    bool
	checks    bool     // the decode is for Check
	protocol  Protocol // decides which fields are known
	tolerated *[]Fault
	list      []Fault
	refused   int  // faults of list that are not tolerated
	full      bool // there were more than MaxFaults
	path      []step
	json      strictjson.Decoder
	// what is decoded, with its article.
	what string
	// kind is the type of the event, or empty. threadID and runID are those of
	// RUN_STARTED.
	kind, threadID, runID string
	// single reports that a resume is one entry instead of a list.
	single bool

	// objects has the open objects, outermost first, and others for reuse.
	objects []*fields
	depth   int
}

func (d *decoder) inRunStarted() bool { return d.kind == eventnames.RunStarted }

// step is the name or the index of a value in the enclosing one.
type step struct {
	name  string
	index int // negative if the enclosing value is an object
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func newDecoder(options []Option) *decoder {
	d := decoders.Get().(*decoder)
	*d = decoder{strict: true, protocol: Current, what: "the event", path: d.path[:0], json: d.json, objects: d.objects}
	for _, o := range options {
		o(d)
	}
	return d
}

// maxReused is the size of a text in bytes up to which its decoder is used again. Decoders
// of larger texts would keep much memory.
const maxReused = 1 << 16

// free ends the use of d, which decoded a text.
func (d *decoder) free(text []byte) {
	if len(text) <= maxReused {
		decoders.Put(d)
	}
}

// push returns the fields of an object inside the open ones.
func (d *decoder) push() *fields {
	if d.depth == len(d.objects) {
		d.objects = append(d.objects, new(fields))
	}
	f := d.objects[d.depth]
	d.depth++
	*f = fields{d: d, object: f.object, known: f.known[:0]}
	return f
}

// leave closes the innermost object.
func (f *fields) leave() { f.d.depth-- }

// finish returns the error of the decode, and adds to the caller's list.
func (d *decoder) finish() error {
	if d.refused > 0 || d.full || d.strict && len(d.list) > 0 {
		return &Error{d.kind, d.list}
	}
	if d.tolerated != nil {
		*d.tolerated = append(*d.tolerated, d.list...)
	}
	return nil
}

// object reads a text as an object.
func (d *decoder) object(text []byte) (*fields, error) {
	f := d.push()
	v, err := strictjson.ReadText(&f.object, &d.json, text)
	if err != nil {
		if fault, ok := finding.FromSyntax(err); ok {
			return nil, fault
		}
		return nil, err
	}
	f.start, f.raw = v.Start, v.Raw
	if v.Kind != strictjson.ObjectStart {
		return nil, finding.New(finding.EventNotObject, "%s is %s where an object belongs", d.what, v.Kind).WithOffset(int64(v.Start))
	}
	return f, nil
}

// enter returns the fields of an object inside the text, or nil. The caller has to leave
// the object.
func (d *decoder) enter(v strictjson.Value) *fields {
	if v.Kind != strictjson.ObjectStart {
		d.wrongKind(v, "an object")
		return nil
	}
	f := d.push()
	f.base, f.start, f.raw = v.Start, v.Start, v.Raw
	// The text was read before, so there is no error.
	_, _ = strictjson.ReadText(&f.object, &d.json, v.Raw)
	return f
}

// mark is a state of the list of faults.
type mark struct{ length, refused int }

func (d *decoder) mark() mark { return mark{len(d.list), d.refused} }

// absorb replaces the faults since the mark by one that is tolerated. It fails if there are
// too many faults, and for a message that is decoded strictly on its own.
func (d *decoder) absorb(m mark, t Tolerance, at int) bool {
	if d.full || d.strict && len(d.path) == 0 {
		return false
	}
	faults := d.list[m.length:]
	first := faults[slices.IndexFunc(faults, func(f Fault) bool { return f.Tolerance == refused })]
	fatal := slices.ContainsFunc(faults, func(f Fault) bool { return f.Fatal })
	specFatal := slices.ContainsFunc(faults, func(f Fault) bool { return f.SpecFatal })
	d.list, d.refused = d.list[:m.length], m.refused
	d.add(Fault{Tolerance: t, Fatal: fatal, SpecFatal: specFatal, Pointer: d.pointer().Bounded(), Offset: at, Message: first.Message})
	return true
}

// refused is the tolerance of faults that a tolerant decode does not accept.
const refused Tolerance = ""

// report adds a fault of the named member of the current value, or of the current value
// itself if name is empty. The message, which follows the pointer, is a predicate.
func (d *decoder) report(t Tolerance, name string, at int, format string, args ...any) {
	optional := t == UnknownType || t == UnknownKey
	if optional && (d.strict || len(d.list) >= MaxFaults) {
		return
	}
	pointer := d.pointer()
	if name != "" {
		pointer = pointer.Name(name)
	}
	pointer = pointer.Bounded()
	subject := string(pointer)
	if subject == "" {
		subject = d.what
	}
	d.add(Fault{Tolerance: t, Fatal: t.fatal(), SpecFatal: t.specFatal(), Pointer: pointer, Offset: at, Message: subject + " " + fmt.Sprintf(format, args...)})
}

func (d *decoder) wrongKind(v strictjson.Value, want string) {
	d.report(refused, "", v.Start, "is %s where %s belongs", v.Kind, want)
}

func (d *decoder) add(f Fault) {
	if f.Tolerance == refused {
		d.refused++
	}
	if len(d.list) == MaxFaults {
		d.full = true
		return
	}
	d.list = append(d.list, f)
}

// setFatal sets Fatal, for the client, and SpecFatal, for the specification, of the last
// fault.
func (d *decoder) setFatal(client, spec bool) {
	if !d.full && len(d.list) > 0 {
		last := &d.list[len(d.list)-1]
		last.Fatal, last.SpecFatal = client, spec
	}
}

// pointer returns the pointer to the current value.
func (d *decoder) pointer() finding.Pointer {
	var p finding.Pointer
	for _, s := range d.path {
		if s.index < 0 {
			p = p.Name(s.name)
		} else {
			p = p.Index(s.index)
		}
	}
	return p
}
