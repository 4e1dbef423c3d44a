//go:build witness

package witness_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/finding"
)

// verdict is what packages event and sequence make of a stream.
type verdict struct {
	index int    // of the first event that the specification rejects, or -1
	rule  string // of docs/sequence.md, or form
	text  string
	// removed are the places that a consumer removes before that event, such as
	// "0 /pointer".
	removed []string
	// producer are the broken rules that bind only producers before that event, such as
	// "0 run-id".
	producer []string
	open     bool // whether the stream ends in a run, or before one
}

// duties are the witness's names of the rules that bind only producers. Consumers of the
// draft enforce some of them.
var duties = map[string]struct {
	name  string
	draft bool // whether consumers of the draft enforce it
}{
	"G30": {"finished-run", true}, "G31": {"finished-thread", true}, "G32": {"other-thread", true}, "G33": {"interrupt-id", true},
	"G35": {"run-id", false}, "G38": {"type-without-value", false}, "G39": {"pending", false}, "G40": {"reopened-otherwise", false},
	"G41": {"reopened-otherwise", false}, "G42": {"late-announcement", false}, "G43": {"kept-owner", false},
}

// ours judges a stream by the specification, as project/lint does.
func ours(t testing.TB, p event.Protocol, events []string) (v verdict) {
	t.Helper()
	defer func() {
		slices.Sort(v.removed)
		slices.Sort(v.producer)
		v.producer = slices.Compact(v.producer)
	}()
	reject := func(i int, rule, text string) verdict {
		v.index, v.rule, v.text = i, rule, text
		return v
	}
	c := sequence.New(sequence.Options{Protocol: p})
	terminal := false
	for i, text := range events {
		var broken []string
		e, err := envelope.ReadEvent([]byte(text))
		if err != nil {
			return reject(i, "form", err.Error())
		}
		e.Index = i
		faults, err := event.Check([]byte(text), p)
		if err != nil {
			return reject(i, "form", err.Error())
		}
		at := map[finding.Pointer]bool{}
		for _, f := range faults {
			if f.SpecFatal {
				return reject(i, "form", f.Message)
			}
			at[place(f)] = true
		}
		for _, f := range c.Event(e) {
			duty, binds := duties[f.Rule]
			switch {
			case f.Severity != finding.Error || f.Pointer != "" && at[f.Pointer]:
			case f.Rule == "G36" || f.Rule == "G37": // the witness does not compare inputs with runs
			case binds && (p != event.Draft || !duty.draft):
				broken = append(broken, fmt.Sprintf("%d %s", i, duty.name))
			default:
				return reject(i, f.Rule, f.Message)
			}
		}
		v.producer = append(v.producer, broken...)
		for pointer := range at {
			if !within(at, pointer) {
				v.removed = append(v.removed, fmt.Sprintf("%d %s", i, pointer))
			}
		}
		terminal = terminal || e.Type == envelope.RunFinished || e.Type == envelope.RunError
	}
	v.open = !c.End() || !terminal
	if p == event.Draft && !c.End() {
		return reject(len(events), "end", "the stream ends in a run")
	}
	return reject(-1, "", "")
}

// within reports whether a place is in another one of a set, and is removed with it.
func within(places map[finding.Pointer]bool, p finding.Pointer) bool {
	for q := range places {
		if q != p && strings.HasPrefix(string(p), string(q)+"/") {
			return true
		}
	}
	return false
}

// place returns the place that a consumer removes because of a fault. An event goes with
// the unknown value of a field that it needs.
func place(f event.Fault) finding.Pointer {
	if f.Pointer == "/subtype" {
		return ""
	}
	return f.Pointer
}
