package restore

import (
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/strictjson"
)

// A Change says what an entry did to a message or to a value of the state.
type Change string

const (
	// Added means that it was not there before.
	Added Change = "added"
	// Changed means that it has another JSON value than before.
	Changed Change = "changed"
	// Moved means that a message is the same, but follows another one than before.
	Moved Change = "moved"
	// Removed means that it is no longer there.
	Removed Change = "removed"
)

// A MessageChange is a change of a message.
type MessageChange struct {
	// Index is the index of the message in View, or of a removed one in Before.
	Index  int
	Change Change
	// Kept is how much of the beginning of the content stayed, in UTF-16 code units. If the
	// content is the same, and the arguments of the last tool call are not, it is how much of
	// these stayed, and Arguments is set.
	Kept      int
	Arguments bool
}

// MessageChanges returns what the entry did to the messages: in their order, and then those that
// it removed. Messages are compared by their ids.
func (m *Moment) MessageChanges() (list []MessageChange) {
	before, after := m.Before.Messages(), m.View.Messages()
	first := 0
	for first < min(len(before), len(after)) && before[first] == after[first] {
		first++
	}
	last := 0 // that are the same at the end
	for last < min(len(before), len(after))-first && before[len(before)-1-last] == after[len(after)-1-last] {
		last++
	}
	before, after = before[first:len(before)-last], after[first:len(after)-last]
	places := make(map[string][]int)
	for i, m := range before {
		places[m.ID()] = append(places[m.ID()], i)
	}
	from := make([]int, len(after)) // the index of the same message in before, or -1
	paired := make([]bool, len(before))
	for i, m := range after {
		from[i] = -1
		if list := places[m.ID()]; len(list) > 0 {
			from[i], places[m.ID()] = list[0], list[1:]
			paired[list[0]] = true
		}
	}
	stays := increasing(from)
	for i, m := range after {
		switch of := from[i]; {
		case of < 0:
			list = append(list, MessageChange{Index: first + i, Change: Added})
		case !sameMessage(before[of], m):
			c := MessageChange{Index: first + i, Change: Changed}
			c.Kept, c.Arguments = keptOf(before[of], m)
			list = append(list, c)
		case !stays[i]:
			c := MessageChange{Index: first + i, Change: Moved}
			c.Kept, _ = keptOf(m, m)
			list = append(list, c)
		}
	}
	for i := range before {
		if !paired[i] {
			list = append(list, MessageChange{Index: first + i, Change: Removed})
		}
	}
	return list
}

// increasing reports which elements of a list are in its longest increasing subsequence. Negative
// elements are not.
func increasing(list []int) []bool {
	in := make([]bool, len(list))
	var ends []int // the index of the smallest last element of a subsequence of each length
	before := make([]int, len(list))
	for i, v := range list {
		if v < 0 {
			continue
		}
		n := sort.Search(len(ends), func(j int) bool { return list[ends[j]] >= v })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			in[i] = true
		}
	}
	return in
}

// sameMessage reports whether two messages have the same JSON value.
func sameMessage(a, b *reduce.Message) bool {
	if a == b {
		return true
	}
	x, y := a.AppendJSON(nil), b.AppendJSON(nil)
	return string(x) == string(y) || jsonvalue.Equal(parse(x), parse(y))
}

// parse parses a text that a Reducer wrote.
func parse(text []byte) jsonvalue.Value {
	return jsonvalue.Parse(strictjson.Value{Raw: text})
}

// keptOf returns MessageChange.Kept and Arguments of a message that changed.
func keptOf(a, b *reduce.Message) (kept int, arguments bool) {
	x, y := parse(a.AppendJSON(nil)), parse(b.AppendJSON(nil))
	before, _ := member(x, "content").(string)
	after, _ := member(y, "content").(string)
	if before == after {
		if called, calls := lastArguments(x), lastArguments(y); called != calls && calls != "" {
			return common(called, calls), true
		}
	}
	return common(before, after), false
}

// lastArguments returns the arguments of the last tool call of a message, or "".
func lastArguments(message jsonvalue.Value) string {
	calls, _ := member(message, "toolCalls").(*jsonvalue.Array)
	if calls == nil || calls.Len() == 0 {
		return ""
	}
	s, _ := member(member(calls.At(calls.Len()-1), "function"), "arguments").(string)
	return s
}

// member returns a member of an object, or nil.
func member(v jsonvalue.Value, name string) jsonvalue.Value {
	if o, ok := v.(*jsonvalue.Object); ok {
		v, _ := o.Get(name)
		return v
	}
	return nil
}

// common returns the length of the common beginning of two strings in UTF-16 code units. Half a
// surrogate pair is encoded as three bytes.
func common(a, b string) (units int) {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	for _, c := range []byte(a[:n]) {
		switch {
		case c >= 0xf0:
			units += 2
		case utf8.RuneStart(c):
			units++
		}
	}
	return units
}

// A StateChange is a change of a value of the state.
type StateChange struct {
	// Pointer leads to the value: in the state after the entry, or before it if the value was
	// removed.
	Pointer finding.Pointer
	Change  Change
	// Before and After are the JSON texts of the values. They are nil if there is no value, or if
	// its text is too long; then Cut is set.
	Before, After []byte
	Cut           bool
}

