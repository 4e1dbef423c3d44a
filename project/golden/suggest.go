package golden

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/envelope/trace"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/project/tracediff"
)

// Instability is something that differed between captures of the same scenario.
type Instability struct {
	Kind  trace.Kind `json:"what"`
	Event string     `json:"event"`
	// Pointer and Is are those of a matcher after which the values no longer differ. Both are
	// empty if there is none.
	Pointer finding.Pointer `json:"pointer"`
	Is      trace.Match     `json:"is"`
	// A and B are the JSON texts of two values that differed, and nil where there was none.
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
		all.add(d.Name, Instability{Kind: d.Kind, Event: d.EventType})
		return
	}
	for _, c := range d.Changes {
		event, pointer := place(d, c.Pointer)
		all.add(d.Name, Instability{Kind: d.Kind, Event: event, Pointer: pointer, Is: suggest(c), A: c.A, B: c.B})
	}
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

// place returns the type of events and the pointer that match a value that differs. An index
// becomes *, and the value of an operation of a patch the place in the snapshot that it sets.
func place(d tracediff.Difference, p finding.Pointer) (event string, to finding.Pointer) {
	event = d.EventType
	parts := strings.Split(string(p), "/")
	snapshot, member := "", ""
	switch {
	case event == eventnames.StateDelta && len(parts) >= 4 && parts[1] == "delta":
		snapshot, member = eventnames.StateSnapshot, "/snapshot"
	case event == eventnames.ActivityDelta && len(parts) >= 4 && parts[1] == "patch":
		snapshot, member = eventnames.ActivitySnapshot, "/content"
	}
	if snapshot != "" && parts[3] == "value" {
		var line map[string]jsontext.Value
		var ops []struct {
			Path string `json:"path"`
		}
		i, err := strconv.Atoi(parts[2])
		if err == nil && json.Unmarshal([]byte(d.Text), &line) == nil && json.Unmarshal(line[parts[1]], &ops) == nil && i < len(ops) {
			event, parts = snapshot, strings.Split(member+ops[i].Path, "/")
			if rest := strings.Split(string(p), "/")[4:]; len(rest) > 0 {
				parts = append(parts, rest...)
			}
		}
	}
	for i, part := range parts {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	return event, finding.Pointer(strings.Join(parts, "/"))
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
