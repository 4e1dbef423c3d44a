package restore

import (
	"context"
	"slices"

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

// kept is a message to put before one of the request.
type kept struct {
	at, run int
	text    []byte
}

// merge returns the request with the messages of earlier runs that clients have although they
// omit them, each where such a client has it: it stays right behind the message that it
// follows, and is removed with it. It also returns what the runs and the request changed.
func (o *outline) merge(ctx context.Context, f *full) ([]byte, reduce.Changes, error) {
	var all []*reduce.Message
	for m := range o.reducer.All {
		all = append(all, m)
	}
	changes := o.reducer.Changes()
	var list []kept
	for i, m := range all {
		if !f.omits(m) {
			continue
		}
		at, err := o.place(ctx, f, all, i)
		if err != nil {
			return nil, changes, err
		}
		if at >= 0 {
			list = append(list, kept{at, m.Run(), m.AppendJSON(nil)})
			continue
		}
		changes.AllActivities = changes.AllActivities || m.Role() == event.RoleActivity
		changes.Reasoning = changes.Reasoning || m.Role() == event.RoleReasoning
	}
	slices.SortStableFunc(list, func(a, b kept) int { return a.at - b.at })
	changes.Moved = changes.Moved || o.reducer.Full() || o.moves(f, all, list)
	if len(list) == 0 {
		return f.data, changes, nil
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
	return append(append(text, ']'), f.data[f.end:]...), changes, nil
}

// anchors reports whether the place of a message in the outline is the one that a client has
// it at. Messages of a request are at the place where a snapshot has them first.
func (o *outline) anchors(m *reduce.Message) bool {
	switch m.Role() {
	case event.RoleAssistant, event.RoleActivity, event.RoleReasoning:
		return true
	}
	return o.streamed[m.ID()] || m.Run() == 0
}

// neighbor returns the nearest message before or after one that shows its place, and that the
// request has if needed. It is nil if there is none.
func (o *outline) neighbor(f *full, all []*reduce.Message, i, step int, needed bool) *reduce.Message {
	for i += step; i >= 0 && i < len(all); i += step {
		m := all[i]
		if _, ok := f.byID[m.ID()]; o.anchors(m) && !f.omits(m) && (ok || !needed) {
			return m
		}
	}
	return nil
}

// place returns the index of the message of a request before which a message of the outline
// belongs, or -1 if a client that sends the request does not have it any more.
func (o *outline) place(ctx context.Context, f *full, all []*reduce.Message, i int) (int, error) {
	run := all[i].Run()
	left, right := o.neighbor(f, all, i, -1, false), o.neighbor(f, all, i, 1, false)
	switch {
	case left == nil && run == 0:
		return 0, nil
	case left != nil && left.Run() >= run:
		if at, ok := f.byID[left.ID()]; ok {
			return at + 1, nil
		}
		return -1, nil
	case right != nil && right.Run() <= run: // it follows the request of its run
		if at, ok := f.byID[right.ID()]; ok {
			return at, nil
		}
		return -1, nil
	}
	// The run has no message that shows where the messages of its request end.
	after, before, from, to := -1, len(f.messages), 0, len(o.runs)
	if m := o.neighbor(f, all, i, -1, true); m != nil {
		after, from = f.byID[m.ID()], m.Run()
	}
	if m := o.neighbor(f, all, i, 1, true); m != nil {
		before, to = f.byID[m.ID()], m.Run()
	}
	if unknown := before - after - 1; unknown == 0 {
		return before, nil
	} else if unknown == to-from { // each request has one of them
		return after + 1 + run - from, nil
	}
	id, ok, err := o.lastRequested(ctx, run)
	if err != nil {
		return 0, err
	}
	if ok {
		if at, has := f.byID[id]; has {
			return at + 1, nil
		}
		return -1, nil
	}
	return max(0, min(after+1+run-from, before)), nil
}

// lastRequested returns the id of the last message of the request of a run, by the number of
// the run in the Reducer. It reports false if that is not known.
func (o *outline) lastRequested(ctx context.Context, run int) (id string, ok bool, err error) {
	if id, ok = o.last[run]; ok {
		return id, true, nil
	}
	data, err := o.request(ctx, o.runs[run])
	if err != nil || data == nil {
		return "", false, err
	}
	f := readFull(data)
	if f == nil || len(f.messages) == 0 {
		return "", false, nil
	}
	id = f.messages[len(f.messages)-1].id
	o.last[run] = id
	return id, true, nil
}

// moves reports whether a message precedes older ones, so that a client which left during an
// earlier run has another order.
func (o *outline) moves(f *full, all []*reduce.Message, list []kept) bool {
	runs := make(map[string]int, len(all))
	for _, m := range all {
		if o.anchors(m) {
			runs[m.ID()] = m.Run()
		}
	}
	last, unknown := 0, false
	older := func(run int) bool {
		older := run < last || unknown && run == last
		last, unknown = run, false
		return older
	}
	for i, m := range f.messages {
		for ; len(list) > 0 && list[0].at == i; list = list[1:] {
			if older(list[0].run) {
				return true
			}
		}
		switch run, ok := runs[m.id]; {
		case ok && older(run):
			return true
		case !ok && (m.role == event.RoleAssistant || m.role == event.RoleReasoning):
			return true
		case !ok:
			unknown = true
		}
	}
	return slices.ContainsFunc(list, func(k kept) bool { return older(k.run) })
}
