package transfer

import (
	"bytes"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/store"
)

// threadOfEvent returns the thread that a RUN_STARTED names. It returns "" for all other
// events.
func threadOfEvent(data []byte) string {
	// Nearly all events are other ones, and need not be read.
	if !bytes.Contains(data, []byte(envelope.RunStarted)) && !bytes.Contains(data, []byte(`\u`)) {
		return ""
	}
	e, err := envelope.ReadEvent(data)
	if err != nil || e.Type != envelope.RunStarted {
		return ""
	}
	return threadID(&e.Object)
}

// threadOfInput returns the thread that a request names, or "".
func threadOfInput(data []byte) string {
	var o strictjson.Object
	if v, err := strictjson.ReadText(&o, new(strictjson.Decoder), data); err != nil || v.Kind != strictjson.ObjectStart {
		return ""
	}
	return threadID(&o)
}

// isHead reports whether data is the head of the portable form, in any form of the JSON text.
func isHead(data []byte) bool {
	var o strictjson.Object
	if v, err := strictjson.ReadText(&o, new(strictjson.Decoder), data); err != nil || v.Kind != strictjson.ObjectStart {
		return false
	}
	v, _ := o.Get("schema")
	schema, valid := v.Text()
	return valid && schema == Schema
}

// threadID returns the threadId of an event or a request, or "" if it cannot be the id of a
// thread of a log.
func threadID(o *envelope.Object) string {
	v, _ := o.Get("threadId")
	id, valid := v.Text()
	if !valid || store.CheckID(id) != nil {
		return ""
	}
	return id
}
