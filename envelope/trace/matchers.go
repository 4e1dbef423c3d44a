package trace

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/jsonvalue"
)

// A Match says what of a value counts.
type Match string

const (
	// Ignore says that the value does not count: a member is left out, and an element of an
	// array is (ignored).
	Ignore Match = "ignore"
	// Number says that it counts only that the value is a number.
	Number Match = "number"
	// Time says that it counts only that the value is a time: a date of ISO 8601, with or
	// without a time of day, or a number.
	Time Match = "time"
	// ID says that the value, a string, is an id (TR2).
	ID Match = "id"
)

// Matches returns all values of Match.
func Matches() []Match { return []Match{Ignore, Number, ID, Time} }

// A Matcher says what of the values in a place of events counts (TR9).
type Matcher struct {
	// Event is the type of the events. Matchers of STATE_SNAPSHOT and ACTIVITY_SNAPSHOT also
	// apply to the values that patches change.
	Event string
	// Pointer is the JSON Pointer of the values in the event. A token * stands for every
	// member or element. It can go on into the text of a JSON object or array.
	Pointer finding.Pointer
	Is      Match
}

// Check returns an error if m cannot match anything.
func (m Matcher) Check() error {
	switch {
	case !slices.Contains(eventnames.All(), m.Event):
		return fmt.Errorf("%s is not a type of AG-UI events", finding.Quote(m.Event))
	case !slices.Contains(Matches(), m.Is):
		return fmt.Errorf("%s is not ignore, number, id or time", finding.Quote(string(m.Is)))
	case !strings.HasPrefix(string(m.Pointer), "/"):
		return fmt.Errorf("%s is not a JSON Pointer to a part of an event; it begins with /", finding.Quote(string(m.Pointer)))
	case strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(string(m.Pointer)), "~"):
		return fmt.Errorf("in %s, a ~ is written ~0", finding.Quote(string(m.Pointer)))
	case strings.HasPrefix(string(m.Pointer)+"/", "/type/"):
		return errors.New("the type of an event always counts")
	}
	return nil
}

// tokens returns the tokens of a pointer.
func tokens(p string) []string {
	if p == "" {
		return nil
	}
	list := strings.Split(p, "/")[1:]
	for i, t := range list {
		list[i] = unescape(t)
	}
	return list
}

// matchers are matchers by the type of their events.
type matchers map[string][]matcher

type matcher struct {
	tokens []string
	is     Match
}

func newMatchers(list []Matcher) matchers {
	var all matchers
	for _, m := range list {
		if all == nil {
			all = matchers{}
		}
		all[m.Event] = append(all[m.Event], matcher{tokens(string(m.Pointer)), m.Is})
	}
	return all
}

// hasIDs reports whether the member of an event of the type has ids because of a matcher.
func (all matchers) hasIDs(eventType, member string) bool {
	return slices.ContainsFunc(all[eventType], func(m matcher) bool { return m.is == ID && (m.tokens[0] == member || m.tokens[0] == "*") })
}

// apply changes what the matchers of a type of events match in an object. Without names, ids
// stay.
func (all matchers) apply(eventType string, o *jsonvalue.Object, names *names) {
	for _, m := range all[eventType] {
		m.in(o, m.tokens, names)
	}
}

// patched returns the type of the snapshots and the member with the value that the patches of a
// type of events change, and the member with the patch. It returns "" for other types.
func patched(eventType string) (snapshot, member, patch string) {
	switch eventType {
	case eventnames.StateDelta:
		return eventnames.StateSnapshot, "snapshot", "delta"
	case eventnames.ActivityDelta:
		return eventnames.ActivitySnapshot, "content", "patch"
	}
	return "", "", ""
}

// patches reports whether the member of an event is a patch of what a matcher says to have ids.
func (all matchers) patches(eventType, name string) bool {
	snapshot, member, patch := patched(eventType)
	return name == patch && all.hasIDs(snapshot, member)
}

// applyPatch applies the matchers of a snapshot to the values in a patch.
func (all matchers) applyPatch(eventType string, o *jsonvalue.Object, names *names) {
	snapshot, member, patch := patched(eventType)
	ops, _ := o.Get(patch)
	each(ops, func(op *jsonvalue.Object) {
		path := text(op, "path")
		v, ok := op.Get("value")
		if !ok || path != "" && path[0] != '/' {
			return
		}
		all.applyAt(snapshot, append([]string{member}, tokens(path)...), v, names)
	})
}

// applyAt applies matchers to a copy of the value at a path of an object. It returns the copy, and
// false if the value is ignored.
func (all matchers) applyAt(eventType string, path []string, v jsonvalue.Value, names *names) (jsonvalue.Value, bool) {
	v = jsonvalue.Clone(v)
	if len(all[eventType]) == 0 {
		return v, true
	}
	for _, t := range slices.Backward(path) {
		o := new(jsonvalue.Object)
		o.Set(t, v)
		v = o
	}
	all.apply(eventType, v.(*jsonvalue.Object), names)
	return at(v, path)
}

// in changes what the tokens match in a value.
func (m matcher) in(v jsonvalue.Value, tokens []string, names *names) {
	t, rest := tokens[0], tokens[1:]
	switch v := v.(type) {
	case *jsonvalue.Object:
		for _, name := range sorted(v) {
			if t != "*" && t != name {
				continue
			}
			e, _ := v.Get(name)
			switch {
			case len(rest) > 0:
				v.Set(name, m.within(e, rest, names))
			case m.is == Ignore:
				v.Delete(name)
			default:
				v.Set(name, m.replace(e, names))
			}
		}
	case *jsonvalue.Array:
		for i, e := range v.All {
			switch {
			case t != "*" && t != strconv.Itoa(i):
			case len(rest) > 0:
				v.Set(i, m.within(e, rest, names))
			case m.is == Ignore:
				v.Set(i, "(ignored)")
			default:
				v.Set(i, m.replace(e, names))
			}
		}
	}
}

// within is in for a value that can be the text of a JSON object or array. It returns the value,
// or the text without white space.
func (m matcher) within(v jsonvalue.Value, tokens []string, names *names) jsonvalue.Value {
	s, ok := v.(string)
	if !ok || !isJSON(s) {
		m.in(v, tokens, names)
		return v
	}
	inner, err := parse([]byte(s))
	if err != nil {
		return v
	}
	m.in(inner, tokens, names)
	return string(jsonvalue.Append(nil, inner))
}

// replace returns what stands for a value. A value of another kind stays.
func (m matcher) replace(v jsonvalue.Value, names *names) jsonvalue.Value {
	s, text := v.(string)
	_, number := v.(jsonvalue.Number)
	switch {
	case m.is == Number && number:
		return "(number)"
	case m.is == Time && (number || text && IsTime(s)):
		return "(time)"
	case m.is == ID && text && names != nil && (names.found != nil || roleIn(s) == 0):
		return names.name(roleID, s)
	}
	return v
}

// IsTime reports whether a string is a time for a matcher.
func IsTime(s string) bool { return isoTime().MatchString(s) }

// isoTime matches dates and times of ISO 8601, also with a space for the T.
var isoTime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d(:?\d\d)?))?)?$`)
})

// matched returns a copy of a value of a document, or of a part of it, in which what matchers
// match is changed. It is nil if all of the value is ignored.
func (n *Normalizer) matched(d *document, v jsonvalue.Value) jsonvalue.Value {
	v, _ = n.matchers.applyAt(d.snapshot, []string{d.member}, v, nil)
	return v
}
