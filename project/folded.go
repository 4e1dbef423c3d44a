package project

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// folded copies the messages of the request and then the streamed messages.
func (d *draft) folded(f *fold) {
	d.reportAll(f.findings)
	d.unlisted += f.unlisted
	requested := d.takeRequest()
	for _, m := range f.streamed {
		o := origin{event: m.event}
		if requested[artifact.Trim(m.ID())] {
			d.report(o.finding(finding.StreamedIDInRequest, "the streamed message %s has the id of a message in the request", finding.Quote(m.ID())).WithPointer("/messageId"))
			continue
		}
		d.streamed(o, m)
	}
	for _, left := range f.omitted.list {
		d.omitted.add(left)
	}
	d.omitted.uncounted += f.omitted.uncounted
}

func (d *draft) streamed(o origin, m *streamed) {
	if !artifact.IsRole(m.Role()) {
		d.omitted.add(o.omission(finding.RoleOutsideSubset))
		return
	}
	text, _ := m.Text()
	if artifact.IsBlank(text) {
		d.omitted.add(o.omission(finding.ContentBlank))
		return
	}
	msg := artifact.Message{ID: m.ID(), Role: m.Role(), Content: d.validText(o, text)}
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
// collector must have been created for FoldedStream and must have observed all
// events of the run. See Project for the request.
func (c *Collector) Fold(run *envelope.Run, request []byte) FoldResult {
	d := &draft{run: run, request: request, settings: Settings{Projection: FoldedStream, Version: FoldedStream.Version()}, artifact: artifact.New()}
	d.folded(c.fold)
	f := FoldResult{Messages: d.artifact.Messages, FromRequest: d.fromRequest, Findings: d.sorted()}
	for _, m := range c.fold.streamed {
		f.Streamed = append(f.Streamed, m.ID())
	}
	return f
}
