package project

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
)

// builtMark is the metadata of a built snapshot. It keeps readers, including
// this program, from mistaking the envelope for one that a run emitted.
const builtMark = `{"p20export":{"origin":"built"}}`

// builtSnapshot returns a MESSAGES_SNAPSHOT event with the messages and builtMark.
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

// isBuilt reports whether a snapshot has builtMark.
func isBuilt(e *envelope.Event) bool {
	mark, _ := e.Get("metadata")
	own, _ := mark.Member("p20export")
	origin, _ := own.Member("origin")
	return origin.Is(string(Built))
}