// maxPointer is the length of the longest pointer that is listed, in bytes. A name can be as
// long as a state.
const maxPointer = 4096

// maxUneven is how many arrays of different lengths may be in each other so that what is in them
// is compared. It limits the work: their elements are compared as a whole first.
const maxUneven = 8

// StateChanges returns what the entry did to the state: the first max changes, with values of at
// most maxBytes, and how many more changes there are.
func (m *Moment) StateChanges(max, maxBytes int) (list []StateChange, more int) {
	if m.View.SharesState(m.Before) {
		return nil, 0
	}
	c := comparison{max: max, maxBytes: maxBytes}
	before, had := m.Before.State()
	after, has := m.View.State()
	switch {
	case had && has:
		c.values(nil, before, after, 0)
	case had:
		c.removed(nil, before)
	case has:
		c.added(nil, after)
	}
	return c.list, c.more
}

// comparison compares two states.
type comparison struct {
	list          []StateChange
	max, maxBytes int
	more          int
}

// place is the place of a value. Its pointer is only made if it is needed, because names can be
// long.
type place struct {
	in    *place
	name  string
	index int // -1 if it is a member
}

// pointer returns the pointer, and whether it is short enough.
func (p *place) pointer() (finding.Pointer, bool) {
	var path []*place
	size := 0
	for ; p != nil; p = p.in {
		path = append(path, p)
		if size += 1 + len(p.name); size > maxPointer {
			return "", false
		}
	}
	var at finding.Pointer
	for _, p := range slices.Backward(path) {
		if p.index < 0 {
			at = at.Name(p.name)
		} else {
			at = at.Index(p.index)
		}
	}
	return at, true
}

// add returns a change to complete, or nil if it is not listed.
func (c *comparison) add(at *place, change Change) *StateChange {
	if len(c.list) < c.max {
		if pointer, short := at.pointer(); short {
			c.list = append(c.list, StateChange{Pointer: pointer, Change: change})
			return &c.list[len(c.list)-1]
		}
	}
	c.more++
	return nil
}

func (c *comparison) added(at *place, v jsonvalue.Value) {
	if s := c.add(at, Added); s != nil {
		s.After = c.text(s, v)
	}
}

func (c *comparison) removed(at *place, v jsonvalue.Value) {
	if s := c.add(at, Removed); s != nil {
		s.Before = c.text(s, v)
	}
}

func (c *comparison) changed(at *place, a, b jsonvalue.Value) {
	if s := c.add(at, Changed); s != nil {
		s.Before, s.After = c.text(s, a), c.text(s, b)
	}
}

// text returns the text of a value of a change, unless it is too long.
func (c *comparison) text(s *StateChange, v jsonvalue.Value) []byte {
	if jsonvalue.Size(v) > c.maxBytes {
		s.Cut = true
		return nil
	}
	return jsonvalue.Append(nil, v)
}

// values compares values. There are uneven arrays of different lengths around them.
func (c *comparison) values(at *place, a, b jsonvalue.Value, uneven int) {
	switch x := a.(type) {
	case *jsonvalue.Object:
		if y, ok := b.(*jsonvalue.Object); ok {
			c.members(at, x, y, uneven)
			return
		}
	case *jsonvalue.Array:
		if y, ok := b.(*jsonvalue.Array); ok {
			c.elements(at, x, y, uneven)
			return
		}
	}
	if !jsonvalue.Equal(a, b) {
		c.changed(at, a, b)
	}
}

func (c *comparison) members(at *place, a, b *jsonvalue.Object, uneven int) {
	for name, y := range b.All {
		to := &place{in: at, name: name, index: -1}
		if x, ok := a.Get(name); ok {
			c.values(to, x, y, uneven)
		} else {
			c.added(to, y)
		}
	}
	for name, x := range a.All {
		if _, ok := b.Get(name); !ok {
			c.removed(&place{in: at, name: name, index: -1}, x)
		}
	}
}

// elements compares arrays. What is equal at the beginning and at the end of arrays of different
// lengths is left out; what is between is compared in pairs.
func (c *comparison) elements(at *place, a, b *jsonvalue.Array, uneven int) {
	x, y := elementsOf(a), elementsOf(b)
	first := 0
	if len(x) != len(y) {
		uneven++
		for first < min(len(x), len(y)) && jsonvalue.Equal(x[first], y[first]) {
			first++
		}
		for min(len(x), len(y)) > first && jsonvalue.Equal(x[len(x)-1], y[len(y)-1]) {
			x, y = x[:len(x)-1], y[:len(y)-1]
		}
	}
	for i := first; i < max(len(x), len(y)); i++ {
		to := &place{in: at, index: i}
		switch {
		case i >= len(x):
			c.added(to, y[i])
		case i >= len(y):
			c.removed(to, x[i])
		case uneven > maxUneven:
			if !jsonvalue.Equal(x[i], y[i]) {
				c.changed(to, x[i], y[i])
			}
		default:
			c.values(to, x[i], y[i], uneven)
		}
	}
}

func elementsOf(a *jsonvalue.Array) []jsonvalue.Value {
	list := make([]jsonvalue.Value, 0, a.Len())
	for _, v := range a.All {
		list = append(list, v)
	}
	return list
}
