package project

import (
	"unicode/utf8"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// folded copies the messages of the request and then the streamed messages.
func (d *draft) folded(f *fold) {
	d.reportAll(f.findings)
	d.unlisted += f.unlisted
	d.tooLarge = f.summed
	requested := d.takeRequest()
	for _, m := range f.streamed {
		o := m.origin()
		if requested[artifact.Trim(m.id)] {
			d.report(o.finding(finding.StreamedIDInRequest, "the streamed message %s has the id of a message in the request", finding.Quote(m.id)).WithPointer("/messageId"))
			continue
		}
		d.streamed(o, f, m)
	}
	for _, left := range f.omitted.list {
		d.omitted.add(left)
	}
	d.omitted.uncounted += f.omitted.uncounted
}

func (d *draft) streamed(o origin, f *fold, m *streamed) {
	if !artifact.IsRole(m.role) {
		d.omitted.add(o.omission(finding.RoleOutsideSubset))
		return
	}
	if f.isBlank(m) {
		d.omitted.add(o.omission(finding.ContentBlank))
		return
	}
	msg := artifact.Message{ID: m.id, Role: m.role, Content: f.textOf(m)}
	if m.lone || !utf8.ValidString(msg.Content) {
		d.loneSurrogate(o)
	}
	if m.name != nil {
		msg.Name = d.optional(o.name("name"), *m.name)
	}
	d.artifact.Messages = append(d.artifact.Messages, msg)
	d.sources = append(d.sources, o)
}

// takeRequest copies the messages of the request or, if there is no request, of its
// copy in RUN_STARTED. It returns the trimmed ids of all messages, including
// omitted ones.
func (d *draft) takeRequest() (ids map[string]bool) {
	if d.request != nil {
		return d.takeInput(origin{}, d.request)
	}
	d.omitted.add(origin{}.omission(finding.RequestAbsent))
	if input, ok := d.startedInput(); ok {
		d.report(origin{}.finding(finding.RequestAbsent, "there is none; the input in RUN_STARTED is used instead"))
		return d.takeInput(origin{event: d.run.Started, pointer: "/input", start: input.Start}, input.Raw)
	}
	d.report(origin{}.finding(finding.RequestAbsent, "there is none, so only the streamed messages are used"))
	return nil
}

// startedInput returns the input of RUN_STARTED if the projection reads it and
// there is no request. A null input is ignored.
func (d *draft) startedInput() (strictjson.Value, bool) {
	if !d.settings.readsInput() || d.request != nil {
		return strictjson.Value{}, false
	}
	v, ok := d.run.Started.Get("input")
	return v, ok && v.Kind != strictjson.Null
}

// takeInput copies the messages of a run input, which is the JSON text at an origin.
// It omits the other keys.
func (d *draft) takeInput(o origin, text []byte) (ids map[string]bool) {
	var decoder strictjson.Decoder
	var input strictjson.Object
	value, err := strictjson.ReadText(&input, &decoder, text)
	if fault, ok := finding.FromSyntax(err); ok { // only in request.json: an event is already checked
		fault.Message, fault.Offset = requestFile+": "+fault.Message, nil
		d.report(fault)
		return nil
	}
	what := "it"
	if o.event != nil {
		what = "the input"
	}
	list, ok := input.Get("messages")
	if value.Kind != strictjson.ObjectStart || !ok || list.Kind != strictjson.ArrayStart {
		d.report(o.name("messages").malformed("%s has no list of messages", what))
		return nil
	}
	if key, other := d.foreignID(&input); key != "" {
		o := o.name(key)
		d.omitted.add(o.omission(finding.RequestOtherRun))
		d.report(o.finding(finding.RequestOtherRun, "%s names another %s, so only the streamed messages are used", what, other))
		return nil
	}
	d.fromRequest = o.event == nil
	list.Start += o.start
	d.messages(o.name("messages"), list)
	for m := range input.All {
		switch name, _ := strictjson.Unquote(m.Name.Raw); name {
		case "messages", "threadId", "runId":
		default:
			d.omitted.add(o.name(name).omission(finding.KeyOutsideSubset))
		}
	}
	ids = make(map[string]bool)
	_ = strictjson.Elements(list, func(_ int, _ strictjson.Value, m *strictjson.Object) error {
		if id, ok := m.Get("id"); ok && id.Kind == strictjson.String {
			text, _ := id.Text()
			ids[artifact.Trim(text)] = true
		}
		return nil
	})
	return ids
}

// foreignID returns the key of a run input that names another run or thread, and the
// word run or thread. Both results are empty if there is no such key.
func (d *draft) foreignID(input *strictjson.Object) (key, what string) {
	for _, id := range []struct{ key, what, want string }{{"runId", "run", d.run.RunID}, {"threadId", "thread", d.run.ThreadID}} {
		if v, ok := input.Get(id.key); ok && !v.Is(id.want) {
			return id.key, id.what
		}
	}
	return "", ""
}

// FoldResult has the messages from the request and the stream of a run. It is for
// comparison with an emitted snapshot. Artifacts come from Project only.
type FoldResult struct {
	Messages []artifact.Message
	// Streamed has the ids of the messages that the run itself streamed, in the
	// order of their first events. It includes messages without text. The ids are
	// not trimmed.
	Streamed []string
	// FromRequest reports whether Messages includes the messages of the request.
	FromRequest bool
	// Findings are about the messages. If one is an error, Project refuses the run.
	Findings []finding.Finding
}

// Fold returns the messages from the request and the stream of a run. The
// collector must have been created for FoldedStream, must keep texts, and must have
// observed all events of the run. See Project for the request.
func (c *Collector) Fold(run *envelope.Run, request []byte) FoldResult {
	d := &draft{run: run, request: request, settings: Settings{Projection: FoldedStream, Version: FoldedStream.Version()}, artifact: artifact.New()}
	d.folded(c.fold)
	f := FoldResult{Messages: d.artifact.Messages, FromRequest: d.fromRequest, Findings: d.sorted()}
	for _, m := range c.fold.streamed {
		f.Streamed = append(f.Streamed, m.id)
	}
	return f
}

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
