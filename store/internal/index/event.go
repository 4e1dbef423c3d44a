package index

import (
	"strings"
	"sync"

	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/store"
)

// event is what is read of an entry.
type event struct {
	stream int // the index of the stream in StreamIDs
	// name is the type of the event, or empty.
	name string
	// run and parent are the ids of a RUN_STARTED, if they can be indexed. parent is also
	// that of an Input.
	run, parent string
	// end is how the run of a RUN_FINISHED ended.
	end store.RunEnd
}

// reader reads events. Events resemble each other also across batches, so what it learns
// of them is kept in a pool.
type reader struct {
	json   strictjson.Reader
	object strictjson.Object
	types  [strictjson.Shapes]shapeType // at the index shape % Shapes
}

// shapeType is the type of the events with a shape.
type shapeType struct {
	shape strictjson.Shape
	name  string
}

var readers = sync.Pool{New: func() any { return &reader{json: strictjson.Reader{Key: "type"}} }}

// release returns r to the pool, unless a hostile event made it large.
func (r *reader) release() {
	if r.json.Release(&r.object) {
		readers.Put(r)
	}
}

// read reads the text of an event. The result is zero if it is not the text of a JSON
// object, or is not strict JSON: package envelope does not read such events either.
func (r *reader) read(data []byte) event {
	o := &r.object
	if kind, err := r.json.Read(o, data); err != nil || kind != strictjson.ObjectStart {
		return event{}
	}
	e := event{name: r.typeOf(o)}
	switch e.name {
	case eventnames.RunStarted:
		e.run, e.parent = indexed(o, "runId"), indexed(o, "parentRunId")
	case eventnames.RunFinished:
		// The outcome is an object, or in drafts of AG-UI a string.
		outcome, _ := o.Get("outcome")
		if member, ok := outcome.Member("type"); ok {
			outcome = member
		}
		switch {
		case outcome.Is("interrupt"):
			e.end = store.Interrupted
		case outcome.Is("cancelled"):
			e.end = store.Cancelled
		default:
			e.end = store.Finished
		}
	}
	return e
}

// readInput reads the text of an Input. The result is zero if it is not the text of a JSON
// object.
func (r *reader) readInput(data []byte) event {
	if kind, err := r.json.Read(&r.object, data); err != nil || kind != strictjson.ObjectStart {
		return event{}
	}
	return event{parent: indexed(&r.object, "parentRunId")}
}

// typeOf returns the type of an event.
func (r *reader) typeOf(o *strictjson.Object) string {
	shape := o.Shape()
	known := &r.types[shape%strictjson.Shapes]
	if shape != 0 && shape == known.shape {
		return known.name
	}
	name := indexed(o, "type")
	if shape != 0 {
		*known = shapeType{shape, name}
	}
	return name
}

// indexed returns the value of a member if it is a string that can be indexed, and
// otherwise "".
func indexed(o *strictjson.Object, name string) string {
	v, _ := o.Get(name)
	if v.Kind != strictjson.String || len(v.Raw) > 6*store.MaxIDBytes+2 {
		return ""
	}
	text, valid := v.Text()
	if !valid || len(text) > store.MaxIDBytes || strings.IndexByte(text, 0) >= 0 {
		return ""
	}
	return text
}
