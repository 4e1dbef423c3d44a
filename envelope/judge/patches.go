package judge

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func (s *stream) stateSnapshot() {
	f := fields{"snapshot", s.object(3)}
	if s.chance(10) {
		f[1] = s.value(2)
	}
	s.state = decode(f[1])
	s.emit("STATE_SNAPSHOT", s.anyOwner(), f)
}

func (s *stream) stateDelta() {
	patch := s.patch(&s.state)
	s.emit("STATE_DELTA", s.anyOwner(), fields{"delta", patch})
}

// activity sends the snapshot of an activity: of a new one, or again of a known one.
func (s *stream) activity() {
	s.names++
	id := "a" + strconv.Itoa(s.names)
	switch {
	case len(s.activities) > 0 && s.chance(40):
		id = pick(s, s.activities)
	case s.may(Collisions, 5) && len(s.ids) > 0:
		id = pick(s, s.ids)
	}
	content := s.object(2)
	f := fields{"messageId", quote(id), "activityType", pick(s, []string{`"plan"`, `"search"`}), "content", content}
	replace := true
	if s.chance(40) {
		replace = s.chance(50)
		f = f.add("replace", strconv.FormatBool(replace))
	}
	o := s.anyOwner()
	if known, ok := s.ownerOf(activity, id); ok && !s.g.has(OtherOwners) {
		o = known
	}
	if _, known := s.owners[activity][id]; !known || replace {
		s.owners[activity][id] = o
		s.setActivity(id, decode(content))
	}
	s.know(id, "activity")
	s.emit("ACTIVITY_SNAPSHOT", o, f)
}

func (s *stream) activityDelta() {
	id, o := "a0", s.anyOwner()
	if len(s.activities) > 0 && s.chance(95) {
		id = pick(s, s.activities)
		if known, ok := s.ownerOf(activity, id); ok {
			o = s.tag(known)
		}
	}
	content := s.contents[id]
	patch := s.patch(&content)
	if _, known := s.contents[id]; known {
		s.contents[id] = content
	}
	s.emit("ACTIVITY_DELTA", o, fields{"messageId", quote(id), "activityType", pick(s, []string{`"plan"`, `"search"`}), "patch", patch})
}

func (s *stream) setActivity(id string, content any) {
	if s.contents == nil {
		s.contents = map[string]any{}
	}
	if !slices.Contains(s.activities, id) {
		s.activities = append(s.activities, id)
	}
	s.contents[id] = content
}

// decode returns the value of a JSON text that this package made.
func decode(text string) any {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	return v
}

// patch returns a JSON Patch for a document that is about like doc, and changes doc about
// as the patch would. It need not be exact: it only makes most patches apply.
func (s *stream) patch(doc *any) string {
	failing := s.may(FailingPatches, 12)
	before := clone(*doc)
	var ops []string
	for range s.r.IntN(4) {
		ops = append(ops, s.operation(doc))
	}
	if s.may(OddPatches, 40) {
		ops = append(ops, s.oddOperation(*doc))
	}
	if s.may(UnknownOperations, 40) {
		ops = slices.Insert(ops, s.r.IntN(len(ops)+1), pick(s, unknownOperations))
	}
	if failing {
		bad := pick(s, []string{
			`{"op":"remove","path":"/missing"}`,
			`{"op":"replace","path":"/missing/x","value":1}`,
			`{"op":"add","path":"/missing/x","value":1}`,
			`{"op":"test","path":"/missing","value":1}`,
			`{"op":"move","from":"/missing","path":"/b"}`,
			`{"op":"copy","from":"/missing","path":"/b"}`,
		})
		ops = slices.Insert(ops, s.r.IntN(len(ops)+1), bad)
		*doc = before
	}
	return "[" + strings.Join(ops, ",") + "]"
}

// unknownOperations are operations that JSON Patch does not define.
var unknownOperations = []string{
	`{"op":"increment","path":"/a","by":2}`,
	`{"op":"x"}`,
	`{"op":"","path":7}`,
	`{"op":"Add","path":"/b","value":1}`,
	`{"op":"_get","path":""}`,
	`{"op":"toString","path":"/a"}`,
}

// WithoutUnknownOperations removes operations that JSON Patch does not define from
// generated patches. The client does so before it applies events, but not in compactEvents.
func WithoutUnknownOperations(events []string) []string {
	var pairs []string
	for _, op := range unknownOperations {
		pairs = append(pairs, ","+op, "", op+",", "", op, "")
	}
	remove := strings.NewReplacer(pairs...)
	cut := slices.Clone(events)
	for i, text := range cut {
		if strings.HasPrefix(text, `{"type":"STATE_DELTA"`) || strings.HasPrefix(text, `{"type":"ACTIVITY_DELTA"`) {
			cut[i] = remove.Replace(text)
		}
	}
	return cut
}

