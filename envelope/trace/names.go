package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// names gives ids their names: the role in which an id is first found, and a number in the order
// in which the ids of the role are found. Equal ids have one name, and different ids have
// different ones (TR2).
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
			if r = roleMessage; text(o, "subtype") == "tool-call" {
				r = roleCall
			}
		}
		if r != 0 {
			o.Set(name, n.ids(r, v))
			continue
		}
		switch name {
		case "messages":
			o.Set(name, n.objects(v, roleMessage))
		case "toolCalls":
			o.Set(name, n.objects(v, roleCall))
		case "interrupts":
			o.Set(name, n.objects(v, roleInterrupt))
		case "resume":
			o.Set(name, n.objects(v, 0))
		case "function", "input", "outcome":
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

// objects puts names in the place of the ids of the objects in an array, and returns it.
func (n *names) objects(v jsonvalue.Value, own role) jsonvalue.Value {
	a, ok := v.(*jsonvalue.Array)
	if !ok {
		return n.anywhere(v)
	}
	for i, e := range a.All {
		if o, ok := e.(*jsonvalue.Object); ok {
			n.object(o, own)
		} else {
			a.Set(i, n.anywhere(e))
		}
	}
	return a
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
			} else {
				v.Set(i, n.anywhere(e))
			}
		}
		return v
	}
	return n.anywhere(v)
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
		for _, name := range n.keys(v) {
			e, _ := v.Get(name)
			o.Set(n.free(name), n.anywhere(e))
		}
		return o
	}
	return v
}

// keys returns the names of the members of an object in an order that does not depend on the text
// of ids: what is no id sorted, then ids by their names, and then the new ones as they are.
func (n *names) keys(o *jsonvalue.Object) []string {
	list := sorted(o)
	if !slices.ContainsFunc(list, func(name string) bool { return n.known.roles[name] != 0 }) {
		return list
	}
	list = list[:0]
	for name := range o.All {
		list = append(list, name)
	}
	rank := func(name string) (class int, text string) {
		if n.known.roles[name] == 0 {
			return 0, name
		}
		if to, ok := n.byID[name]; ok {
			role, number, _ := strings.Cut(to, "-")
			return 1, fmt.Sprintf("%s %20s", role, number)
		}
		return 2, ""
	}
	slices.SortStableFunc(list, func(a, b string) int {
		c, s := rank(a)
		d, t := rank(b)
		return cmp.Or(cmp.Compare(c, d), strings.Compare(s, t))
	})
	return list
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
