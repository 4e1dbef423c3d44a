package analysis

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
)

// request has the relevant parts of the request that caused a run.
type request struct {
	ids    []string // message ids
	parent bool     // whether it names a parent run
	known  bool     // whether it exists and is valid JSON
	// threadID and runID are empty if the request does not have them.
	threadID, runID string
}

// omitsID reports whether the request has no threadId or no runId.
func (r request) omitsID() bool {
	return r.known && (artifact.IsBlank(r.threadID) || artifact.IsBlank(r.runID))
}

func readRequest(data []byte) request {
	var r request
	var decoder strictjson.Decoder
	var input strictjson.Object
	if data == nil {
		return r
	}
	if _, err := strictjson.ReadText(&input, &decoder, data); err != nil {
		return r // folded-stream reports the error
	}
	r.known, r.threadID, r.runID = true, input.Text("threadId"), input.Text("runId")
	r.parent = hasParent(&input)
	r.ids = messageIDs(&input)
	return r
}

// messageIDs returns the ids of an object's messages, unchanged.
func messageIDs(o *strictjson.Object) (ids []string) {
	list, _ := o.Get("messages")
	// The list was parsed before as part of its text, so there is no error.
	_ = strictjson.Elements(list, func(_ int, _ strictjson.Value, m *strictjson.Object) error {
		if id, ok := m.Get("id"); ok && id.Kind == strictjson.String {
			text, _ := id.Text()
			ids = append(ids, text)
		}
		return nil
	})
	return ids
}

// hasParent reports whether an object has a parentRunId that is a nonblank string.
func hasParent(o *strictjson.Object) bool {
	v, ok := o.Get("parentRunId")
	return ok && v.Kind == strictjson.String && !isEmpty(v)
}

// parents reports whether RUN_STARTED names a parent run, and whether the copy of the
// request in RUN_STARTED does.
func parents(started *envelope.Event) (own, input bool) {
	own = hasParent(&started.Object)
	if v, ok := started.Get("input"); ok && v.Kind == strictjson.ObjectStart {
		var decoder strictjson.Decoder
		var o strictjson.Object
		if _, err := strictjson.ReadText(&o, &decoder, v.Raw); err == nil {
			input = hasParent(&o)
		}
	}
	return own, input
}
