package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/discovery/report/internal/markup"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/scan"
)

// losses counts the omissions of an artifact.
type losses struct {
	whole   counted               // omitted messages, by reason
	lacking int                   // streamed messages that are not in the snapshot
	parts   counted               // omitted keys of kept messages
	touched map[messagePlace]bool // kept messages with omitted keys
	joined  int                   // messages whose text parts were joined
	others  counted               // omitted keys of other events
	short   counted               // shortened texts of RUN_ERROR
	request counted               // omitted keys of the request
	says    []string              // other omissions, in words
	more    int                   // omissions that the record only counts
}

// counted counts names and keeps the order of their first occurrence.
type counted struct {
	names []string
	n     map[string]int
}

func (c *counted) add(name string) {
	if c.n == nil {
		c.n = make(map[string]int)
	}
	if c.n[name] == 0 {
		c.names = append(c.names, name)
	}
	c.n[name]++
}

// messagePlace is the position of a message in the list of an event. If event is
// negative, the list is that of the request.
type messagePlace struct {
	event  int
	number int
}

// messageOf returns the message that an omission is about, and the keys that lead to the
// omitted part of it; there are none if the whole message was omitted. The message must be
// in a list that artifacts are made from: that of a snapshot, the request, or the input in
// RUN_STARTED. Otherwise, ok is false.
func messageOf(o project.Omission) (at messagePlace, part []string, ok bool) {
	at.event = -1
	pointer := string(o.Pointer)
	if o.EventIndex != nil {
		at.event = *o.EventIndex
		pointer = strings.TrimPrefix(pointer, "/input")
	}
	names := strings.Split(pointer, "/")
	if len(names) < 3 || names[1] != "messages" || o.Count > 0 {
		return at, nil, false
	}
	n, err := strconv.Atoi(names[2])
	if err != nil {
		return at, nil, false
	}
	at.number = n
	for _, name := range names[3:] {
		part = append(part, markup.Unescape(name))
	}
	return at, part, true
}

// part names an omitted part of a message by its keys.
func (v *viewer) part(keys []string) string {
	if len(keys) > 1 {
		return "part of " + v.key(keys[0])
	}
	return v.key(keys[0])
}

// lossesOf counts omissions.
func (v *viewer) lossesOf(omissions []project.Omission) losses {
	l := losses{touched: make(map[messagePlace]bool)}
	gone := make(map[messagePlace]bool)
	snapshots := 0
	for _, o := range omissions {
		if at, part, ok := messageOf(o); ok && part == nil && !gone[at] {
			gone[at] = true
			l.whole.add(messageLeft(o.Reason))
		}
	}
	for _, o := range omissions {
		at, part, ofMessage := messageOf(o)
		switch {
		case o.Reason == finding.FamiliesUncounted: // not about the artifact
		case o.Count > 0:
			l.more += o.Count
		case o.Reason == finding.SnapshotLacksText:
			l.lacking++
		case o.Reason == finding.SnapshotNotChosen:
			snapshots++
		case o.Reason == finding.RequestAbsent:
			l.says = append(l.says, "no request was captured")
		case o.Reason == finding.RequestOtherRun:
			l.says = append(l.says, "the request is another run's")
		case ofMessage && gone[at]:
		case ofMessage && o.Reason == finding.TextPartsJoined:
			l.joined++
		case ofMessage:
			l.touched[at] = true
			l.parts.add(v.part(part))
		case o.Pointer == "":
			l.whole.add(messageLeft(o.Reason)) // a streamed message
		default:
			first, _, _ := strings.Cut(string(o.Pointer)[1:], "/")
			in := &l.others
			switch {
			case o.EventIndex == nil:
				in = &l.request
			case o.Reason == finding.TextShortened || o.Reason == finding.ErrorStackTrace:
				in = &l.short
			}
			in.add(v.key(markup.Unescape(first)))
		}
	}
	if snapshots > 0 {
		l.says = append(l.says, plural(snapshots, "other snapshot", "other snapshots")+" not taken")
	}
	return l
}

// notListed describes an omitted message that the record only counts.
const notListed = "that the record does not list"

