package project

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// maxOmissions bounds how many omissions a record lists, and maxPointerBytes the
// total length of their pointers. They keep the record below its own limit. Further
// omissions are only counted.
const (
	maxOmissions    = 10_000
	maxPointerBytes = 8 << 20
)

// Omission names content that was omitted from an artifact. It never contains the
// content. The place is in an event of the capture or, for a built snapshot, in
// the request.
type Omission struct {
	EventIndex *int            `json:"event_index,omitzero"`
	File       string          `json:"file,omitzero"`
	Pointer    finding.Pointer `json:"pointer"`
	Reason     finding.Code    `json:"reason"`
	// Count, if not zero, is the number of omissions that this one represents.
	// They are not listed individually.
	Count int `json:"count,omitzero"`
}

// requestFile is the name of the request in omissions.
const requestFile = "request.json"

// UsesRequest reports whether a built snapshot has the messages of the request. The
// omissions are those of its artifact.
func UsesRequest(omissions []Omission) bool {
	return !slices.ContainsFunc(omissions, func(o Omission) bool {
		return o.File == requestFile && (o.Reason == finding.RequestAbsent || o.Reason == finding.RequestOtherRun)
	})
}

// CountMissing returns how many of the omissions are streamed messages that are
// missing from the snapshot.
func CountMissing(omissions []Omission) (n int) {
	for _, o := range omissions {
		if o.Reason == finding.SnapshotLacksText {
			n++
		}
	}
	return n
}

// FormatStreamedCount returns a count of streamed messages as text, such as
// "1 streamed message".
func FormatStreamedCount(n int) string {
	if n == 1 {
		return "1 streamed message"
	}
	return fmt.Sprintf("%d streamed messages", n)
}

// origin is the place of a projected value: in an event or, if event is nil, in
// request.json.
type origin struct {
	event   *envelope.Event
	pointer finding.Pointer
	start   int // offset of the enclosing message in the event's data
}

func (o origin) name(name string) origin { o.pointer = o.pointer.Name(name); return o }

func (o origin) index(i int) origin { o.pointer = o.pointer.Index(i); return o }

// finding returns a finding about the value at the origin.
func (o origin) finding(code finding.Code, format string, args ...any) finding.Finding {
	if o.event == nil {
		f := finding.New(code, format, args...).WithPointer(o.pointer)
		f.Message = requestFile + ": " + f.Message
		return f
	}
	return o.event.FindingAt(strictjson.Value{Start: o.start}, code, format, args...).WithPointer(o.pointer)
}

// malformed returns a finding which says that the messages of a snapshot, of
// request.json or of the input in RUN_STARTED cannot be read.
func (o origin) malformed(format string, args ...any) finding.Finding {
	switch {
	case o.event == nil:
		return o.finding(finding.RequestMalformed, format, args...)
	case o.event.Type == envelope.RunStarted:
		return o.finding(finding.RequestMalformed, format, args...).WithHint("the integration should copy its input to RUN_STARTED unchanged, or omit it")
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

// omissions collects omissions up to the limits and counts the rest.
type omissions struct {
	list      []Omission
	pointers  int // total length of the pointers in list
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

// maxSummarized is the number of omissions that OmissionsFinding names.
const maxSummarized = 3

// OmissionsFinding returns a finding that summarizes the omissions: their number
// and the first places. The record lists all of them. ok is false if there are no
// omissions.
func (o *Output) OmissionsFinding() (f finding.Finding, ok bool) {
	total := 0
	first := make([]Omission, 0, maxSummarized)
	for _, left := range o.Omissions {
		total += max(left.Count, 1)
		if len(first) < maxSummarized && left.Count == 0 {
			first = append(first, left)
		}
	}
	omissions := "omissions"
	if total == 1 {
		omissions = "omission"
	}
	var text strings.Builder
	text.Grow(128)
	text.WriteString(strconv.Itoa(total) + " " + omissions + ": ")
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

// place returns the place of the omitted content.
func (o Omission) place() string {
	return strings.TrimSpace(o.where() + " " + finding.Escape(string(o.Pointer)))
}

// where returns the event or the file of the omitted content.
func (o Omission) where() string {
	if o.EventIndex != nil {
		return "event " + strconv.Itoa(*o.EventIndex)
	}
	return o.File
}
