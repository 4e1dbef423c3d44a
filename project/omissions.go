package project

import (
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// maxOmissions is how many omissions a record lists, and maxPointerBytes how
// long their pointers may be together, so that hostile names leave the record
// below its own limit; a count stands for the rest.
const (
	maxOmissions    = 10_000
	maxPointerBytes = 8 << 20
)

// Omission names something that was left out of an artifact, and never holds
// it. It is relative to an event of the capture or, for a built snapshot, to
// the request.
type Omission struct {
	EventIndex *int            `json:"event_index,omitzero"`
	File       string          `json:"file,omitzero"`
	Pointer    finding.Pointer `json:"pointer"`
	Reason     finding.Code    `json:"reason"`
	// Count, where it is not zero, stands for that many omissions that are not
	// listed one by one.
	Count int `json:"count,omitzero"`
}

// requestFile is how omissions name the request.
const requestFile = "request.json"

// FromRequest reports whether a built snapshot has the messages of the request,
// as the omissions of its artifact tell.
func FromRequest(omissions []Omission) bool {
	return !slices.ContainsFunc(omissions, func(o Omission) bool {
		return o.File == requestFile && (o.Reason == finding.RequestAbsent || o.Reason == finding.RequestOtherRun)
	})
}

// CountMissing returns how many messages that the run streamed an artifact's omissions
// name as lacking in its snapshot.
func CountMissing(omissions []Omission) (n int) {
	for _, o := range omissions {
		if o.Reason == finding.SnapshotLacksText {
			n++
		}
	}
	return n
}

// FormatStreamedCount counts streamed messages for people.
func FormatStreamedCount(n int) string {
	if n == 1 {
		return "1 streamed message"
	}
	return fmt.Sprintf("%d streamed messages", n)
}

// origin is where something projected was found: in an event, or in request.json
// when event is nil.
type origin struct {
	event   *envelope.Event
	pointer finding.Pointer
	start   int // of the message in the event's data, for what is in one
}

func (o origin) name(name string) origin { o.pointer = o.pointer.Name(name); return o }

func (o origin) index(i int) origin { o.pointer = o.pointer.Index(i); return o }

// finding makes a finding about what the origin names.
func (o origin) finding(code finding.Code, format string, args ...any) finding.Finding {
	if o.event == nil {
		f := finding.New(code, format, args...).WithPointer(o.pointer)
		f.Message = requestFile + ": " + f.Message
		return f
	}
	return o.event.FindingAt(strictjson.Value{Start: o.start}, code, format, args...).WithPointer(o.pointer)
}

// malformed makes the finding that messages cannot be read: those of a snapshot,
// of request.json, or of RUN_STARTED's input.
func (o origin) malformed(format string, args ...any) finding.Finding {
	switch {
	case o.event == nil:
		return o.finding(finding.RequestMalformed, format, args...)
	case o.event.Type == envelope.RunStarted:
		return o.finding(finding.RequestMalformed, format, args...).WithHint("the integration should give RUN_STARTED the input as it got it, or none")
	}
	return o.finding(finding.SnapshotMalformed, format, args...)
}

func (o origin) omission(reason finding.Code) Omission {
	if o.event == nil {
		return Omission{File: requestFile, Pointer: o.pointer, Reason: reason}
	}
	index := o.event.Index
	return Omission{EventIndex: &index, Pointer: o.pointer, Reason: reason}
}

// omissions collects what was left out.
type omissions struct {
	list      []Omission
	pointers  int // bytes of the pointers in list
	uncounted int
}

func (l *omissions) add(o Omission) {
	if len(l.list) < maxOmissions && l.pointers+len(o.Pointer) <= maxPointerBytes {
		l.list = append(l.list, o)
		l.pointers += len(o.Pointer)
	} else {
		l.uncounted++
	}
}

func (l *omissions) result() []Omission {
	if l.uncounted == 0 {
		return l.list
	}
	return append(l.list[:len(l.list):len(l.list)], Omission{Reason: finding.OmissionsUncounted, Count: l.uncounted})
}

// summarised is how many omissions a summary names.
const summarised = 3

// OmissionsFinding says for people how much was left out, and names the first
// places; the record lists each. ok is false when nothing was left out.
func (o *Output) OmissionsFinding() (f finding.Finding, ok bool) {
	total := 0
	var first []Omission
	for _, left := range o.Omissions {
		total += max(left.Count, 1)
		if len(first) < summarised && left.Count == 0 {
			first = append(first, left)
		}
	}
	omissions := "omissions"
	if total == 1 {
		omissions = "omission"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d %s: ", total, omissions)
	for i, left := range first {
		place := left.place()
		switch {
		case i == 0:
		case left.Reason != first[i-1].Reason:
			text.WriteString(" (" + string(first[i-1].Reason) + "); ")
		default:
			text.WriteString(", ")
			if left.Pointer != "" && left.where() == first[i-1].where() {
				place = finding.Escape(string(left.Pointer))
			}
		}
		text.WriteString(place)
		if i+1 == len(first) {
			text.WriteString(" (" + string(left.Reason) + ")")
		}
	}
	if more := total - len(first); more > 0 {
		fmt.Fprintf(&text, " and %d more", more)
	}
	return finding.New(finding.OmissionsRecorded, "%s", text.String()), total > 0
}

// place says where what was left out was.
func (o Omission) place() string {
	return strings.TrimSpace(o.where() + " " + finding.Escape(string(o.Pointer)))
}

// where is the event or the file that an omission is in.
func (o Omission) where() string {
	if o.EventIndex != nil {
		return fmt.Sprintf("event %d", *o.EventIndex)
	}
	return o.File
}