// messageLeft describes a message that was omitted for a reason. The text follows the word
// "message".
func messageLeft(reason finding.Code) string {
	switch reason {
	case finding.ContentMissing:
		return "without text"
	case finding.ContentBlank:
		return "with blank text"
	case finding.ContentNotText:
		return "that is not plain text"
	case finding.RoleOutsideSubset:
		return "whose role is not in the contract"
	case finding.SubagentText:
		return "of a subagent"
	case finding.OmissionsUncounted:
		return notListed
	case finding.SnapshotLacksText:
		return "that the run streamed and the snapshot lacks"
	}
	return "with " + string(reason)
}

// messages returns the number of omitted messages.
func (l losses) messages() (n int) {
	for _, count := range l.whole.n {
		n += count
	}
	return n
}

// named limits the keys named in a headline.
const named = 3

// text lists the omissions of messages, in full and in short, and the other omissions, each
// in one line.
func (l losses) text() (all, messages, elsewhere string) {
	var says, short []string
	add := func(before, after string) {
		says, short = append(says, before+" left out"+after), append(short, before+after)
	}
	for _, why := range l.whole.names {
		add(plural(l.whole.n[why], "message", "messages")+" "+why, "")
	}
	if l.lacking > 0 {
		lacking := plural(l.lacking, "streamed message", "streamed messages") + " not in the snapshot"
		says, short = append(says, lacking), append(short, lacking)
	}
	if n := len(l.touched); n > 0 {
		add("parts of "+plural(n, "message", "messages"), ": "+l.parts.list())
	}
	if l.joined > 0 {
		joined := "text parts of " + plural(l.joined, "message", "messages") + " joined"
		says, short = append(says, joined), append(short, joined)
	}
	if len(l.short.names) > 0 {
		says = append(says, l.short.list()+" of the error shortened")
	}
	says = append(says, l.says...)
	if l.more > 0 {
		says = append(says, plural(l.more, "more omission", "more omissions")+" not listed")
	}
	var other []string
	if len(l.others.names) > 0 {
		other = append(other, l.others.list()+" of other events")
	}
	if len(l.request.names) > 0 {
		other = append(other, l.request.list()+" of the request")
	}
	return strings.Join(says, separator), strings.Join(short, separator), strings.Join(other, "; ")
}

// list returns the first names.
func (c counted) list() string {
	names := c.names
	if len(names) > named {
		names = append(names[:named:named], "…")
	}
	return strings.Join(names, ", ")
}

// separator separates the parts of a headline.
const separator = " · "

// sum sets the headline and the counts of a frozen run.
func (v *viewer) sum(s *section, r *run) {
	p := r.frozen.record.Predicate
	l := v.lossesOf(p.Omissions)
	s.Kept = len(r.frozen.decoded.Messages)
	s.Messages = s.Kept + s.Conversation.Gone
	for range s.Conversation.Gone - l.messages() - l.lacking {
		l.whole.add(notListed)
	}
	var elsewhere string
	s.Lost, s.LostMessages, elsewhere = l.text()
	if elsewhere != "" {
		s.Facts = append(s.Facts, fact{Name: "Also left out", Value: elsewhere})
	}
	s.Headline = "Kept " + humanize.Grouped(int64(s.Kept)) + " of " + plural(s.Messages, "message", "messages")
	s.Counted = humanize.Grouped(int64(len(p.Events))) + " of " + plural(r.inspect.Events, "event", "events")
	if p.Projection.Origin == project.Built {
		s.Counted += " and a snapshot built from them"
		if n := r.inspect.Families.Count(envelope.TextMessageStart) - r.inspect.Families.Count(envelope.TextMessageEnd); n > 0 {
			s.Lost = joined(plural(n, "streamed message was", "streamed messages were")+" not finished", s.Lost)
		}
	}
}

// snapshotIndex returns the event index of the emitted snapshot in the artifact, or -1.
func (f *frozen) snapshotIndex() int {
	for _, part := range f.record.Predicate.Events {
		if part.Part == project.SnapshotPart {
			return part.Index
		}
	}
	return -1
}

