package trace

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/jsonvalue"
)

// A role is what an id names.
type role int

const (
	roleThread role = iota + 1
	roleRun
	roleMessage
	roleCall
	roleSubagent
	roleInterrupt
	roleID // of a matcher
	roles
)

func (r role) String() string {
	return [roles]string{"", "thread", "run", "message", "call", "subagent", "interrupt", "id"}[r]
}

// IDs are the ids of a stream, with what they name. They are collected before the stream is
// brought into normal form, because ids are found in states and other payloads before the
// events that they are the ids of. The zero value has none, and knows no matchers.
type IDs struct {
	roles    map[string]role
	keys     [envelope.Shapes]idKeys
	matchers matchers
}

// NewIDs returns no ids, for a stream that is brought into normal form with the options.
func NewIDs(o Options) *IDs { return &IDs{matchers: newMatchers(o.Matchers)} }

// idKeys are the members with ids of the events of a shape.
type idKeys struct {
	shape   envelope.Shape
	members []int
	last    []byte // the JSON text of the only one, in the last event of the shape
}

// Event adds the ids of the next event of the stream. It does not retain e.
func (i *IDs) Event(e *envelope.Event) {
	if i.roles == nil {
		i.roles = map[string]role{}
	}
	k := i.keysOf(e)
	if len(k.members) == 0 {
		return
	}
	if raw := e.Raw(k.members[0]); len(k.members) == 1 && len(raw) < 1<<10 {
		if k.shape != 0 && bytes.Equal(raw, k.last) {
			return
		}
		k.last = append(k.last[:0], raw...)
	}
	n := names{found: func(r role, id string) {
		if i.roles[id] == 0 {
			i.roles[id] = r
		}
	}}
	value := new(jsonvalue.Object)
	at := 0
	for m := range e.Object.All {
		if slices.Contains(k.members, at) {
			name, _ := m.Name.Text()
			value.Set(name, jsonvalue.Parse(m.Value))
		}
		at++
	}
	n.object(value, 0)
	i.matchers.apply(e.Type, value, &n)
}

// keysOf returns the members of an event that can have ids.
func (i *IDs) keysOf(e *envelope.Event) *idKeys {
	shape := e.Shape()
	k := &i.keys[shape%envelope.Shapes]
	if shape == 0 || k.shape != shape {
		*k = idKeys{shape: shape}
		at := 0
		for m := range e.Object.All {
			if name, _ := m.Name.Text(); hasIDs(name) || i.matchers.hasIDs(e.Type, name) {
				k.members = append(k.members, at)
			}
			at++
		}
	}
	return k
}

// hasIDs reports whether a member of an event has ids by itself, or within it.
func hasIDs(name string) bool {
	switch name {
	case "messages", "toolCalls", "interrupts", "resume", "function", "input", "outcome", "entityId", "subtype":
		return true
	}
	return idOf(name) != 0
}

// names gives ids their names: the role in which an id is first found, and a number in the order
// in which the ids of the role are found. Equal ids have one name, and different ids have
// different ones (T2).
type names struct {
	known *IDs
	byID  map[string]string
	count [roles]int
	// found, if not nil, is called with ids, which then get no names.
	found func(r role, id string)
}

// name returns the name of an id. If it has none, it gets one, by the role in which the stream
// first has it. An empty id gets none: clients read some of them as if they were not there.
func (n *names) name(r role, id string) string {
	if id == "" {
		return ""
	}
	if n.found != nil {
		n.found(r, id)
		return id
	}
	if name, ok := n.byID[id]; ok {
		return name
	}
	if first := n.known.roles[id]; first != 0 {
		r = first
	}
	if n.byID == nil {
		n.byID = map[string]string{}
	}
	n.count[r]++
	name := r.String() + "-" + strconv.Itoa(n.count[r])
	n.byID[id] = name
	return name
}

// free returns what stands for a string that can be an id: its name, or else what stands for the
// text.
func (n *names) free(s string) string {
	if r := n.known.roles[s]; r != 0 {
		return n.name(r, s)
	}
	return n.text(s)
}

// literal returns what stands for a string that is no id. One that looks like a name gets a
// prefix, and so does a part between quotes that does.
func literal(s string) string {
	if likeName(s) {
		return "=" + s
	}
	return quotedNames(s, func(name string) string { return "=" + name })
}

// text returns what stands for a text. If it is a JSON object or array, the strings in it that
// equal ids are replaced.
func (n *names) text(s string) string {
	if n.found != nil || !isJSON(s) {
		return literal(s)
	}
	var b strings.Builder
	done := 0
	for i := strings.IndexByte(s, '"'); i >= 0; {
		end := i + 1
		for s[end] != '"' {
			if s[end] == '\\' {
				end++
			}
			end++
		}
		content := s[i+1 : end]
		switch {
		case n.known.roles[content] != 0:
			b.WriteString(s[done:i+1] + n.name(0, content))
			done = end
		case roleIn(strings.TrimLeft(content, "=")) != 0:
			b.WriteString(s[done:i+1] + "=" + content)
			done = end
		}
		next := strings.IndexByte(s[end+1:], '"')
		if next < 0 {
			break
		}
		i = end + 1 + next
	}
	b.WriteString(s[done:])
	return b.String()
}

