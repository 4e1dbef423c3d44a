package reduce

import (
	"errors"
	"hash/fnv"
	"io"
	"maps"
	"slices"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// messagesSnapshot handles MESSAGES_SNAPSHOT. Messages with the id of a message of the
// snapshot are replaced in their places. Other messages are removed, except activities
// and reasoning that the sender may not know of. Messages with new ids are added.
func (r *Reducer) messagesSnapshot(e *envelope.Event) {
	value, _ := e.Get(messagesKey)
	if value.Kind != envelope.ArrayValue {
		r.warn(e, finding.EventFieldMalformed, "the snapshot has no list of messages and is ignored")
		return
	}
	list, ok := r.readMessages(e, value, "/messages", 0)
	if !ok {
		return
	}
	byID := make(map[string]*Message, len(list))
	var omits omission
	omits.types, omits.hasActivity = authoritativeTypes(e)
	for _, m := range list {
		byID[m.id] = m
		omits.hasActivity = omits.hasActivity || m.role == event.RoleActivity
		omits.hasReasoning = omits.hasReasoning || m.role == event.RoleReasoning
	}
	r.changes.omit(&omits)
	for _, m := range list {
		if r.conversation.find(m.id) == nil {
			r.added(m.id)
		}
	}
	if r.updateAll(e, list, byID, &omits) || !r.mayMerge(e) {
		return
	}
	known := make(map[string]bool)
	var merged []*Message
	for n := range r.conversation.messages.all {
		if m := byID[n.id]; m != nil {
			if known[m.id] {
				m.more().repeats++
			} else {
				m.run = n.run
			}
			known[m.id] = true
			merged = append(merged, m)
		} else if omits.keeps(n.Message) {
			merged = append(merged, n.Message)
		} else {
			r.removed.add(n.id)
		}
	}
	for _, m := range list {
		if !known[m.id] {
			merged = append(merged, m)
		}
	}
	r.replaceAll(e, merged)
}

// updateAll handles a snapshot that removes no message, if that is easily seen, and reports
// whether it did. The time that this takes does not depend on the number of messages that
// the snapshot omits.
func (r *Reducer) updateAll(e *envelope.Event, list []*Message, byID map[string]*Message, omits *omission) bool {
	c := &r.conversation
	if omits.types != nil || omits.hasActivity || omits.hasReasoning || len(byID) < len(list) || len(c.byID) < c.Len() {
		return false
	}
	more, replaced := 0, 0
	for _, m := range list {
		more += m.bytes
		n := c.find(m.id)
		if n != nil {
			more -= n.bytes
			if n.isHistory() {
				replaced++
			}
		}
		if len(m.toolCalls()) > 0 || n != nil && len(n.toolCalls()) > 0 {
			return false // calls with the same id may precede them
		}
	}
	if replaced < c.history {
		return false
	}
	if !r.reserve(e, more) {
		return true
	}
	for _, m := range list {
		if n := c.find(m.id); n != nil {
			c.bytes += n.bytes // accounted for in more
			c.replace(n, m)
		} else {
			c.push(m)
		}
	}
	return true
}

// mayMerge accounts for the work of merging a snapshot with the messages, and reports
// whether it is within the limit.
func (r *Reducer) mayMerge(e *envelope.Event) bool {
	r.merges += len(e.Data)/bytesPerMerge - r.conversation.Len()
	if r.merges >= 0 {
		return true
	}
	r.merges = 0
	r.full = true
	r.warn(e, finding.ConversationTooLarge, "%s is ignored: too many short snapshots leave %d messages unchanged, and merging them takes too long", e.Type, r.conversation.Len())
	return false
}

// replaceAll replaces all messages, if they fit.
func (r *Reducer) replaceAll(e *envelope.Event, messages []*Message) {
	if more := sizeOf(slices.Values(messages)) - r.conversation.size(); r.reserve(e, more) {
		r.conversation.bytes -= more
		r.conversation.replaceAll(messages)
	}
}

// omission decides about messages that a snapshot omits.
type omission struct {
	types                     map[string]bool // nil: decided by hasActivity
	hasActivity, hasReasoning bool
}

// keeps reports whether a message stays although the snapshot omits it: an activity or
// reasoning, which clients do not send, unless the snapshot has such messages and so
// has all of them, or its metadata says that it has all activities of the type.
func (o *omission) keeps(m *Message) bool {
	switch m.role {
	case event.RoleActivity:
		if o.types != nil {
			return !o.types[m.more().activityType]
		}
		return !o.hasActivity
	case event.RoleReasoning:
		return !o.hasReasoning
	}
	return false
}

// authoritativeTypes returns the activity types of which a MESSAGES_SNAPSHOT has all
// messages: those listed in its metadata, nil if the metadata has no list, or all of
// them. The key of the metadata is the reference client's own.
func authoritativeTypes(e *envelope.Event) (types map[string]bool, all bool) {
	metadata, _ := e.Get(metadataKey)
	client, ok := metadata.Member("@ag-ui/client")
	if !ok {
		return nil, false
	}
	types = map[string]bool{}
	if client.Kind != envelope.ObjectValue {
		return types, false
	}
	list, ok := client.Member("authoritativeActivityTypes")
	switch {
	case !ok:
		return nil, false
	case list.Kind == envelope.NullValue:
		return nil, true
	}
	invalid := strictjson.Elements(list, func(_ int, v strictjson.Value, _ *strictjson.Object) error {
		if v.Kind != strictjson.String {
			return errNotString
		}
		s, _ := v.Text()
		types[s] = true
		return nil
	})
	if invalid != nil {
		clear(types)
	}
	return types, false
}

var errNotString = errors.New("not a string")

// Changes are what events did to the messages that a client which missed the events cannot
// know from a list of all messages.
type Changes struct {
	// Moved means that a message follows one that is newer: a tool result was put between
	// others, or a message came back that a snapshot had removed.
	Moved bool
	// Repeated means that several messages have the same id.
	Repeated bool
	// Thinking means that there were THINKING events, whose messages have an id of their own
	// in each client. Message is the id of the one that is open, or "".
	Thinking bool
	Message  string
	// Reasoning means that a snapshot had reasoning, so it removed all other reasoning.
	Reasoning bool
	// Activities are the types of activities that snapshots had all of, and so removed the
	// others. AllActivities means all types.
	Activities    []string
	AllActivities bool
	// State means that there is a state: a request or an event set or patched it.
	State bool
}

// maxTypes is how many types of activities Changes lists at most, and maxTypeBytes the
// length of one. Clients keep removed activities of further types.
const (
	maxTypes     = 1000
	maxTypeBytes = 1000
)

// Changes returns what events did to the messages.
func (r *Reducer) Changes() Changes {
	c := r.changes
	c.Repeated = len(r.conversation.byID) < r.conversation.Len()
	c.Message = r.upgrades.thinking.Message()
	c.Activities = slices.Clone(c.Activities)
	c.State = r.state.known || r.state.doc != nil
	return c
}

// Follow makes the Reducer report changes that earlier events made, which another Reducer got.
// It must be called before the first event.
func (r *Reducer) Follow(earlier *Reducer, c Changes) { r.changes, r.removed = c, earlier.removed }

// omit records what a snapshot removes if it omits it.
func (c *Changes) omit(o *omission) {
	c.Reasoning = c.Reasoning || o.hasReasoning
	c.AllActivities = c.AllActivities || o.types == nil && o.hasActivity
	for kind := range o.types {
		if len(c.Activities) < maxTypes && len(kind) <= maxTypeBytes && !slices.Contains(c.Activities, kind) {
			c.Activities = append(c.Activities, kind)
		}
	}
	slices.Sort(c.Activities)
}

// added records that a message is added.
func (r *Reducer) added(id string) { r.changes.Moved = r.changes.Moved || r.removed.has(id) }

// removed has the ids of messages that snapshots removed, or many of them.
type removed struct {
	ids map[uint64]struct{} // their hashes
	all bool                // there are more than maxRemoved
	// shared means that another Reducer has ids too, so it must not change.
	shared bool
}

// maxRemoved is how many ids are remembered. Past it, every id counts as that of a removed
// message.
const maxRemoved = 1 << 16

func (r *removed) add(id string) {
	if r.ids == nil {
		r.ids = make(map[uint64]struct{})
	}
	if r.shared {
		r.ids, r.shared = maps.Clone(r.ids), false
	}
	if r.all = r.all || len(r.ids) == maxRemoved; !r.all {
		r.ids[hashOf(id)] = struct{}{}
	}
}

func (r *removed) has(id string) bool {
	if r.ids == nil {
		return false
	}
	_, ok := r.ids[hashOf(id)]
	return ok || r.all
}

// hashOf returns the hash of an id, which is the same in every process. If an id has the hash of
// a removed one, a prelude has two events more than it needs.
func hashOf(id string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id)
	return h.Sum64()
}
