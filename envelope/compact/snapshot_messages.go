package compact

import (
	"slices"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/internal/strictjson"
)

// noID is the id of a message without an id. It is not the value of a JSON string.
const noID = "\xff"

// message is a message of a conversation. Only its content is set later.
type message struct {
	id        string
	text      []byte
	activity  bool     // its role is activity
	reasoning bool     // its role is reasoning
	content   [32]byte // the digest of the content; zero if it is not known yet
}

// readMessages returns the messages of an array: its objects. They share the memory of
// its text.
func readMessages(array strictjson.Value) []*message {
	var list []*message
	// The text was read before, so there is no error.
	_ = strictjson.Elements(array, func(_ int, v strictjson.Value, o *strictjson.Object) error {
		if v.Kind == strictjson.ObjectStart {
			m := &message{id: noID, text: v.Raw}
			if id, _ := o.Get("id"); id.Kind == strictjson.String {
				m.id, _ = id.Text()
			}
			role, _ := o.Get("role")
			m.activity, m.reasoning = role.Is("activity"), role.Is("reasoning")
			list = append(list, m)
		}
		return nil
	})
	return list
}

// appendMessages appends messages as a JSON array.
func appendMessages(dst []byte, list []*message) []byte {
	dst = append(dst, '[')
	for i, m := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m.text...)
	}
	return append(dst, ']')
}

// same reports whether two messages have the same bytes.
func (m *message) same(o *message) bool { return m == o || string(m.text) == string(o.text) }

// sameList reports whether two lists have the same messages.
func sameList(a, b []*message) bool { return slices.EqualFunc(a, b, (*message).same) }

// equals reports whether m has the content of a message.
func (m *message) equals(v strictjson.Value) bool {
	if string(m.text) == string(v.Raw) {
		return true
	}
	if m.content == [32]byte{} {
		m.content = contentOf(strictjson.Value{Kind: strictjson.ObjectStart, Raw: m.text})
	}
	return m.content == contentOf(v)
}

func hasActivity(list []*message) bool {
	return slices.ContainsFunc(list, func(m *message) bool { return m.activity })
}

func hasReasoning(list []*message) bool {
	return slices.ContainsFunc(list, func(m *message) bool { return m.reasoning })
}

// isPlain reports whether a snapshot with a list leaves exactly the list in a client.
func isPlain(client, list []*message) bool { return sameList(merge(client, list), list) }

// arePlain reports whether a snapshot with a list leaves exactly the list in all clients.
func arePlain(clients [][]*message, list []*message) bool {
	for _, client := range clients {
		if !isPlain(client, list) {
			return false
		}
	}
	return true
}

// mergeAll returns the messages of clients after a MESSAGES_SNAPSHOT with a list.
func mergeAll(clients [][]*message, list []*message) [][]*message {
	after := make([][]*message, len(clients))
	for i, client := range clients {
		after[i] = merge(client, list)
	}
	return after
}

// firstSnapshot returns a beginning of a list. If a snapshot with it precedes the snapshot
// with the list, it removes the messages whose places in the clients differ. It reports
// whether the clients have the list then, which they have except in rare cases.
func firstSnapshot(clients [][]*message, list []*message) (first []*message, ok bool) {
	var tries [][]*message
	for _, client := range clients {
		tries = append(tries, samePlaces(client, list))
	}
	// Only a snapshot with reasoning removes reasoning.
	if i := slices.IndexFunc(list, func(m *message) bool { return m.reasoning }); i >= 0 {
		tries = append(tries, list[:i+1])
	}
	for _, first := range tries {
		if arePlain(mergeAll(clients, first), list) {
			return first, true
		}
	}
	return tries[0], false
}

// merge returns the messages that a client has after a MESSAGES_SNAPSHOT with a list. It
// keeps the places of messages that it has, and adds the others behind them. Reasoning
// stays if the list has none. So would activities, but the metadata of the snapshot
// prevents it.
func merge(client, list []*message) []*message {
	keepReasoning := !hasReasoning(list)
	byID := make(map[string]*message, len(list))
	for _, m := range list {
		byID[m.id] = m
	}
	merged := make([]*message, 0, len(list))
	known := make(map[string]bool, len(client))
	for _, m := range client {
		if now := byID[m.id]; now != nil {
			known[m.id] = true
			merged = append(merged, now)
		} else if m.reasoning && keepReasoning {
			merged = append(merged, m)
		}
	}
	for _, m := range list {
		if !known[m.id] {
			merged = append(merged, m)
		}
	}
	return merged
}

