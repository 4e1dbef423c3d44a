package restore

import (
	"context"
	"slices"
	"sort"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/strictjson"
)

// full is a request that has the whole conversation.
type full struct {
	data                      []byte
	start, end                int // of its messages in data
	messages                  []requested
	byID                      map[string]int // the index of the first message
	hasActivity, hasReasoning bool
}

// requested is a message of a request.
type requested struct {
	id, role string
	text     []byte
}

// readFull reads a request, or returns nil if it has no messages.
func readFull(data []byte) *full {
	var o strictjson.Object
	// The request was read before, so there is no error.
	_, _ = strictjson.ReadText(&o, new(strictjson.Decoder), data)
	list, _ := o.Get("messages")
	if list.Kind != strictjson.ArrayStart {
		return nil
	}
	f := &full{data: data, start: list.Start, end: list.Start + len(list.Raw), byID: make(map[string]int)}
	_ = strictjson.Elements(list, func(i int, v strictjson.Value, o *strictjson.Object) error {
		m := requested{text: v.Raw}
		if v.Kind == strictjson.ObjectStart {
			m.id, m.role = o.Text("id"), o.Text("role")
		}
		if _, ok := f.byID[m.id]; !ok {
			f.byID[m.id] = i
		}
		f.hasActivity = f.hasActivity || m.role == event.RoleActivity
		f.hasReasoning = f.hasReasoning || m.role == event.RoleReasoning
		f.messages = append(f.messages, m)
		return nil
	})
	return f
}

// omits reports whether a client has a message although the request omits it: clients do not
// send activities, and some no reasoning. If a request has any, it has all of them.
func (f *full) omits(m *reduce.Message) bool {
	if _, ok := f.byID[m.ID()]; ok {
		return false
	}
	return m.Role() == event.RoleActivity && !f.hasActivity || m.Role() == event.RoleReasoning && !f.hasReasoning
}

// known is a message of an outline.
type known struct {
	*reduce.Message
	requests int  // how many there were before the message, or before what it was put behind
	place    int  // its index in the request, or -1
	omitted  bool // clients have it although the request omits it
	// sure means that the message was the last one when it was created. Others are where a
	// snapshot has them first, but may be of the request of the run, or moved.
	sure bool
	// moved means that it is a tool result which may have been put between others.
	moved bool
}

// known returns the messages of the outline.
func (o *outline) known(f *full) (all []known) {
	for m := range o.reducer.All {
		k := known{Message: m, requests: o.begun[m.Run()], place: -1, omitted: f.omits(m)}
		if at, ok := f.byID[m.ID()]; ok {
			k.place = at
		}
		switch m.Role() {
		case event.RoleAssistant, event.RoleActivity, event.RoleReasoning:
			k.sure = true
		default:
			k.sure = k.requests == 0 || o.streamed[m.ID()]
		}
		if n := len(all); n > 0 && k.sure && m.Role() == event.RoleTool && all[n-1].requests < k.requests {
			k.sure, k.moved, k.requests = false, true, all[n-1].requests
		}
		all = append(all, k)
	}
	return all
}

// kept is a message to put before one of the request.
type kept struct {
	at, requests int
	text         []byte
}

// merge returns the request with the messages of earlier runs that clients have although they
// omit them, each where such a client has it: it stays right behind the message that it
// follows, and is removed with it. It also returns what the runs and the request changed.
func (o *outline) merge(ctx context.Context, f *full) ([]byte, reduce.Changes, error) {
	changes := o.reducer.Changes()
	all := o.known(f)
	var list []kept
	p := newPlacer(o, f, all)
	for i := range all {
		m := &all[i]
		changes.Moved = changes.Moved || m.moved
		if !m.omitted {
			p.pass(i)
			continue
		}
		at, err := p.find(ctx, i)
		if err != nil {
			return nil, changes, err
		}
		if at >= 0 {
			list = append(list, kept{at, m.requests, m.AppendJSON(nil)})
			continue
		}
		changes.AllActivities = changes.AllActivities || m.Role() == event.RoleActivity
		changes.Reasoning = changes.Reasoning || m.Role() == event.RoleReasoning
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].at < list[j].at })
	changes.Moved = changes.Moved || o.reducer.Full() || moves(f, all, list)
	return f.with(list), changes, nil
}

// with returns the request with more messages, which are ordered.
func (f *full) with(list []kept) []byte {
	if len(list) == 0 {
		return f.data
	}
	text := append(slices.Clone(f.data[:f.start]), '[')
	add := func(message []byte) {
		if text[len(text)-1] != '[' {
			text = append(text, ',')
		}
		text = append(text, message...)
	}
	for i := range len(f.messages) + 1 {
		for ; len(list) > 0 && list[0].at == i; list = list[1:] {
			add(list[0].text)
		}
		if i < len(f.messages) {
			add(f.messages[i].text)
		}
	}
	return append(append(text, ']'), f.data[f.end:]...)
}

// moves reports whether a message precedes older ones, so that a client which left during an
// earlier run has another order.
func moves(f *full, all []known, list []kept) bool {
	requests := make(map[string]int, len(all))
	for i := range all {
		if all[i].sure {
			requests[all[i].ID()] = all[i].requests
		}
	}
	last, asked := 0, false // asked: a message of a request followed
	older := func(requests int) bool {
		older := requests < last || asked && requests == last
		last, asked = requests, false
		return older
	}
	for i, m := range f.messages {
		for ; len(list) > 0 && list[0].at == i; list = list[1:] {
			if older(list[0].requests) {
				return true
			}
		}
		n, ok := requests[m.id]
		if ok && older(n) || !ok && (m.role == event.RoleAssistant || m.role == event.RoleReasoning) {
			return true
		}
		asked = asked || !ok
	}
	return slices.ContainsFunc(list, func(k kept) bool { return older(k.requests) })
}
