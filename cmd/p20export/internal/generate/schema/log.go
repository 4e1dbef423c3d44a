package main

import (
	"encoding/json"

	"github.com/invopop/jsonschema"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// The kinds of line of a thread in the portable form.
type (
	logHead struct {
		Schema string `json:"schema"`
		Thread string `json:"thread"`
		After  int64  `json:"after"`
	}
	logEntry struct {
		Position int64      `json:"position"`
		Stream   string     `json:"stream"`
		Kind     store.Kind `json:"kind"`
		Arrived  string     `json:"arrived,omitzero"`
		JSON     any        `json:"json,omitzero"`
		Text     string     `json:"text,omitzero"`
		Base64   string     `json:"base64,omitzero"`
	}
	logSeal struct {
		Seal logSealText `json:"seal"`
	}
	logSealText struct {
		Size       int64  `json:"size"`
		Checkpoint string `json:"checkpoint"`
		Token      string `json:"token,omitzero"`
	}
	logTail struct {
		Entries int64         `json:"entries"`
		Digest  digest.Digest `json:"digest"`
	}
)

// log generates the schema of a line of a thread in the portable form.
func (g *generator) log() (*jsonschema.Schema, error) {
	head, entry, tail := g.reflect(logHead{}, false), g.reflect(logEntry{}, false), g.reflect(logTail{}, false)
	sealed := g.reflect(logSeal{}, false)
	for _, key := range []string{"json", "text", "base64"} {
		entry.OneOf = append(entry.OneOf, &jsonschema.Schema{Required: []string{key}})
	}
	id := func(s *jsonschema.Schema) { s.MinLength = uintPtr(1) }
	base64 := func(s *jsonschema.Schema) { s.ContentEncoding = "base64" }
	for _, line := range []struct {
		schema *jsonschema.Schema
		rules  []rule
	}{
		{head, []rule{
			{"", nil, "The first line."},
			{"schema", func(s *jsonschema.Schema) { s.Enum = enum(transfer.Schema, transfer.SealedSchema).Enum }, "Identifies the format of the file: the second one has seals."},
			{"thread", id, "The id of the thread."},
			{"after", atLeast("0"), "The position before that of the first entry; 0 if the file has the whole thread."},
		}},
		{entry, []rule{
			{"", nil, "A line with an entry. Its data decides which of json, text and base64 it has."},
			{"position", atLeast("1"), "The position in the thread. The positions of a file have no gaps."},
			{"stream", id, "The id of the stream: one exchange with an agent."},
			{"kind", func(s *jsonschema.Schema) {
				s.Enum = enum(store.Event, store.Input, store.Closing, store.End).Enum
			}, "The kind of entry: an event of the agent, a request (RunAgentInput), an event that the program added, or the end of the stream."},
			{"arrived", matching(manifestTime), "The time of arrival; absent if it is not known."},
			{"json", nil, "The data, byte for byte, if it is JSON without line breaks and surrounding space."},
			{"text", nil, "The data, if it is other text without control characters except tabs and line breaks."},
			{"base64", base64, "Any other data, in Base64 (RFC 4648 §4)."},
		}},
		{sealed, []rule{
			{"", nil, "A line with a seal. Seals follow the entries, ordered by size."},
			{"seal", nil, "The seal."},
			{"seal/size", atLeast("1"), "The number of entries that the seal is about."},
			{"seal/checkpoint", id, "The signed checkpoint (docs/seals.md)."},
			{"seal/token", base64, "The time-stamp token over the checkpoint (RFC 3161), in Base64, if there is one."},
		}},
		{tail, []rule{
			{"", nil, "The last line."},
			{"entries", atLeast("0"), "The number of entries in the file."},
			{"digest", nil, "The digest of all lines before, with their line feeds."},
		}},
	} {
		line.schema.Version = ""
		if err := apply(line.schema, line.rules); err != nil {
			return nil, err
		}
	}
	s := &jsonschema.Schema{
		Description: "One line of a thread of a log in the portable form, NDJSON. The keys of a line have the order of the schema, without space between them. The decoder accepts only the one form that the program writes, and checks the digest.",
		OneOf:       []*jsonschema.Schema{head, entry, sealed, tail},
	}
	for _, line := range []string{
		`{"schema":"p20export.log.v2","thread":"order-1","after":0}`,
		`{"position":1,"stream":"s1","kind":"event","arrived":"2026-01-02T03:04:05.000006Z","json":{"type":"RUN_STARTED","threadId":"order-1","runId":"r1"}}`,
		`{"position":2,"stream":"s1","kind":"end","text":"eof"}`,
		`{"seal":{"size":2,"checkpoint":"agents.example/log/6a46def5c5698e967717b55abac5d97266d7366b58a4ff0341204387a8baef9d\n2\nBi/1N3czurzAQ5Hbt0r0m6R9Dk8rTcI7KAHbLPlJPGg=\ntenant sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\nthread sha256:0bafe22156d2698c143b86040446d366ead863ba600d5c924f3d15c786ef4057\ntime 2026-11-28T23:13:28Z\n\n\u2014 agents.example/log/6a46def5c5698e967717b55abac5d97266d7366b58a4ff0341204387a8baef9d sDwXMwncGEY1hsBHuson4QMitmqSn8x44Vk0YAoFH9apzubsppoCb7JhwvfHuxwQKywtALLFY32UB8mvVOhZFThaqQo=\n"}}`,
		`{"entries":2,"digest":"sha256:a3285329899ed4fbaa2b966d67e759cfcd2790b3c1a87597d2b7eee3ec761be9"}`,
	} {
		s.Examples = append(s.Examples, json.RawMessage(line))
	}
	return s, nil
}