// samePlaces returns the longest beginning of a list that a client has in the same order,
// without ids that either has twice.
func samePlaces(client, list []*message) []*message {
	at := make(map[string]int, len(client))
	for i, m := range client {
		if _, ok := at[m.id]; ok {
			i = -1
		}
		at[m.id] = i
	}
	times := make(map[string]int, len(list))
	for _, m := range list {
		times[m.id]++
	}
	last := -1
	for n, m := range list {
		i, ok := at[m.id]
		if !ok || i <= last || times[m.id] > 1 {
			return list[:n]
		}
		last = i
	}
	return list
}

// inputMessages returns the messages of the input in RUN_STARTED. Its kind is 0 if there
// is no list.
func inputMessages(e *envelope.Event) strictjson.Value {
	input, _ := e.Get("input")
	if input.Kind != envelope.ObjectValue {
		return strictjson.Value{}
	}
	var o strictjson.Object
	// The event was read before, so there is no error.
	_, _ = strictjson.ReadText(&o, new(strictjson.Decoder), input.Raw)
	messages, _ := o.Get("messages")
	if messages.Kind != strictjson.ArrayStart {
		return strictjson.Value{}
	}
	messages.Start += input.Start
	return messages
}

// addInput returns the messages of a client after a RUN_STARTED: those that it had, and
// those of the input with other ids, without what AG-UI does not define.
func addInput(client []*message, input envelope.Value) []*message {
	client = slices.Clip(client)
	known := historyOf(client)
	for _, m := range readMessages(input) {
		if known[m.id] != nil {
			continue
		}
		var o strictjson.Object
		// The text was read before, so there is no error.
		v, _ := strictjson.ReadText(&o, new(strictjson.Decoder), m.text)
		if v, ok := reduce.Known(v, &o); ok {
			known.add(m)
			m.text = slices.Clone(v.Raw)
			client = append(client, m)
		}
	}
	return client
}

// clientKey is the key of metadata that the reference client reads in a snapshot. Its
// member authorityKey lists the activity types for which the snapshot is complete, and is
// null if it is complete for all types.
const (
	clientKey    = `"@ag-ui/client"`
	authorityKey = `"authoritativeActivityTypes"`
)

// appendSnapshot appends a MESSAGES_SNAPSHOT.
func appendSnapshot(dst []byte, list []*message, m *metadata, clear bool) []byte {
	dst = append(dst, `{"type":"MESSAGES_SNAPSHOT","messages":`...)
	dst = appendMessages(dst, list)
	return append(appendSnapshotMetadata(dst, m, clear), '}')
}

// appendSnapshotMetadata appends the metadata of a MESSAGES_SNAPSHOT that replaces those
// of a run. What they said about activities is replaced by clear.
func appendSnapshotMetadata(dst []byte, m *metadata, clear bool) []byte {
	start := len(dst)
	add := func(key string, value []byte) {
		next := ","
		if len(dst) == start {
			next = `,"metadata":{`
		}
		dst = append(append(append(append(dst, next...), key...), ':'), value...)
	}
	found := false
	for _, key := range m.keys {
		value := m.values[key]
		if key == clientKey {
			found = true
			if value = withAuthority(value, clear); value == nil {
				continue
			}
		}
		add(key, value)
	}
	if !found && clear {
		add(clientKey, withAuthority(nil, true))
	}
	if len(dst) > start {
		dst = append(dst, '}')
	}
	return dst
}

// withAuthority returns an object of clientKey in which authorityKey is null or absent. It
// returns nil if no member is left.
func withAuthority(object []byte, clear bool) []byte {
	var members []string
	var o strictjson.Object
	if v, err := strictjson.ReadText(&o, new(strictjson.Decoder), object); err == nil && v.Kind == strictjson.ObjectStart {
		for m := range o.All {
			if name, _ := m.Name.Text(); name != authorityKey[1:len(authorityKey)-1] {
				members = append(members, string(m.Name.Raw)+":"+string(m.Value.Raw))
			}
		}
	}
	if clear {
		members = append(members, authorityKey+":null")
	}
	if len(members) == 0 {
		return nil
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}
