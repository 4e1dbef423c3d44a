package replay

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/p20export/p20export/internal/strictjson"
)

// input is what a replay needs to know of a run input.
type input struct {
	threadID, runID strictjson.Value // of kind 0 if there is none
	// key identifies the text of the last user message. hasUser reports that there is
	// one.
	key     inputKey
	hasUser bool
	// users has the ids of the user messages, as JSON texts, and ids those of all messages.
	users map[userKey][]byte
	ids   map[inputKey]bool
}

// userKey identifies a user message of a conversation: the nth with its text, from 0.
type userKey struct {
	text inputKey
	n    int
}

// eachUser calls found with the place in a text of the id of each user message, and with the
// ids of the other messages between it and the last one. Messages with the same id and text
// have the same key, because some agents repeat messages.
func eachUser(messages strictjson.Value, found func(key userKey, id strictjson.Value, others []inputKey)) {
	numbers := map[inputKey]map[string]int{} // of the ids
	var others []inputKey
	for m := range elements(messages) {
		role, _ := m.Member("role")
		id, _ := m.Member("id")
		if !role.Is("user") || id.Kind != strictjson.String {
			name, _ := id.Text()
			others = append(others, sha256.Sum256([]byte(name)))
			continue
		}
		content, _ := m.Member("content")
		key := userKey{text: sha256.Sum256([]byte(textOf(content)))}
		if numbers[key.text] == nil {
			numbers[key.text] = map[string]int{}
		}
		name, _ := id.Text()
		n, ok := numbers[key.text][name]
		if !ok {
			n = len(numbers[key.text])
			numbers[key.text][name] = n
		}
		key.n = n
		id.Start += m.Start
		found(key, id, others)
		others = nil
	}
}

// hasIDs reports whether there is a thread id and a run id.
func (in *input) hasIDs() bool {
	return in.threadID.Kind == strictjson.String && in.runID.Kind == strictjson.String
}

// inputKey is the SHA-256 of a text or an id. They can be long, and there can be many captures.
type inputKey [sha256.Size]byte

// readInput reads a run input.
func readInput(body []byte) (*input, error) {
	var o strictjson.Object
	value, err := strictjson.ReadText(&o, new(strictjson.Decoder), body)
	if syntax, ok := errors.AsType[*strictjson.SyntaxError](err); ok {
		return nil, fmt.Errorf("it is not JSON at byte %d", syntax.Offset) // the message may quote it
	}
	if err != nil {
		return nil, err
	}
	if value.Kind != strictjson.ObjectStart {
		return nil, fmt.Errorf("it is %s", value.Kind)
	}
	in := new(input)
	in.threadID, _ = o.Get("threadId")
	in.runID, _ = o.Get("runId")
	messages, _ := o.Get("messages")
	in.ids = map[inputKey]bool{}
	var last strictjson.Value
	for m := range elements(messages) {
		if role, _ := m.Member("role"); role.Is("user") {
			last, in.hasUser = m, true
		}
		id, _ := m.Member("id")
		if name, ok := id.Text(); ok {
			in.ids[sha256.Sum256([]byte(name))] = true
		}
	}
	if in.hasUser {
		content, _ := last.Member("content")
		in.key = sha256.Sum256([]byte(textOf(content)))
	}
	in.users = map[userKey][]byte{}
	eachUser(messages, func(key userKey, id strictjson.Value, _ []inputKey) { in.users[key] = id.Raw })
	return in, nil
}

// textOf returns the text of the content of a message: a string, or the texts of its
// parts together.
func textOf(content strictjson.Value) string {
	if content.Kind == strictjson.String {
		text, _ := content.Text()
		return text
	}
	var b strings.Builder
	for part := range elements(content) {
		text, _ := part.Member("text")
		s, _ := text.Text()
		b.WriteString(s)
	}
	return b.String()
}

// elements calls yield for each element of an array that was read without an error.
func elements(array strictjson.Value) func(yield func(strictjson.Value) bool) {
	return func(yield func(strictjson.Value) bool) {
		if array.Kind != strictjson.ArrayStart {
			return
		}
		d := strictjson.NewDecoder(array.Raw)
		_, err := d.Next()
		for err == nil {
			var t strictjson.Token
			if t, err = d.Next(); err != nil || t.Kind == strictjson.ArrayEnd {
				return
			}
			var end int
			if end, err = d.Skip(t); err == nil && !yield(strictjson.Value{Kind: t.Kind, Raw: array.Raw[t.Start:end], Start: array.Start + t.Start}) {
				return
			}
		}
	}
}

// indexInputs fills byInput.
func (r *Replay) indexInputs() error {
	r.byInput = make(map[inputKey]*rotation)
	for _, c := range r.all {
		if c.request == nil || !c.request.hasUser {
			r.settings.Log.Warn("capture cannot match", "capture", c.path, "reason", "it has no request with a user message")
			continue
		}
		of := r.byInput[c.request.key]
		if of == nil {
			of = new(rotation)
			r.byInput[c.request.key] = of
		}
		of.list = append(of.list, c)
	}
	if len(r.byInput) == 0 {
		return ErrNoRequests
	}
	return nil
}
