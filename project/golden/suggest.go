package golden

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/project/tracediff"
)

// Instability is something that differed between captures of the same scenario.
type Instability struct {
	Kind  trace.Kind `json:"what"`
	Event string     `json:"event"`
	// Pointer and Is are those of a matcher after which the values no longer differ. Is is
	// shape if the setting text hides the difference, and empty if nothing does.
	Pointer finding.Pointer `json:"pointer"`
	Is      trace.Match     `json:"is"`
	// A and B are the JSON texts of two values that differed, and nil where there was none. If
	// an event is missing, added or moved, A is the event.
	A *string `json:"a"`
	B *string `json:"b"`
	// Scenarios are the names of the scenarios in which it differed.
	Scenarios []string `json:"scenarios"`
}

// Instabilities collects what differs between captures of the same scenarios.
type Instabilities struct {
	all map[key]*Instability
}

type key struct {
	kind    trace.Kind
	event   string
	pointer finding.Pointer
	is      trace.Match
}

// Add adds a difference.
func (all *Instabilities) Add(d tracediff.Difference) {
	if d.Kind != trace.Changed {
		all.add(d.Name, Instability{Kind: d.Kind, Event: d.EventType, A: &d.Text})
		return
	}
	for _, c := range d.Changes {
		event, pointer := place(d.EventType, c)
		if all.inText(d, event, pointer, c) {
			continue
		}
		is := suggest(c)
		if is == trace.Ignore && isModels(event, pointer) {
			is = Shape
		}
		all.add(d.Name, Instability{Kind: d.Kind, Event: event, Pointer: pointer, Is: is, A: c.A, B: c.B})
	}
}

// inText adds what differs in two texts of JSON objects or arrays. It reports whether there are
// two.
func (all *Instabilities) inText(d tracediff.Difference, event string, p finding.Pointer, c tracediff.Change) bool {
	values := [2]any{}
	for i, text := range []*string{c.A, c.B} {
		var s string
		if text == nil || json.Unmarshal([]byte(*text), &s) != nil || json.Unmarshal([]byte(s), &values[i]) != nil {
			return false
		}
	}
	var compare func(p finding.Pointer, a, b any)
	compare = func(p finding.Pointer, a, b any) {
		if x, ok := a.(map[string]any); ok {
			if y, ok := b.(map[string]any); ok && maps.EqualFunc(x, y, func(any, any) bool { return true }) {
				for _, name := range slices.Sorted(maps.Keys(x)) {
					compare(p.Name(name), x[name], y[name])
				}
				return
			}
		}
		if x, ok := a.([]any); ok {
			if y, ok := b.([]any); ok && len(x) == len(y) {
				for i := range x {
					compare(p.Index(i), x[i], y[i])
				}
				return
			}
		}
		texts := [2]string{}
		for i, v := range []any{a, b} {
			text, err := json.Marshal(v, json.Deterministic(true))
			if err != nil {
				return
			}
			texts[i] = string(text)
		}
		if texts[0] != texts[1] {
			inner := tracediff.Change{Pointer: p, A: &texts[0], B: &texts[1]}
			_, at := place(event, inner)
			all.add(d.Name, Instability{Kind: d.Kind, Event: event, Pointer: at, Is: suggest(inner), A: inner.A, B: inner.B})
		}
	}
	if _, scalar := values[0].(map[string]any); !scalar {
		if _, list := values[0].([]any); !list {
			return false
		}
	}
	compare(p, values[0], values[1])
	return true
}

// Note adds that a capture of a scenario had no trace, and another one did. The cause is the code
// of a finding.
func (all *Instabilities) Note(scenario, cause string) {
	all.add(scenario, Instability{Kind: trace.Missing, Event: cause})
}

func (all *Instabilities) add(scenario string, i Instability) {
	k := key{i.Kind, i.Event, i.Pointer, i.Is}
	if all.all == nil {
		all.all = map[key]*Instability{}
	}
	if all.all[k] == nil {
		all.all[k] = &i
	}
	if known := all.all[k]; !slices.Contains(known.Scenarios, scenario) {
		known.Scenarios = append(known.Scenarios, scenario)
	}
}

// List returns what differed: first what matchers match.
func (all *Instabilities) List() []Instability {
	var list []Instability
	for _, i := range slices.SortedFunc(maps.Keys(all.all), func(a, b key) int {
		return cmp.Or(strings.Compare(string(a.kind), string(b.kind)), strings.Compare(a.event, b.event), strings.Compare(string(a.pointer), string(b.pointer)), strings.Compare(string(a.is), string(b.is)))
	}) {
		list = append(list, *all.all[i])
	}
	slices.SortStableFunc(list, func(a, b Instability) int {
		return cmp.Compare(min(len(b.Is), 1), min(len(a.Is), 1))
	})
	return list
}

// Shape stands for the setting text, which hides what a model writes.
const Shape trace.Match = "shape"

// place returns the type of events and the pointer that match a value that differs. An index and
// an id become *, and the value of an operation of a patch the place in the snapshot that it
// sets. If an array has another length, the pointer is to the array.
func place(event string, c tracediff.Change) (string, finding.Pointer) {
	p := c.Pointer
	if c.Path != "" && strings.Count(string(p), "/") >= 3 && strings.Split(string(p), "/")[3] == "value" {
		switch event {
		case eventnames.StateDelta:
			event, p = eventnames.StateSnapshot, "/snapshot"+c.Path
		case eventnames.ActivityDelta:
			event, p = eventnames.ActivitySnapshot, "/content"+c.Path
		}
	}
	parts := strings.Split(string(p), "/")
	last := len(parts) - 1
	if (c.A == nil || c.B == nil) && isIndex(parts[last]) && last > 1 {
		parts = parts[:last]
	}
	for i, part := range parts {
		if isIndex(part) || generated().MatchString(`"`+part+`"`) {
			parts[i] = "*"
		}
	}
	return event, finding.Pointer(strings.Join(parts, "/"))
}

func isIndex(token string) bool { return token != "" && strings.Trim(token, "0123456789") == "" }

// isModels reports whether a value is text that a model writes.
func isModels(event string, p finding.Pointer) bool {
	switch event {
	case eventnames.TextMessageContent, eventnames.TextMessageChunk, eventnames.ReasoningMessageContent, eventnames.ReasoningMessageChunk, eventnames.ToolCallArgs, eventnames.ToolCallChunk:
		return p == "/delta"
	case eventnames.MessagesSnapshot:
		return p == "/messages/*/content" || p == "/messages/*/toolCalls/*/function/arguments"
	}
	return false
}

// generated matches strings that look like generated ids: UUIDs, and long words with digits.
var generated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^"[A-Za-z][A-Za-z_-]*[0-9a-fA-F-]{8,}"$|^"[0-9a-fA-F-]{8,}"$|^"[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]{7,}"$`)
})

// suggest returns the matcher that hides the difference of two values and the least besides.
func suggest(c tracediff.Change) trace.Match {
	if c.A == nil || c.B == nil {
		return trace.Ignore
	}
	both := func(is func(string) bool) bool { return is(*c.A) && is(*c.B) }
	switch {
	case both(func(s string) bool { return trace.IsTime(strings.Trim(s, `"`)) }):
		return trace.Time
	case both(func(s string) bool { return s[0] == '-' || '0' <= s[0] && s[0] <= '9' }):
		return trace.Number
	case both(generated().MatchString):
		return trace.ID
	}
	return trace.Ignore
}