// captureFact says whether the capture is intact.
func captureFact(r *run) string {
	findings := r.inspect.Findings
	if r.subject != nil {
		findings = append(findings[:len(findings):len(findings)], r.subject.Findings...)
	}
	switch {
	case finding.Has(findings, finding.DigestMismatch):
		return "altered: a file does not match its digest in capture.json"
	case r.subject == nil:
		return "not usable: " + meaning(findings[0].Code)
	case r.inspect.Source.Manifest == nil:
		return "a plain file: there are no digests to check"
	case finding.Has(findings, finding.CaptureCutShort):
		return "intact, but cut short: the end of the response is missing"
	}
	return "intact: every digest matches capture.json, which is not signed"
}

// artifactFact returns the size of the artifact and the command that writes it.
func artifactFact(r *run) fact {
	if r.frozen == nil {
		return fact{Name: "Artifact", Value: "none"}
	}
	return fact{Name: "Artifact", Value: humanize.Bytes(int64(len(r.frozen.artifact))) + ", derived from this capture for this page; this command writes it:", Command: r.command(r.subject)}
}

// snapshotFact says which snapshot the messages are from.
func snapshotFact(r *run) string {
	n := r.snapshots()
	switch {
	case r.frozen == nil && n == 0:
		return "none emitted"
	case r.frozen == nil:
		return humanize.Grouped(int64(n)) + " emitted, none taken"
	case r.subject.Origin == project.Built:
		return "built from " + builtFrom(r)
	}
	event := " (event " + strconv.Itoa(r.frozen.snapshotIndex()) + ")"
	if n == 1 {
		return "emitted by the run" + event
	}
	chosen := r.frozen.record.Predicate.Projection.Snapshot
	if chosen == project.First || chosen == project.Last {
		return string(chosen) + " of " + humanize.Grouped(int64(n)) + " emitted" + event
	}
	return "number " + string(chosen) + " of " + humanize.Grouped(int64(n)) + " emitted" + event
}

// builtFrom names the sources of a built snapshot.
func builtFrom(r *run) string {
	switch list := r.requested(); {
	case list == nil:
		return "the streamed text"
	case list.event < 0:
		return "the request and the streamed text"
	}
	return "the request, as RUN_STARTED repeats it, and the streamed text"
}

// timesFact returns the duration and the day of the run, and its times with their source.
func timesFact(r *run) (short, full string) {
	row := r.inspect
	if r.frozen != nil { // its times may be the operator's
		p := r.frozen.record.Predicate.Times
		row.TimeSource, row.StartedAt, row.FinishedAt = &p.Source, &r.frozen.decoded.StartedAt, &r.frozen.decoded.FinishedAt
	}
	if row.StartedAt == nil || row.TimeSource == nil {
		return "not known", "not known"
	}
	by := map[project.TimeSource]string{
		project.EventTime:    ", by the events' own times",
		project.ArrivalTime:  ", by arrival",
		project.OperatorTime: ", as given on the command line",
	}[*row.TimeSource]
	from, err := time.Parse(time.RFC3339Nano, *row.StartedAt)
	if err != nil {
		return *row.StartedAt, *row.StartedAt + by
	}
	const day, clock = "2006-01-02", "15:04:05.000"
	from = from.UTC()
	if row.FinishedAt == nil {
		full = "from " + from.Format(clock) + " UTC on " + from.Format(day)
		return full, full + by
	}
	to, err := time.Parse(time.RFC3339Nano, *row.FinishedAt)
	if err != nil {
		return *row.StartedAt, *row.StartedAt + by
	}
	to = to.UTC()
	end := to.Format(clock)
	if to.Format(day) != from.Format(day) {
		end += " on " + to.Format(day)
	}
	short = lasting(to.Sub(from)) + ", on " + from.Format(day)
	return short, "from " + from.Format(clock) + " to " + end + " UTC on " + from.Format(day) + by
}

