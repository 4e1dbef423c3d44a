package reduce

// What things take in memory, about, without texts.
const (
	reducerMemory = 4096
	messageMemory = 512 // with its places in the list and in the index
	memberMemory  = 128
	entryMemory   = 64 // of a map
)

// Memory returns about how many bytes of memory r takes. Messages and a state that it shares
// with another Reducer, which may be nil, do not count.
func (r *Reducer) Memory(other *Reducer) int {
	n := reducerMemory + r.run.interruptBytes + 2*r.run.calls.bytes + entryMemory*len(r.removed.ids)
	var shared map[*Message]bool
	if other != nil {
		shared = make(map[*Message]bool, other.Len())
		for m := range other.All {
			shared[m] = true
		}
	}
	for m := range r.All {
		n += messageMemory / 2
		if !shared[m] {
			n += m.memory()
		}
	}
	if other == nil || !r.state.is(&other.state) {
		n += len(r.state.raw)
		if r.state.doc != nil {
			n += r.state.doc.Memory()
		}
	}
	return n
}

// Len returns the number of messages.
func (r *Reducer) Len() int { return r.conversation.Len() }

// memory returns about how many bytes a message takes.
func (m *Message) memory() int {
	n := messageMemory + len(m.id) + len(m.text.bytes)
	if m.object != nil {
		n += m.object.memory(&m.text)
	}
	for _, c := range m.toolCalls() {
		n += 2*memberMemory + len(c.id) + c.record.memory(nil)
	}
	return n
}

// memory returns about how many bytes a record takes, without a text that is counted elsewhere.
func (r *record) memory(counted *Text) int {
	n := memberMemory + len(r.raw)
	for name, v := range r.members.All {
		n += memberMemory + len(name)
		switch v := v.(type) {
		case *record:
			n += v.memory(counted)
		case *content:
			n += v.Memory()
		case *Text:
			if v != counted {
				n += v.Len()
			}
		default:
			n += size(v)
		}
	}
	return n
}
