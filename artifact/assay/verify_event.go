package assay

import (
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/digest"
)

// Entry is one event of a bundle, with the values that its line states.
type Entry struct {
	Seq         uint64
	ID          string
	Type        string
	Source      string
	Time        string
	RunID       string
	Producer    Producer
	ContentHash string
	Data        jsontext.Value // valid until the callback returns
	Bytes       int            // length of the line without its line end
}

// event is an event as the reference decodes it (types.rs, EvidenceEvent).
type event struct {
	specversion, kind, source, id, time, contentType    string
	subject, traceParent, traceState                    maybe
	runID                                               string
	seq                                                 uint64
	producer                                            Producer
	policyID, contentHash, semanticDigest, digestFormat maybe
	pii, secrets                                        bool
	data                                                jsontext.Value
	at                                                  instant // time
}

// eventReader decodes event lines.
type eventReader struct {
	decoder
	event  event
	fields []field
}

func newEventReader(depth int, note func(pointer, message string)) *eventReader {
	r := &eventReader{decoder: decoder{json: &jsonReader{}, depth: depth, note: note}}
	e := &r.event
	moment := text("time", &e.time)
	readText := moment.take
	moment.take = func(m jsonMember) error {
		if err := readText(m); err != nil {
			return err
		}
		at, ok := parseTime(e.time)
		if !ok {
			return errTime
		}
		e.at = at
		return nil
	}
	data := field{name: "data", take: func(m jsonMember) error {
		if m.huge {
			return errNumber
		}
		e.data = m.value
		return nil
	}}
	r.fields = []field{
		text("specversion", &e.specversion),
		text("type", &e.kind),
		text("source", &e.source),
		text("id", &e.id),
		moment,
		text("datacontenttype", &e.contentType),
		optionalText("subject", &e.subject),
		optionalText("traceparent", &e.traceParent),
		optionalText("tracestate", &e.traceState),
		text("assayrunid", &e.runID),
		count("assayseq", 64, &e.seq),
		text("assayproducer", &e.producer.Name),
		text("assayproducerversion", &e.producer.Version),
		text("assaygit", &e.producer.Git),
		optionalText("assaypolicyid", &e.policyID),
		flag("assaypii", &e.pii),
		flag("assaysecrets", &e.secrets),
		optionalText("assaycontenthash", &e.contentHash),
		optionalText("assaysemanticdigest", &e.semanticDigest),
		optionalText("assaydigestprofile", &e.digestFormat),
		data,
	}
	return r
}

// read decodes a line without its end and checks it independently of other lines.
func (r *eventReader) read(line []byte) (*event, *Refusal) {
	if len(line) == 0 {
		return nil, refuse(contractEvent, "Blank line in events.ndjson")
	}
	if !utf8.Valid(line) {
		return nil, refuse(contractJSON, "Invalid UTF-8 in event")
	}
	r.event = event{}
	kind, members, err := r.json.read(line, r.depth)
	if err == nil {
		err = r.decode(kind, members, "", r.fields)
	}
	e := &r.event
	switch {
	case err != nil:
		return nil, refuseJSON(err, "Event", r.depth)
	case e.specversion != "1.0":
		return nil, refuse(contractVersion, "Invalid specversion")
	case !e.contentHash.set:
		return nil, refuse(contractVersion, "Missing content_hash")
	}
	hash, err := e.hash()
	if err != nil || string(hash) != e.contentHash.text {
		return nil, refuse(integrityEventHash, "Content hash mismatch at seq %d", e.seq)
	}
	return e, nil
}

// hash returns the content hash.
func (e *event) hash() (digest.Digest, error) {
	data, err := canonical(e.data)
	if err != nil {
		return "", fmt.Errorf("canonical data: %w", err)
	}
	return hashContent(data, e.contentType, e.specversion, e.subject, e.kind), nil
}

func (e *event) entry(size int) Entry {
	return Entry{
		Seq: e.seq, ID: e.id, Type: e.kind, Source: e.source, Time: e.time, RunID: e.runID,
		Producer:    e.producer,
		ContentHash: e.contentHash.text, Data: e.data, Bytes: size,
	}
}
