package reduce

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/internal/jsonpatch"
	"github.com/p20export/p20export/internal/jsonvalue"
	"github.com/p20export/p20export/internal/saving"
	"github.com/p20export/p20export/internal/strictjson"
)

// Saved is a Reducer as bytes, or what one has more than when it was saved before: see Saver.
type Saved struct {
	// Same is how many messages are those of the Saved before this one, counted from the first.
	Same int
	// Messages has the other messages, and Rest all that is not a message.
	Messages, Rest []byte
}

// A Saver saves a Reducer again and again. Messages that have not changed since the last time are
// not written again. The zero value is ready to use.
type Saver struct{ messages []*Message }

// Save saves what r has.
func (s *Saver) Save(r *Reducer) Saved {
	before := s.messages
	s.messages = make([]*Message, 0, r.conversation.Len())
	var saved Saved
	c := coder{Coder: new(saving.Coder)}
	places := make(map[*Message]int) // of messages that can occur again
	for m := range r.conversation.All {
		n := len(s.messages)
		s.messages = append(s.messages, m)
		first, again := places[m]
		if !again && m.extra != nil && m.repeats > 0 {
			places[m] = n
		}
		if saved.Same == n && n < len(before) && before[n] == m {
			saved.Same++
			continue
		}
		m.share() // whoever changes it makes a copy
		if again {
			c.again(&first)
		} else {
			c.message(m)
		}
	}
	saved.Messages = c.Bytes
	c.Coder = new(saving.Coder)
	c.reducer(r)
	saved.Rest = c.Bytes
	return saved
}

// Limits of what Load reads, so that hostile bytes take no more memory than a Reducer may.
const (
	// maxLoaded is what all messages of a list may take, also those that a later element replaces.
	maxLoaded = 8 * MaxBytes
	// maxEntries and maxMembers are how many ids or tool calls, and members of a record, a Reducer can
	// have: see MaxBytes. maxReported is how many kinds of deviations there are, and more.
	maxEntries  = MaxBytes / entryBytes
	maxMembers  = MaxBytes / memberBytes
	maxReported = 1000
)

// Load returns the Reducer of the last element of a list that a Saver saved one after another. It
// goes on in the same way as the Reducer with the same options that was saved, and shares memory with
// the list.
//
// It accepts any bytes, and reports whether they can be those of a Reducer.
func Load(options Options, list []Saved) (*Reducer, bool) {
	if len(list) == 0 {
		return nil, false
	}
	r, c := New(options), new(coder)
	var messages []*Message
	memory := 0
	for i := range list {
		saved := &list[i]
		if saved.Same < 0 || saved.Same > len(messages) {
			return nil, false
		}
		messages = messages[:saved.Same]
		for c.Coder = saving.Read(saved.Messages); len(c.Bytes) > 0; {
			m := new(Message)
			if first := c.message(m); first >= 0 && first < len(messages) {
				m = messages[first]
			} else if first >= 0 {
				c.Fail()
			}
			messages = append(messages, m)
			if memory += m.memory(); memory > maxLoaded {
				c.Fail()
			}
		}
		if c.Failed() {
			return nil, false
		}
	}
	for _, m := range messages {
		run := m.run
		r.conversation.push(m)
		m.run = run
	}
	c.Coder = saving.Read(list[len(list)-1].Rest)
	c.reducer(r)
	return r, c.Done()
}

// coder writes or reads the parts of a Reducer.
type coder struct {
	*saving.Coder
	decoder strictjson.Decoder
	object  strictjson.Object
	depth   int // of records
}

// json writes or reads a JSON text.
func (c *coder) json(text *rawJSON) (v envelope.Value) {
	if c.Text((*[]byte)(text)); c.Reading() {
		v = c.value(*text)
	}
	return v
}

// value returns the value of a JSON text, which is valid until the next call.
func (c *coder) value(text []byte) envelope.Value {
	v, err := strictjson.ReadText(&c.object, &c.decoder, text)
	if err != nil || len(v.Raw) != len(text) {
		c.Fail()
		return envelope.Value{}
	}
	return v
}

