package compact

import (
	"bytes"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// withPending returns the text of a terminal event. If it is a RUN_FINISHED with the
// outcome success that names no pending tool calls, a client finds them in the events of
// the run: those that began and have no result. Without these events it cannot, so
// withPending adds their ids.
func withPending(e *envelope.Event, pending []string) []byte {
	if e.Type != eventnames.RunFinished || len(pending) == 0 {
		return e.Data
	}
	ids := []byte{'['}
	for i, id := range pending {
		if i > 0 {
			ids = append(ids, ',')
		}
		ids = jsonvalue.AppendString(ids, id)
	}
	ids = append(ids, ']')
	outcome, _ := e.Get("outcome")
	switch outcome.Kind {
	case 0, envelope.NullValue:
		made := append(append([]byte(`{"type":"success","pendingToolCallIds":`), ids...), '}')
		return setMember(e.Data, "outcome", outcome, made)
	case envelope.ObjectValue:
		var o strictjson.Object
		// The event was read before, so there is no error.
		_, _ = strictjson.ReadText(&o, new(strictjson.Decoder), outcome.Raw)
		kind, _ := o.Get("type")
		named, _ := o.Get("pendingToolCallIds")
		if kind.Is("success") && (named.Kind == 0 || isEmpty(named)) {
			return setMember(e.Data, "outcome", outcome, setMember(outcome.Raw, "pendingToolCallIds", named, ids))
		}
	}
	return e.Data
}

// isEmpty reports whether v is an array without elements.
func isEmpty(v strictjson.Value) bool {
	return v.Kind == strictjson.ArrayStart && len(bytes.TrimSpace(v.Raw[1:len(v.Raw)-1])) == 0
}

// setMember returns the text of an object in which a member has another value. The kind
// of its value is 0 if the object does not have the member. The object has others.
func setMember(object []byte, name string, old strictjson.Value, value []byte) []byte {
	made := make([]byte, 0, len(object)+len(name)+len(value)+4)
	if old.Kind != 0 {
		made = append(append(made, object[:old.Start]...), value...)
		return append(made, object[old.Start+len(old.Raw):]...)
	}
	end := bytes.LastIndexByte(object, '}')
	made = append(append(append(append(made, object[:end]...), `,"`...), name...), `":`...)
	return append(append(made, value...), object[end:]...)
}
