package project

import (
	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// checkSelection reports whether the selected snapshot exists. It records the other
// snapshots as omissions.
func (d *draft) checkSelection(snapshot *envelope.Event) bool {
	count := d.run.SnapshotCount
	want := d.settings.Snapshot
	switch {
	case count == 0:
		d.report(finding.New(finding.SnapshotMissing, "the run has no MESSAGES_SNAPSHOT"))
		return false
	case want == Only && count > 1:
		d.report(d.run.Snapshots[1].Annotate(finding.New(finding.SnapshotSeveral, "the run has %d MESSAGES_SNAPSHOT events, not one", count)))
		return false
	case snapshot == nil:
		d.report(finding.New(finding.SnapshotOutOfRange, "the run has %d MESSAGES_SNAPSHOT events; number %s was requested", count, want))
		return false
	}
	others := count - 1
	for _, s := range d.run.Snapshots {
		if index := s.Index; index != snapshot.Index {
			d.omitted.add(Omission{EventIndex: &index, Reason: finding.SnapshotNotChosen})
			others--
		}
	}
	d.omitted.uncounted += others
	return true
}

// emitted copies the messages of an emitted snapshot.
func (d *draft) emitted(e *envelope.Event) {
	d.snapshot = e
	if isBuilt(e) {
		d.report(e.Finding(finding.SnapshotBuilt, "this snapshot was built by p20export, not emitted by the run").WithPointer("/metadata").
			WithSeverity(finding.Error).WithHint("freeze the capture it was built from"))
	}
	list, ok := e.Get("messages")
	if !ok || list.Kind != strictjson.ArrayStart {
		d.report(e.Finding(finding.SnapshotMalformed, "the snapshot has no list of messages").WithPointer("/messages"))
		return
	}
	d.messages(origin{event: e, pointer: "/messages"}, list)
	d.omitOtherKeys(e, "messages")
}

// messages copies a list of messages from a snapshot or a run input.
func (d *draft) messages(o origin, list strictjson.Value) {
	// The list is part of a valid JSON text, so Elements cannot fail.
	_ = strictjson.Elements(list, func(i int, v strictjson.Value, m *strictjson.Object) error {
		if d.isSettled() {
			d.skipped++
			return nil
		}
		at := o.index(i)
		at.start = v.Start
		if v.Kind != strictjson.ObjectStart {
			d.report(at.malformed("message %d is %s where an object belongs", i, v.Kind))
			return nil
		}
		d.message(at, m)
		return nil
	})
}

// isSettled reports whether the remaining messages cannot change the refusal:
// there are too many messages for an artifact, or the list of findings is full.
func (d *draft) isSettled() bool {
	return len(d.artifact.Messages) > artifact.V1.Limits().Messages || d.failed && len(d.findings) == maxFindings
}

// message copies or omits one message.
func (d *draft) message(o origin, m *strictjson.Object) {
	var msg artifact.Message
	var drop []finding.Code
	unfit := func(at origin, code finding.Code, format string, args ...any) {
		drop = append(drop, code)
		if d.strict {
			d.rejectOrOmit(at, code, format, args...)
		}
	}
	role, ok := m.Get("role")
	if msg.Role, _ = role.Text(); !ok || !artifact.IsRole(msg.Role) {
		unfit(o.name("role"), finding.RoleOutsideSubset, "the role is %s", formatRole(role, ok))
	}
	content, ok := m.Get("content")
	text, joined, why := d.content.read(content, ok)
	if d.summer != nil && role.Kind == strictjson.String {
		d.normalized = d.summer.appendNormalized(d.normalized, msg.Role, text)
	}
	if why != "" {
		unfit(o.name("content"), why, "the content %s", contentFault(why))
	}
	if d.strict && joined && why != finding.ContentNotText {
		unfit(o.name("content"), finding.ContentNotText, "the content %s", contentFault(finding.ContentNotText))
	}
	if drop != nil && !d.strict {
		for _, code := range drop {
			d.omitted.add(o.omission(code))
		}
		d.rejectOrOmitExtraKeys(o, m)
		return
	}
	msg.Content = d.validText(o.name("content"), string(text))
	if joined && !d.strict {
		d.recordJoined(o.name("content"), content)
	}
	if id, ok := m.Get("id"); ok {
		msg.ID = d.text(o.name("id"), id)
	} else {
		d.report(o.finding(finding.KeyMissing, "the message has no id").WithPointer(o.name("id").pointer))
	}
	if name, ok := m.Get("name"); ok {
		msg.Name = d.optional(o.name("name"), name)
	}
	d.rejectOrOmitExtraKeys(o, m)
	d.artifact.Messages = append(d.artifact.Messages, msg)
	d.sources = append(d.sources, o)
}

// rejectOrOmitExtraKeys rejects or omits the keys of a message that are outside
// the subset.
func (d *draft) rejectOrOmitExtraKeys(o origin, m *strictjson.Object) {
	for member := range m.All {
		switch key, _ := member.Name.Text(); key {
		case "id", "role", "content", "name":
		default:
			d.rejectOrOmit(o.name(key), finding.KeyOutsideSubset, "the message has the key %s", finding.Quote(key))
		}
	}
}

// validText joins surrogate pairs and reports an error if the text still contains
// half of a pair.
func (d *draft) validText(o origin, text string) string {
	s, valid := strictjson.JoinSurrogates(text)
	if !valid {
		d.loneSurrogate(o)
	}
	return s
}

// recordJoined records the omissions caused by joining a list of text parts.
func (d *draft) recordJoined(o origin, parts strictjson.Value) {
	d.omitted.add(o.omission(finding.TextPartsJoined))
	_ = strictjson.Elements(parts, func(i int, _ strictjson.Value, part *strictjson.Object) error {
		for member := range part.All {
			if key, _ := strictjson.Unquote(member.Name.Raw); key != "type" && key != "text" {
				d.omitted.add(o.index(i).name(key).omission(finding.KeyOutsideSubset))
			}
		}
		return nil
	})
}

// contentFault describes why a content was refused with code.
func contentFault(code finding.Code) string {
	switch code {
	case finding.ContentMissing:
		return "is absent"
	case finding.ContentBlank:
		return "is blank"
	}
	return "is not plain text"
}

// contentReader reads the contents of messages. It uses its memory again.
type contentReader struct{ buf []byte }

// read reads the content of a message: a string, or a list of text parts, which it joins
// without a separator. Half of a surrogate pair has three bytes, as Unquote returns it. The
// text is valid until the next call. If the content is anything else, why is the reason for
// rejecting it.
func (r *contentReader) read(v strictjson.Value, present bool) (text []byte, joined bool, why finding.Code) {
	r.buf = r.buf[:0]
	switch {
	case !present || v.Kind == strictjson.Null:
		return nil, false, finding.ContentMissing
	case v.Kind == strictjson.String:
		r.buf, _ = strictjson.AppendUnquoted(r.buf, v.Raw)
	case v.Kind == strictjson.ArrayStart:
		joined = true
		_ = strictjson.Elements(v, func(_ int, _ strictjson.Value, part *strictjson.Object) error {
			kind, _ := part.Get("type")
			t, ok := part.Get("text")
			if !kind.Is("text") || !ok || t.Kind != strictjson.String {
				why = finding.ContentNotText
				return nil
			}
			r.buf, _ = strictjson.AppendUnquoted(r.buf, t.Raw)
			return nil
		})
	default:
		return nil, false, finding.ContentNotText
	}
	if why == "" && isBlank(r.buf) {
		why = finding.ContentBlank
	}
	return r.buf, joined, why
}

func formatRole(v strictjson.Value, present bool) string {
	if !present {
		return "absent"
	}
	if s, _ := v.Text(); v.Kind == strictjson.String {
		return finding.Quote(s)
	}
	return v.Kind.String()
}