// A place is a pointer to a value of a document, and how to change it.
type place struct {
	path   string
	get    any
	set    func(any)
	remove func() // nil at the root
}

// places returns the places in a document, the root first.
func places(doc *any) []place {
	found := []place{{"", *doc, func(v any) { *doc = v }, nil}}
	for i := 0; i < len(found); i++ {
		at := found[i]
		switch v := at.get.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				found = append(found, place{at.path + "/" + escape(k), v[k], func(e any) { v[k] = e }, func() { delete(v, k) }})
			}
		case []any:
			for n := range v {
				found = append(found, place{at.path + "/" + strconv.Itoa(n), v[n], func(e any) { v[n] = e }, func() { at.set(slices.Delete(v, n, n+1)) }})
			}
		}
	}
	return found
}

func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// operation returns an operation that can be applied to a document, and applies it.
func (s *stream) operation(doc *any) string {
	all := places(doc)
	at := pick(s, all)
	switch s.r.IntN(8) {
	case 0, 1, 2: // add a member or an element
		return s.add(all, s.value(2))
	case 3:
		value := s.value(2)
		if at.path == "" {
			value = s.object(2)
		}
		at.set(decode(value))
		return fields{"op", `"replace"`, "path", quotePath(at.path), "value", value}.object()
	case 4:
		if at.remove != nil {
			at.remove()
			return fields{"op", `"remove"`, "path", quotePath(at.path)}.object()
		}
	case 5:
		value, err := json.Marshal(at.get)
		if err == nil && !strings.ContainsRune(string(value), '�') && !strings.ContainsAny(string(value), "eE.") && len(value) < 15 {
			return fields{"op", `"test"`, "path", quotePath(at.path), "value", string(value)}.object()
		}
	case 6:
		copied := clone(at.get)
		return strings.Replace(s.add(all, "", copied), `"op":"add"`, `"op":"copy","from":`+quotePath(at.path), 1)
	case 7:
		if at.remove != nil {
			moved := clone(at.get)
			at.remove()
			return strings.Replace(s.add(places(doc), "", moved), `"op":"add"`, `"op":"move","from":`+quotePath(at.path), 1)
		}
	}
	return s.add(all, s.value(1))
}

// add returns an add operation for a value, or for one that is decoded already, which is
// left out of the operation.
func (s *stream) add(all []place, value string, decoded ...any) string {
	containers := slices.DeleteFunc(slices.Clone(all), func(p place) bool {
		switch p.get.(type) {
		case map[string]any, []any:
			return false
		}
		return true
	})
	f := fields{"op", `"add"`, "path", `""`}
	if value != "" {
		f = f.add("value", value)
		decoded = []any{decode(value)}
	}
	if len(containers) == 0 {
		all[0].set(decoded[0])
		return f.object()
	}
	into := pick(s, containers)
	switch v := into.get.(type) {
	case map[string]any:
		key := s.key()
		v[key] = decoded[0]
		f[3] = quotePath(into.path + "/" + escape(key))
	case []any:
		n := s.r.IntN(len(v) + 1)
		token := strconv.Itoa(n)
		if n == len(v) && s.chance(50) {
			token = "-"
		}
		into.set(slices.Insert(slices.Clone(v), n, decoded[0]))
		f[3] = quotePath(into.path + "/" + token)
	}
	return f.object()
}

// oddOperation returns an operation that RFC 6902 refuses or that the client applies in
// its own way.
func (s *stream) oddOperation(doc any) string {
	at := pick(s, places(&doc)).path
	path := quotePath(at + pick(s, []string{"/01", "/", "/-", "/1e0", "/length", "/99", "/toString", "/__proto__/x", "/constructor/prototype/y", "/4294967296", ""}))
	switch s.r.IntN(6) {
	case 0:
		return `{"op":"remove","path":` + path + `}`
	case 1:
		return `{"op":"replace","path":` + path + `,"value":1}`
	case 2:
		return `{"op":"test","path":` + path + `,"value":1}`
	case 3:
		return `{"op":"move","from":` + quotePath(at) + `,"path":` + path + `}`
	case 4:
		return `{"op":"copy","from":` + path + `,"path":` + quotePath(at) + `}`
	}
	return `{"op":"add","path":` + path + `,"value":[1]}`
}

// quotePath returns a pointer as a JSON string.
func quotePath(path string) string {
	b, err := json.Marshal(path)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// clone returns a deep copy of a value.
func clone(v any) any {
	switch v := v.(type) {
	case []any:
		copied := slices.Clone(v)
		for i := range copied {
			copied[i] = clone(copied[i])
		}
		return copied
	case map[string]any:
		copied := maps.Clone(v)
		for k := range copied {
			copied[k] = clone(copied[k])
		}
		return copied
	}
	return v
}
