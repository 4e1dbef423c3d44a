package project

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// folded takes the messages that the run was asked with and then the streamed
// ones.
func (d *draft) folded(f *fold) {
	d.reportAll(f.findings)
	d.unlisted += f.unlisted
	requested := d.requested()
	for _, m := range f.messages {
		o := origin{event: m.event}
		if requested[artifact.Trim(m.id)] {
			d.report(o.finding(finding.StreamedIDInRequest, "the streamed message %s has the id of a message that the run was asked with", finding.Quote(m.id)).WithPointer("/messageId"))
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
	if !artifact.IsRole(m.role) {
		d.omitted.add(o.omission(finding.RoleOutsideSubset))
		return
	}
	if artifact.IsBlank(string(m.text)) {
		d.omitted.add(o.omission(finding.ContentBlank))
		return
	}
	msg := artifact.Message{ID: m.id, Role: m.role, Content: d.whole(o, string(m.text))}
	if m.name != nil {
		msg.Name = d.optional(o.name("name"), *m.name)
	}
	d.artifact.Messages = append(d.artifact.Messages, msg)
	d.sources = append(d.sources, o)
}

// requested takes the messages that the run was asked with, and returns the
// trimmed ids of them all, those left out included. They are those of the request
// or, where there is none, of the copy of it in RUN_STARTED.
func (d *draft) requested() (ids map[string]bool) {
	if d.request != nil {
		return d.input(origin{}, d.request)
	}
	d.omitted.add(origin{}.omission(finding.RequestAbsent))
	if input, ok := d.startedInput(); ok {
		d.report(origin{}.finding(finding.RequestAbsent, "there is none; the input in RUN_STARTED is read instead"))
		return d.input(origin{event: d.run.Started, pointer: "/input", start: input.Start}, input.Raw)
	}
	d.report(origin{}.finding(finding.RequestAbsent, "there is none, so only streamed messages are taken"))
	return nil
}

// startedInput returns the input of RUN_STARTED, where the projection reads it and
// there is no request. Null is no input.
func (d *draft) startedInput() (strictjson.Value, bool) {
	if !d.settings.readsInput() || d.request != nil {
		return strictjson.Value{}, false
	}
	v, ok := d.run.Started.Get("input")
	return v, ok && v.Kind != strictjson.Null
}

// input takes the messages of a run input, the JSON text at an origin. Its other
// keys are left out.
func (d *draft) input(o origin, text []byte) (ids map[string]bool) {
	var decoder strictjson.Decoder
	var input strictjson.Object
	value, err := strictjson.ReadText(&input, &decoder, text)
	if fault, ok := finding.FromSyntax(err); ok { // of request.json: an event was read before
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
	if key, other := d.otherInput(&input); key != "" {
		o := o.name(key)
		d.omitted.add(o.omission(finding.RequestOtherRun))
		d.report(o.finding(finding.RequestOtherRun, "%s names another %s, so only streamed messages are taken", what, other))
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

// otherInput returns the key of a run input, if any, that names another run or
// thread, and which of the two.
func (d *draft) otherInput(input *strictjson.Object) (key, what string) {
	for _, names := range []struct{ key, what, of string }{{"runId", "run", d.run.RunID}, {"threadId", "thread", d.run.ThreadID}} {
		if id, ok := input.Get(names.key); ok && !id.Is(names.of) {
			return names.key, names.what
		}
	}
	return "", ""
}

// FoldResult is what the input and the stream of a run say of its messages,
// whether or not the run emitted a snapshot. It is for comparing the two; an
// artifact is made by Project alone.
type FoldResult struct {
	Messages []artifact.Message
	// Streamed are the ids of the messages that the run streamed itself, in the
	// order of their start and as they are; those without text are among them.
	Streamed []string
	// FromRequest says that the messages of the request are among them.
	FromRequest bool
	// Findings say what Project refuses the folding for.
	Findings []finding.Finding
}

// Fold returns the folding of a run whose events a FoldedStream collector has
// seen. The request is as Project takes it.
func (c *Collector) Fold(run *envelope.Run, request []byte) FoldResult {
	d := &draft{run: run, request: request, settings: Settings{Projection: FoldedStream, Version: FoldedStream.Version()}, artifact: artifact.New()}
	d.folded(c.fold)
	f := FoldResult{Messages: d.artifact.Messages, FromRequest: d.fromRequest, Findings: d.sorted()}
	for _, m := range c.fold.messages {
		f.Streamed = append(f.Streamed, m.id)
	}
	return f
}
