package project

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// folded takes the request's messages and then the streamed ones.
func (d *draft) folded(f *fold, request []byte) {
	d.reportAll(f.findings)
	d.unlisted += f.unlisted
	requested := d.request(request)
	for _, m := range f.messages {
		o := origin{event: m.event}
		if requested[artifact.Trim(m.id)] {
			d.report(o.finding(finding.StreamedIDInRequest, "the streamed message %s has the id of a message in the request", finding.Quote(m.id)).WithPointer("/messageId"))
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

// request takes the messages of the request that caused the run, and returns
// the trimmed ids of them all, those left out included. Its other keys are left
// out.
func (d *draft) request(data []byte) (ids map[string]bool) {
	if data == nil {
		d.omitted.add(origin{}.omission(finding.RequestAbsent))
		d.report(origin{}.finding(finding.RequestAbsent, "there is none, so only streamed messages are taken"))
		return nil
	}
	var decoder strictjson.Decoder
	var input strictjson.Object
	value, err := strictjson.ReadText(&input, &decoder, data)
	if fault, ok := finding.FromSyntax(err); ok {
		fault.Message, fault.Offset = requestFile+": "+fault.Message, nil
		d.report(fault)
		return nil
	}
	list, ok := input.Get("messages")
	if value.Kind != strictjson.ObjectStart || !ok || list.Kind != strictjson.ArrayStart {
		d.report(origin{pointer: "/messages"}.finding(finding.RequestMalformed, "it has no list of messages"))
		return nil
	}
	for _, names := range []struct{ key, what, of string }{{"runId", "run", d.run.RunID}, {"threadId", "thread", d.run.ThreadID}} {
		if id, ok := input.Get(names.key); ok && !id.Is(names.of) {
			o := origin{}.name(names.key)
			d.omitted.add(o.omission(finding.RequestOtherRun))
			d.report(o.finding(finding.RequestOtherRun, "it names another %s, so only streamed messages are taken", names.what))
			return nil
		}
	}
	d.messages(origin{pointer: "/messages"}, list)
	for m := range input.All {
		switch name, _ := strictjson.Unquote(m.Name.Raw); name {
		case "messages", "threadId", "runId":
		default:
			d.omitted.add(origin{}.name(name).omission(finding.KeyOutsideSubset))
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

// Folding is what the request and the stream of a run say of its messages,
// whether or not the run emitted a snapshot. It is for comparing the two; an
// artifact is made by Project alone.
type Folding struct {
	Messages []artifact.Message
	// Streamed are the ids of the messages that the run streamed itself, in the
	// order of their start and as they are; those without text are among them.
	Streamed []string
	// Findings say what Project refuses the folding for.
	Findings []finding.Finding
}

// Fold returns the folding of a run whose events a FoldedStream collector has
// seen. The request is as Project takes it.
func (c *Collector) Fold(run *envelope.Run, request []byte) Folding {
	d := &draft{run: run, settings: Settings{Projection: FoldedStream}, artifact: artifact.New()}
	d.folded(c.fold, request)
	f := Folding{Messages: d.artifact.Messages, Findings: d.sorted()}
	for _, m := range c.fold.messages {
		f.Streamed = append(f.Streamed, m.id)
	}
	return f
}
