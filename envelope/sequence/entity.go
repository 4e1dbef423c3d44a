package sequence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
)

// entities are what the events of a run refer to by id, in one name space.
type entities map[string]*entity

// entity is a message, a tool call, a reasoning or an activity.
type entity struct {
	owner owner
	owned bool // the owner is on record
	// disputed means that an event with another tag was reported.
	disputed bool
	// A reasoning has two parts that open and close independently: the span, and
	// the message of the same id. All others have only a message.
	span, message part
	// called and answered mean that the run has TOOL_CALL_START and TOOL_CALL_RESULT of a
	// tool call.
	called, answered bool
	since            int // when it was first called
	opener           opener
}

// part is the part of an entity that events open and close.
type part struct {
	open bool
	// assumed means that no event opened it: it counts as open since an event that
	// should not have continued it.
	assumed bool
	since   int
}

// kind is a kind of part.
type kind struct {
	noun, key      string
	bucket         string // the noun in findings about owners
	opens, carries string // the rules that it must not be open, and must be open
	start          string // the event that opens it
	of             func(r *run) *entities
	part           func(e *entity) *part
}

var (
	textMessage = &kind{
		noun: "text message", key: "messageId", bucket: "message", opens: "G9", carries: "G10", start: "TEXT_MESSAGE_START",
		of: func(r *run) *entities { return &r.messages }, part: func(e *entity) *part { return &e.message },
	}
	toolCall = &kind{
		noun: "tool call", key: "toolCallId", bucket: "tool call", opens: "G11", carries: "G12", start: "TOOL_CALL_START",
		of: func(r *run) *entities { return &r.tools }, part: func(e *entity) *part { return &e.message },
	}
	reasoningSpan = &kind{
		noun: "reasoning span", key: "messageId", bucket: "reasoning", opens: "G16", carries: "G17", start: "REASONING_START",
		of: func(r *run) *entities { return &r.reasoning }, part: func(e *entity) *part { return &e.span },
	}
	reasoningMessage = &kind{
		noun: "reasoning message", key: "messageId", bucket: "reasoning", opens: "G16", carries: "G17", start: "REASONING_MESSAGE_START",
		of: func(r *run) *entities { return &r.reasoning }, part: func(e *entity) *part { return &e.message },
	}
)

// idOf returns the id of an event in the given member, and whether it has one.
func (c *Checker) idOf(e *envelope.Event, key string) (id string, v envelope.Value, ok bool) {
	if id := c.thinking.idOf(e); id != "" {
		return id, envelope.Value{}, true
	}
	v, ok = e.Get(key)
	if !ok || v.Kind != envelope.StringValue {
		return "", v, false
	}
	id, _ = v.Text()
	return id, v, true
}

// entity returns the entity with an id. It creates the entity if it does not exist, and
// returns nil if there is no room for it.
func (c *Checker) entity(e *envelope.Event, list *entities, id string) *entity {
	if known := (*list)[id]; known != nil {
		return known
	}
	if !c.remember(e, id) {
		return nil
	}
	if *list == nil {
		*list = make(entities)
	}
	created := new(entity)
	(*list)[id] = created
	return created
}

// open checks an event that opens a part, and opens it.
func (c *Checker) open(e *envelope.Event, k *kind, tag owner) {
	id, v, ok := c.idOf(e, k.key)
	if !ok {
		return
	}
	it := c.entity(e, k.of(&c.run), id)
	if it == nil || !c.begin(e, k, it, id, v) {
		return
	}
	c.checkOwner(e, k.bucket, it, id, tag)
	it.claim(tag)
	if k == textMessage {
		c.checkReopened(e, it, "G40", k, id, "role", "name")
	}
}

// begin opens a part. It reports whether the part was not open.
func (c *Checker) begin(e *envelope.Event, k *kind, it *entity, id string, v envelope.Value) bool {
	p := k.part(it)
	if p.open && !p.assumed && c.checks(k) {
		c.breach(e, k.opens, v, pointerTo(k.key), "%s names %s %s, which is already open", c.subject(e), k.noun, quoteID(id))
		return false
	}
	if p.assumed { // the owner too was assumed
		it.owned = false
	}
	c.run.sequence++
	*p = part{open: true, since: c.run.sequence}
	return true
}

// proceed checks an event that continues or ends a part.
func (c *Checker) proceed(e *envelope.Event, k *kind, tag owner, ends bool) {
	id, v, ok := c.idOf(e, k.key)
	if !ok {
		return
	}
	it := (*k.of(&c.run))[id]
	if c.checks(k) && (it == nil || !k.part(it).open) {
		if c.run.full {
			return
		}
		if isMade(id) {
			c.breach(e, k.carries, v, "", "%s names a %s that no THINKING event opened", c.subject(e), k.noun)
		} else {
			c.breach(e, k.carries, v, pointerTo(k.key), "%s names %s %s, which is not open; %s opens it", c.subject(e), k.noun, quoteID(id), k.start)
		}
		if ends {
			return
		}
		if it = c.entity(e, k.of(&c.run), id); it != nil {
			*k.part(it) = part{open: true, assumed: true}
			it.claim(tag)
		}
		return
	}
	if it == nil {
		return
	}
	c.checkOwner(e, k.bucket, it, id, tag)
	if ends {
		*k.part(it) = part{}
	}
}

// checks reports whether the protocol has rules on what may be open. In AG-UI 0.x there
// are none for reasoning.
func (c *Checker) checks(k *kind) bool { return c.protocol != event.V0 || k.opens != "G16" }

// opened is something that is open.
type opened struct {
	id    string
	owner owner // of a step
	since int
}

// String returns what is open for a finding.
func (o opened) String() string {
	if o.owner.subagent {
		return quoteID(o.id) + " (" + o.owner.String() + ")"
	}
	return quoteID(o.id)
}

// openEntities returns the open parts of a kind.
func (c *Checker) openEntities(k *kind) (list []*opened) {
	for id, it := range *k.of(&c.run) {
		if p := k.part(it); p.open && !p.assumed {
			list = append(list, &opened{id: id, since: p.since})
		}
	}
	return list
}

// listOpened names the first of what is open, in the order in which it was opened.
func listOpened(list []*opened) string {
	slices.SortFunc(list, func(a, b *opened) int { return cmp.Compare(a.since, b.since) })
	var texts []string
	for _, o := range list[:min(len(list), maxNamed)] {
		texts = append(texts, o.String())
	}
	if len(list) > maxNamed {
		texts = append(texts, fmt.Sprintf("and %d more", len(list)-maxNamed))
	}
	return strings.Join(texts, ", ")
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// pointerTo returns the pointer to a member of an event.
func pointerTo(key string) finding.Pointer { return finding.Pointer("").Name(key) }