// reducer writes or reads all but the messages.
func (c *coder) reducer(r *Reducer) {
	c.Int(&r.conversation.bytes)
	c.Int(&r.conversation.runs)
	c.part(r.chunks.Save, r.chunks.Load)
	c.part(r.upgrades.thinking.Save, r.upgrades.thinking.Load)
	kinds := slices.SortedFunc(maps.Keys(r.upgrades.reported), func(a, b upgraded) int {
		return cmp.Or(cmp.Compare(a.tolerance, b.tolerance), cmp.Compare(a.eventType, b.eventType), cmp.Compare(a.field, b.field))
	})
	saving.List(c.Coder, &kinds, maxReported, func(k *upgraded) {
		c.String((*string)(&k.tolerance))
		c.String(&k.eventType)
		c.String(&k.field)
	})
	if c.Reading() && len(kinds) > 0 {
		r.upgrades.reported = make(map[upgraded]bool)
		for _, k := range kinds {
			r.upgrades.reported[k] = true
		}
	}
	c.run(&r.run)
	for _, b := range []*bool{
		&r.changes.Moved, &r.changes.Repeated, &r.changes.Thinking, &r.changes.Reasoning, &r.changes.AllActivities, &r.changes.State,
		&r.requested, &r.full, &r.removed.all,
	} {
		c.Bool(b)
	}
	c.String(&r.changes.Message)
	saving.List(c.Coder, &r.changes.Activities, maxTypes, c.String)
	ids := slices.Sorted(maps.Keys(r.removed.ids))
	saving.List(c.Coder, &ids, maxRemoved, func(id *uint64) {
		n := int64(*id)
		c.Int64(&n)
		*id = uint64(n)
	})
	if c.Reading() && len(ids) > 0 {
		r.removed.ids = make(map[uint64]struct{})
		for _, id := range ids {
			r.removed.ids[id] = struct{}{}
		}
	}
	c.Int(&r.merges)
	spent := r.patches.Spent()
	c.Int(&spent)
	r.patches = jsonpatch.BudgetOf(spent)
	c.state(&r.state, &r.patches)
}

// part writes or reads a part that has functions for that.
func (c *coder) part(save func() []byte, load func([]byte) bool) {
	var text []byte
	if !c.Reading() {
		text = save()
	}
	if c.Text(&text); c.Reading() && !load(text) {
		c.Fail()
	}
}

func (c *coder) run(r *run) {
	type call struct {
		id string
		progress
	}
	calls := []call{}
	for _, id := range slices.Sorted(maps.Keys(r.calls.byID)) {
		calls = append(calls, call{id, *r.calls.byID[id]})
	}
	saving.List(c.Coder, &calls, maxEntries, func(v *call) {
		c.String(&v.id)
		c.Bool(&v.started)
		c.Bool(&v.answered)
	})
	saving.List(c.Coder, &r.calls.started, maxEntries, c.String)
	if c.Reading() && len(calls) > 0 {
		r.calls.byID = make(map[string]*progress)
		for _, v := range calls {
			r.calls.byID[v.id] = &v.progress
		}
	}
	if slices.ContainsFunc(r.calls.started, func(id string) bool { return r.calls.byID[id] == nil }) {
		c.Fail()
	}
	c.Int(&r.calls.bytes)
	saving.List(c.Coder, &r.interrupts, maxEntries, func(v *rawJSON) { c.json(v) })
	c.Int(&r.interruptBytes)
}

func (c *coder) state(s *state, budget *jsonpatch.Budget) {
	c.Bool(&s.known)
	patched, raw := s.doc != nil, s.raw != nil
	c.Bool(&patched)
	c.Bool(&raw)
	switch {
	case patched:
		if s.doc == nil {
			s.doc = new(jsonpatch.Document)
		}
		c.document(s.doc)
		s.doc.Budget = budget
	case raw:
		c.json(&s.raw)
	}
}

// document writes or reads a document, which may have no value.
func (c *coder) document(d *jsonpatch.Document) {
	missing, function := !c.Reading() && d.Missing(), !c.Reading() && d.IsFunction()
	c.Bool(&missing)
	c.Bool(&function)
	var text rawJSON
	if !c.Reading() && !missing {
		text = d.Append(nil)
	}
	var v envelope.Value
	if !missing {
		v = c.json(&text)
	}
	if c.Reading() && (c.Failed() || d.Reset(v) != nil) {
		c.Fail()
		_ = d.Reset(envelope.Value{}) // it is missing, so there is no error
	}
	if missing && function {
		d.SetFunction()
	}
}

// The first number of a message.
const (
	savedAgain = iota // it is an earlier message once more
	savedText
	savedRaw
	savedOpen
)

