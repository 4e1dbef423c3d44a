package project

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
)

// builtMark is the metadata of a snapshot that was built, so that no one, this
// program included, takes its envelope for what a run emitted.
const builtMark = `{"p20export":{"origin":"built"}}`

// builtSnapshot spells a MESSAGES_SNAPSHOT event of the text subset that says it
// was built.
func builtSnapshot(messages []artifact.Message) []byte {
	b := []byte(`{"type":"MESSAGES_SNAPSHOT","metadata":` + builtMark + `,"messages":[`)
	for i, m := range messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = artifact.AppendString(append(b, `{"id":`...), m.ID)
		b = artifact.AppendString(append(b, `,"role":`...), m.Role)
		b = artifact.AppendString(append(b, `,"content":`...), m.Content)
		if m.Name != "" {
			b = artifact.AppendString(append(b, `,"name":`...), m.Name)
		}
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

// isBuilt reports whether a snapshot bears the mark of builtSnapshot.
func isBuilt(e *envelope.Event) bool {
	mark, _ := e.Get("metadata")
	ours, _ := member(mark, "p20export")
	origin, _ := member(ours, "origin")
	return origin.Is(string(Built))
}

// member returns a member of an object that was read before.
func member(v strictjson.Value, name string) (strictjson.Value, bool) {
	if v.Kind != strictjson.ObjectStart {
		return strictjson.Value{}, false
	}
	var o strictjson.Object
	if _, err := strictjson.ReadText(&o, new(strictjson.Decoder), v.Raw); err != nil {
		return strictjson.Value{}, false
	}
	return o.Get(name)
}
