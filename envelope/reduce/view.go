package reduce

import (
	"github.com/p20export/p20export/internal/jsonvalue"
)

// A View is what a Reducer had at a moment. Later events do not change it, and several
// goroutines may read it.
type View struct {
	messages []*Message
	state    state
}

// View returns what the Reducer has. It takes time in proportion to the number of messages.
// Messages that did not change are the same ones in the views before and after.
func (r *Reducer) View() *View {
	v := &View{messages: make([]*Message, 0, r.conversation.Len())}
	for m := range r.conversation.All {
		m.share()
		v.messages = append(v.messages, m)
	}
	r.state.shared = true
	v.state = r.state
	return v
}

// Messages returns the messages, in order. The caller must not change the list.
func (v *View) Messages() []*Message { return v.messages }

// AppendMessages is like Reducer.AppendMessages.
func (v *View) AppendMessages(dst []byte) []byte {
	dst = append(dst, '[')
	for i, m := range v.messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = m.append(dst)
	}
	return append(dst, ']')
}

// HasState is like Reducer.HasState.
func (v *View) HasState() bool { return v.state.known }

// AppendState is like Reducer.AppendState.
func (v *View) AppendState(dst []byte) []byte { return v.state.append(dst) }

// StateSize returns the length of what AppendState appends.
func (v *View) StateSize() int {
	switch s := &v.state; {
	case s.doc == nil && s.raw == nil:
		return len("{}")
	case s.doc == nil:
		return len(s.raw)
	case s.doc.Missing():
		return 0
	default:
		return s.doc.Size()
	}
}

// State returns the state as a tree of package internal/jsonvalue, which must not be changed, and
// whether there is one: a patch in the dialect Client can leave no value.
func (v *View) State() (value any, ok bool) {
	switch s := &v.state; {
	case s.doc != nil:
		return s.doc.Value(), !s.doc.Missing()
	case s.raw == nil:
		return new(jsonvalue.Object), true
	default:
		return jsonvalue.Parse(s.raw.value()), true
	}
}

// SharesState reports whether two views have the same state because no event between them has
// changed it. If it returns false, the states may still be equal.
func (v *View) SharesState(o *View) bool { return v.state.is(&o.state) }

// is reports whether two states have the same memory.
func (s *state) is(o *state) bool {
	if s.doc != nil || o.doc != nil {
		return s.doc == o.doc
	}
	return len(s.raw) == len(o.raw) && (len(s.raw) == 0 || &s.raw[0] == &o.raw[0])
}