// lasting formats a duration.
func lasting(d time.Duration) string {
	switch {
	case d < 0:
		return "finished before it started"
	case d < time.Second:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// endFact says how the run ended.
func (v *viewer) endFact(r *run) string {
	switch {
	case r.inspect.Run == nil:
		return ""
	case r.inspect.Terminal == nil:
		return "no terminal event"
	}
	end := v.show.Type(*r.inspect.Terminal)
	if text := v.failure(r, maxFact); text != "" {
		end += ": " + text
	}
	return end
}

// failure says why a run failed: the beginning of the text and of the code of RUN_ERROR. It
// takes them from the artifact or, if there is none, from the event.
func (v *viewer) failure(r *run, limit int) string {
	var text, code string
	switch {
	case r.frozen != nil:
		text, code = r.frozen.decoded.ErrorMessage, r.frozen.decoded.ErrorCode
	case r.timeline != nil:
		text, code = r.timeline.failure[0], r.timeline.failure[1]
	}
	says := v.show.Short(text, limit)
	switch {
	case code == "":
	case v.show.Redact:
		says += ", code " + v.show.Short(code, limit)
	default:
		says += " (" + v.show.Short(code, limit) + ")"
	}
	return strings.TrimPrefix(says, ", ")
}

// maxFailure limits the error text and code in a headline, in bytes.
const maxFailure = 80

// summary returns the most important facts.
func (v *viewer) summary(r *run) []fact {
	list := []fact{{Name: "Capture", Value: captureFact(r)}}
	_, failed := failedStatus(r) // which the headline has
	if m := r.inspect.Source.Manifest; r.inspect.Run == nil && !failed && m != nil && m.Source.Kind != capture.KindFile && m.Source.Status != nil {
		list = append(list, fact{Name: "HTTP status", Value: strconv.Itoa(*m.Source.Status)})
	}
	if r.subject == nil || r.inspect.Run == nil {
		return list
	}
	duration, _ := timesFact(r)
	list = append(list, artifactFact(r), fact{Name: "Ended with", Value: v.endFact(r)}, fact{Name: "Times", Value: duration})
	return append(list, v.recordFacts(r)...)
}

// facts returns the other facts about a run and its capture.
func (v *viewer) facts(r *run) (list []fact) {
	row := r.inspect
	say := func(name, text string) { list = append(list, fact{Name: name, Value: text}) }
	add := func(name string, value *string) {
		if value != nil {
			say(name, v.short(*value))
		}
	}
	if r.subject != nil && row.Run != nil {
		_, times := timesFact(r)
		list = append(list, fact{Name: "Snapshot", Value: snapshotFact(r)}, fact{Name: "From, to", Value: times})
	}
	add("Thread", row.ThreadID)
	add("Run", row.RunID)
	add("Parent run", row.ParentRunID)
	m := row.Source.Manifest
	if m == nil {
		if row.Source.Digest != "" {
			say("Source", "a plain file, "+string(row.Source.Framing)+", without times of arrival")
		}
		return list
	}
	source := "imported"
	if m.Source.Kind != capture.KindFile {
		source = v.short(m.Source.Method) + " " + v.short(m.Source.URL)
		if m.Source.Proxy != "" {
			source += " through the proxy " + v.short(m.Source.Proxy)
		}
		if m.Source.Status != nil {
			source += fmt.Sprintf(", status %03d", *m.Source.Status)
		}
	}
	say("Source", source+", "+string(m.Framing))
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		labels = append(labels, v.short(key)+"="+v.short(m.Labels[key]))
	}
	if labels != nil {
		text := strings.Join(labels, ", ")
		if len(text) > maxFact {
			text = strings.ToValidUTF8(text[:maxFact], "") + "…"
		}
		say("Labels", text)
	}
	return list
}

func (v *viewer) captureDigests(row scan.Inspection) (list []fact) {
	if row.Source.Digest == "" || v.show.Redact {
		return nil
	}
	list = append(list, fact{Name: "the response, as captured", Value: string(row.Source.Digest)})
	if m := row.Source.Manifest; m != nil && m.Files.Request != nil {
		list = append(list, fact{Name: capture.RequestName, Value: string(m.Files.Request.Digest)})
	}
	return list
}
