package project

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/internal/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// folded takes the request's messages and then the streamed ones.
func (d *draft) folded(f *fold, request []byte) {
	d.reportAll(f.findings)
	d.request(request)
	requested := make(map[string]bool, len(d.artifact.Messages))
	for _, m := range d.artifact.Messages {
		requested[artifact.Trim(m.ID)] = true
	}
	for _, m := range f.messages {
		o := origin{event: m.event}
		if requested[artifact.Trim(m.id)] {
			d.report(o.finding(finding.StreamedIDInRequest, "the streamed message %s has the id of a message in the request", finding.Quote(m.id)).On("/messageId"))
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
	role := "assistant" // what an absent role means (AG-UI 1.0)
	if m.role.Kind != 0 && m.role.Kind != strictjson.Null {
		role, _ = m.role.Text()
	}
	if !artifact.IsRole(role) {
		d.omitted.add(o.omission(finding.RoleOutsideSubset))
		return
	}
	if artifact.IsBlank(string(m.text)) {
		d.omitted.add(o.omission(finding.ContentBlank))
		return
	}
	msg := artifact.Message{ID: m.id, Role: role, Content: d.whole(o, string(m.text))}
	if m.name != nil {
		msg.Name = d.optional(o.name("name"), *m.name)
	}
	d.artifact.Messages = append(d.artifact.Messages, msg)
	d.sources = append(d.sources, o)
}

// request takes the messages of the request that caused the run. Its other
// keys are left out.
func (d *draft) request(data []byte) {
	if data == nil {
		d.omitted.add(origin{}.omission(finding.RequestAbsent))
		d.report(origin{}.finding(finding.RequestAbsent, "there is none, so only streamed messages are taken"))
		return
	}
	var decoder strictjson.Decoder
	var input strictjson.Object
	value, err := input.ReadText(&decoder, data)
	if fault, ok := err.(finding.Finding); ok {
		fault.Message, fault.Offset = requestFile+": "+fault.Message, nil
		d.report(fault)
		return
	}
	list, ok := input.Get("messages")
	if value.Kind != strictjson.ObjectStart || !ok || list.Kind != strictjson.ArrayStart {
		d.report(origin{pointer: "/messages"}.finding(finding.RequestMalformed, "it has no list of messages"))
		return
	}
	if id, ok := input.Get("runId"); ok && !id.Is(d.run.RunID) {
		d.omitted.add(origin{}.name("runId").omission(finding.RequestOtherRun))
		d.report(origin{}.name("runId").finding(finding.RequestOtherRun, "it names another run, so only streamed messages are taken"))
		return
	}
	d.messages(origin{pointer: "/messages"}, list)
	for _, m := range input.Members {
		switch name, _ := strictjson.Unquote(m.Name.Raw); name {
		case "messages", "threadId", "runId":
		default:
			d.omitted.add(origin{}.name(name).omission(finding.KeyOutsideSubset))
		}
	}
}
