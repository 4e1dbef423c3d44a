package lint

import (
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
)

// judged is a finding about an event, and who refuses the event because of it: the
// specification, the published client, or both.
type judged struct {
	finding.Finding
	spec, client bool
}

// judge checks the order and the form of an event. The form is only checked except under
// event.V0, for which there is no specification.
func (l *Linter) judge(e *envelope.Event) (list []judged) {
	release := l.protocol.Client()
	for _, f := range l.checker.Event(e) {
		source, ok := finding.SourceOf(f.Rule)
		list = append(list, judged{f, true, !ok || source.Enforced(release)})
	}
	if l.protocol == event.V0 {
		return list
	}
	faults, err := event.Check(e.Data, l.protocol)
	if err != nil { // there are too many faults, because the event was read before
		return append(list, judged{e.Finding(finding.EventRefused, "%s: %s", e.Type, err), true, true})
	}
	breaches := len(list)
	for _, fault := range faults {
		inParts(list[:breaches], fault)
		switch reported := slices.ContainsFunc(list[:breaches], func(j judged) bool { return j.Pointer == fault.Pointer && j.Pointer != "" && (j.spec || j.client) }); {
		case !fault.SpecFatal && !fault.Fatal:
			l.countAlteration(e, fault)
		case !reported:
			list = append(list, judged{place(e, fault, finding.EventRefused), fault.SpecFatal, fault.Fatal})
		}
	}
	return slices.DeleteFunc(list, func(j judged) bool { return !j.spec && !j.client })
}

// inParts notes who removes the parts that breaches are in before it checks the order of
// events.
func inParts(breaches []judged, fault event.Fault) {
	for i := range breaches {
		if j := &breaches[i]; isIn(j.Pointer, fault.Pointer) {
			j.spec = j.spec && fault.SpecFatal
			j.client = j.client && fault.Fatal
		}
	}
}

// addJudged adds a finding about an event. It is an error if the specification refuses the
// event, and a warning if only the published client does.
func (l *Linter) addJudged(j judged) {
	f := j.Finding
	if j.client {
		l.client = l.client || f.Severity == finding.Error
		if l.refused < 0 && f.Severity == finding.Error {
			l.refused = l.last.Index
		}
	}
	switch {
	case j.spec && !j.client:
		f.Message += "; the client " + l.protocol.Client() + " does not refuse it"
	case !j.spec:
		f = f.WithSeverity(finding.Warning)
		f.Message += "; only the client " + l.protocol.Client() + " refuses it, and the specification lets it be removed"
	}
	f, reported := l.policy.apply(f)
	if !reported {
		return
	}
	if f.Severity == finding.Error {
		if l.breaches == 0 {
			l.first = l.last
		}
		l.breaches++
	}
	l.counts.add(f, 1)
	l.found.Add(f)
}

// isIn reports whether a pointer is to the value at another pointer, or to a part of it.
// No pointer is in the whole event.
func isIn(p, value finding.Pointer) bool {
	return value != "" && (p == value || strings.HasPrefix(string(p), string(value)+"/"))
}

// place returns the finding about a fault of an event.
func place(e *envelope.Event, fault event.Fault, code finding.Code) finding.Finding {
	f := e.Place(finding.New(code, "%s: %s", e.Type, fault.Message), envelope.Value{Start: fault.Offset})
	return f.WithPointer(fault.Pointer)
}

// countAlteration counts an event of which the client drops or converts a part. Such events
// are common, so each kind is reported once: a kind of part, and its place in an event
// without the indices of arrays.
func (l *Linter) countAlteration(e *envelope.Event, fault event.Fault) {
	kind := string(fault.Tolerance) + " " + string(withoutIndices(fault.Pointer.Bounded()))
	l.note(noteKey{string(finding.EventAltered), kind}, e.Index, func() finding.Finding { return place(e, fault, finding.EventAltered) })
}

// withoutIndices returns the pointer with * for every number.
func withoutIndices(p finding.Pointer) finding.Pointer {
	parts := strings.Split(string(p), "/")
	for i, part := range parts {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	return finding.Pointer(strings.Join(parts, "/"))
}