// isJSON reports whether a text is a JSON object or array with strings.
func isJSON(s string) bool {
	t := strings.TrimLeft(s, " \t\r\n")
	if t == "" || t[0] != '{' && t[0] != '[' || !strings.Contains(t, `"`) {
		return false
	}
	_, err := parse([]byte(s))
	return err == nil
}

// idOf returns the role of the ids in a member of an event or of an object within one, or 0.
func idOf(name string) role {
	switch name {
	case "threadId":
		return roleThread
	case "runId", "parentRunId":
		return roleRun
	case "messageId", "parentMessageId":
		return roleMessage
	case "toolCallId", "parentToolCallId", "pendingToolCallIds":
		return roleCall
	case "subagentRunId", "parentSubagentRunId":
		return roleSubagent
	case "interruptId", "interruptIds":
		return roleInterrupt
	}
	return 0
}

// object puts names in the place of the ids of an event, or of an object whose own id has a
// role.
func (n *names) object(o *jsonvalue.Object, own role) {
	for _, name := range sorted(o) {
		v, _ := o.Get(name)
		r := idOf(name)
		switch {
		case name == "id" && own != 0:
			r = own
		case name == "entityId":
			if r = roleMessage; subtype(o) == "tool-call" {
				r = roleCall
			}
		}
		if r != 0 {
			o.Set(name, n.ids(r, v))
			continue
		}
		switch name {
		case "messages":
			n.objects(v, roleMessage)
		case "toolCalls":
			n.objects(v, roleCall)
		case "interrupts":
			n.objects(v, roleInterrupt)
		case "resume":
			n.objects(v, 0)
		case "function":
			if f, ok := v.(*jsonvalue.Object); ok {
				n.object(f, 0)
			}
		case "input", "outcome":
			if inner, ok := v.(*jsonvalue.Object); ok {
				n.object(inner, 0)
				continue
			}
			o.Set(name, n.anywhere(v))
		case "delta", "patch":
			if ops, ok := v.(*jsonvalue.Array); ok {
				n.operations(ops)
				continue
			}
			fallthrough
		default:
			if key := literal(name); key != name && n.found == nil {
				o.Delete(name)
				name = key
			}
			if s, text := v.(string); text && isText(name) {
				o.Set(name, n.text(s))
			} else {
				o.Set(name, n.anywhere(v))
			}
		}
	}
}

// isText reports whether strings in a member are text or one of the words of AG-UI, and not ids.
func isText(name string) bool {
	switch name {
	case "activityType", "arguments", "code", "content", "delta", "description", "encryptedValue", "encryptedValueType", "error", "message", "name", "protocolVersion",
		"reason", "role", "source", "stepName", "subtype", "title", "toolCallName", "type":
		return true
	}
	return false
}

func subtype(o *jsonvalue.Object) string {
	v, _ := o.Get("subtype")
	s, _ := v.(string)
	return s
}

// objects puts names in the place of the ids of the objects in an array.
func (n *names) objects(v jsonvalue.Value, own role) {
	a, ok := v.(*jsonvalue.Array)
	if !ok {
		return
	}
	for i, e := range a.All {
		if o, ok := e.(*jsonvalue.Object); ok {
			n.object(o, own)
		} else {
			a.Set(i, n.anywhere(e))
		}
	}
}

// ids returns a value in the place of an id, or of an array of ids. What is neither stays.
func (n *names) ids(r role, v jsonvalue.Value) jsonvalue.Value {
	switch v := v.(type) {
	case string:
		return n.name(r, v)
	case *jsonvalue.Array:
		for i, e := range v.All {
			if s, ok := e.(string); ok {
				v.Set(i, n.name(r, s))
			}
		}
	}
	return v
}

// anywhere puts names in the place of ids that are values or names of members at any depth.
func (n *names) anywhere(v jsonvalue.Value) jsonvalue.Value {
	if n.found != nil {
		return v
	}
	switch v := v.(type) {
	case string:
		return n.free(v)
	case *jsonvalue.Array:
		for i, e := range v.All {
			v.Set(i, n.anywhere(e))
		}
	case *jsonvalue.Object:
		o := new(jsonvalue.Object)
		for _, name := range sorted(v) {
			e, _ := v.Get(name)
			o.Set(n.free(name), n.anywhere(e))
		}
		return o
	}
	return v
}

// sorted returns the names of the members of an object, sorted.
func sorted(o *jsonvalue.Object) []string {
	list := make([]string, 0, o.Len())
	for name := range o.All {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