// again writes that a message is an earlier one once more.
func (c *coder) again(first *int) {
	kind := savedAgain
	c.Int(&kind)
	c.Int(first)
}

// message writes or reads a message. If it reads that it is an earlier one, it returns the place of
// that, and otherwise -1.
func (c *coder) message(m *Message) (first int) {
	kind := savedOpen
	switch {
	case m.object == nil:
		kind = savedText
	case m.object.raw != nil:
		kind = savedRaw
	}
	switch c.Int(&kind); kind {
	case savedAgain:
		c.Int(&first)
		return max(first, 0)
	case savedText:
		c.String(&m.id)
		c.String(&m.role)
		c.String(&m.name)
		c.Text(&m.text.bytes)
	case savedRaw:
		if !c.Reading() {
			c.json(&m.object.raw)
		} else if v := c.json(new(rawJSON)); !c.Failed() {
			*m = *readMessage(v, &c.object, math.MaxInt)
		}
	case savedOpen:
		c.open(m)
	default:
		c.Fail()
	}
	c.Int(&m.run)
	c.Int(&m.bytes)
	repeats := 0
	if m.extra != nil {
		repeats = m.repeats
	}
	if c.Int(&repeats); repeats > 0 {
		m.more().repeats = repeats
	}
	return -1
}

// open writes or reads a message whose members may have changed.
func (c *coder) open(m *Message) {
	if c.Reading() {
		m.object, m.extra = new(record), new(extra)
	}
	x := m.extra
	if x == nil {
		x = new(extra)
	}
	c.String(&m.id)
	c.String(&m.role)
	c.String(&x.activityType)
	saving.List(c.Coder, &x.calls, maxEntries, func(v **call) {
		if *v == nil {
			*v = new(call)
		}
		c.String(&(*v).id)
		c.record(&(*v).record, nil)
	})
	c.record(m.object, x)
	if !c.Reading() || c.Failed() {
		return
	}
	if m.object.raw != nil {
		c.Fail()
		return
	}
	c.value(m.append(nil)) // together, values can be nested too deeply
	if x.activityType == "" && len(x.calls) == 0 {
		m.extra = nil
	}
}

// The first number of a member of a record.
const (
	memberRaw = iota
	memberString
	memberText
	memberRecord
	memberContent
	memberCalls
)

// maxRecords is how many records may be in each other: a message, a tool call and its function
// are, or metadata.
const maxRecords = 4

// record writes or reads a record. Only that of a message can have a member for tool calls.
func (c *coder) record(r *record, x *extra) {
	if c.depth == maxRecords {
		c.Fail()
		return
	}
	c.depth++
	defer func() { c.depth-- }()
	raw := r.raw != nil
	if c.Bool(&raw); raw {
		c.json(&r.raw)
		return
	}
	n := c.Len(r.members.Len())
	if n > maxMembers {
		c.Fail()
	}
	if !c.Reading() {
		for name, v := range r.members.All {
			c.String(&name)
			c.member(v, x)
		}
		return
	}
	for ; n > 0 && !c.Failed(); n-- {
		var name string
		c.String(&name)
		r.members.Set(name, c.member(nil, x))
	}
}

// member writes a member, or returns one that it reads.
func (c *coder) member(v jsonvalue.Value, x *extra) jsonvalue.Value {
	kind := memberCalls
	switch v.(type) {
	case rawJSON:
		kind = memberRaw
	case string:
		kind = memberString
	case *Text:
		kind = memberText
	case *record:
		kind = memberRecord
	case *content:
		kind = memberContent
	}
	switch c.Int(&kind); {
	case kind == memberRaw:
		v, _ := v.(rawJSON)
		c.json(&v)
		return v
	case kind == memberString:
		v, _ := v.(string)
		c.String(&v)
		return v
	case kind == memberText:
		v := orNew[Text](v)
		c.Text(&v.bytes)
		return v
	case kind == memberRecord:
		v := orNew[record](v)
		c.record(v, nil)
		return v
	case kind == memberContent:
		v := orNew[content](v)
		c.document(&v.Document)
		return v
	case kind == memberCalls && x != nil:
		return &callList{x}
	}
	c.Fail()
	return rawJSON("null")
}

// orNew returns v, or a new value if v is nil.
func orNew[T any](v jsonvalue.Value) *T {
	if v, ok := v.(*T); ok {
		return v
	}
	return new(T)
}
