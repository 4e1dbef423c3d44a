package compact

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope/reduce"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// Normalized is a run input without the messages that the history has, and what
// Denormalize needs to restore the input as it was sent.
type Normalized struct {
	// Input is the input without the removed messages. All other bytes are unchanged.
	// It is not in the JSON form of Normalized, which would change its bytes: store it
	// beside that.
	Input []byte `json:"-"`
	// Digest is the digest of the input as it was sent.
	Digest digest.Digest `json:"digest"`
	// Removed are the removed messages, in order.
	Removed []Removed `json:"removed"`
	// Findings are warnings about messages that have the id of a message of the
	// history and other content. They are not removed.
	Findings []finding.Finding `json:"-"`
}

// Removed is a message that was removed from an input.
type Removed struct {
	// ID is the id of the message.
	ID string `json:"id"`
	// Index is the index of the message in the messages of the input.
	Index int `json:"index"`
	// Offset is the offset of the removed text in the input as it was sent.
	Offset int `json:"offset"`
	// Before and After are the comma and the white space that were removed with the
	// message.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Text is the message as it was sent. It is empty if the history has the message
	// with the same bytes.
	Text string `json:"text,omitempty"`
}

// Errors of Normalize and Denormalize.
var (
	// ErrHistory means that a history is not a JSON array of messages.
	ErrHistory = errors.New("the history is not a JSON array of messages")
	// ErrInput means that an input is not a JSON object.
	ErrInput = errors.New("the input is not a JSON object")
	// ErrOtherHistory means that Denormalize cannot restore an input, because the
	// history or the normalized input is not the one of Normalize.
	ErrOtherHistory = errors.New("the input cannot be restored with this history")
)

// Normalize removes from a run input (RunAgentInput) the messages that the history
// has. The history is a JSON array of messages.
//
// A message is removed if the history has a message with the same id and equal
// content. The order of members and the notation of numbers and strings do not
// matter. Members that AG-UI does not define count only if the history has them, because a
// conversation has none. A message with the id of a message
// of the history and other content stays, and is reported. If the history has several
// messages with one id, only the first counts, as in a client. Entries of messages
// that are not objects with an id stay, and so does everything else.
//
// Normalizing the result again with the same history changes nothing.
func Normalize(history, input []byte) (*Normalized, error) {
	known, err := readHistory(history)
	if err != nil {
		return nil, err
	}
	o, err := readInput(input)
	if err != nil {
		return nil, err
	}
	n := &Normalized{Digest: digest.Of(input)}
	messages, _ := o.Get("messages")
	cuts, differing := known.normalize(messages)
	for _, m := range differing {
		n.Findings = append(n.Findings, finding.New(finding.InputMessageDiffers, differsText, finding.Quote(m.id)).
			WithOffset(int64(m.start)).WithPointer(finding.Pointer("/messages").Index(m.index)))
	}
	n.Input = remove(input, cuts)
	for _, c := range cuts {
		r := Removed{ID: c.id, Index: c.index, Offset: c.from, Before: string(input[c.from:c.start]), After: string(input[c.end:c.to])}
		if text := input[c.start:c.end]; !utf8.ValidString(c.id) || string(text) != string(known[c.id].text) {
			r.Text = string(text)
		}
		n.Removed = append(n.Removed, r)
	}
	return n, nil
}

// Denormalize returns the input from which Normalize made n, with the same bytes. The
// history is the one that was given to Normalize; it may have more messages after
// those. Denormalize fails with ErrOtherHistory if it cannot restore the input.
func Denormalize(history []byte, n *Normalized) ([]byte, error) {
	known, err := readHistory(history)
	if err != nil {
		return nil, err
	}
	var input []byte
	rest := n.Input
	for _, r := range n.Removed {
		before := r.Offset - len(input)
		if before < 0 || before > len(rest) {
			return nil, fmt.Errorf("%w: the normalized input is too short for message %s", ErrOtherHistory, finding.Quote(r.ID))
		}
		input, rest = append(input, rest[:before]...), rest[before:]
		input = append(input, r.Before...)
		if r.Text != "" {
			input = append(input, r.Text...)
		} else if m := known[r.ID]; m != nil {
			input = append(input, m.text...)
		} else {
			return nil, fmt.Errorf("%w: it has no message %s", ErrOtherHistory, finding.Quote(r.ID))
		}
		input = append(input, r.After...)
	}
	input = append(input, rest...)
	if digest.Of(input) != n.Digest {
		return nil, fmt.Errorf("%w: the digest differs", ErrOtherHistory)
	}
	return input, nil
}

const differsText = "message %s of the input has the id of a message of the history and other content"

// history is the first message of each id.
type history map[string]*message

// readHistory reads a JSON array of messages. Entries without an id are ignored.
func readHistory(text []byte) (history, error) {
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, new(strictjson.Decoder), text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHistory, err)
	}
	if v.Kind != strictjson.ArrayStart {
		return nil, ErrHistory
	}
	return historyOf(readMessages(v)), nil
}

func historyOf(messages []*message) history {
	known := make(history, len(messages))
	for _, m := range messages {
		known.add(m)
	}
	return known
}

func (h history) add(m *message) {
	if h[m.id] == nil {
		h[m.id] = m
	}
}

func readInput(text []byte) (strictjson.Object, error) {
	var o strictjson.Object
	v, err := strictjson.ReadText(&o, new(strictjson.Decoder), text)
	if err != nil {
		return o, fmt.Errorf("%w: %w", ErrInput, err)
	}
	if v.Kind != strictjson.ObjectStart {
		return o, ErrInput
	}
	return o, nil
}

// element is a message of an input, at text[start:end].
type element struct {
	id         string
	index      int
	start, end int
}

// cut is a message and the text around it that is removed with it:
// from <= start < end <= to.
type cut struct {
	element
	from, to int
}

// normalize returns the cuts that remove the messages of the history from the messages
// of an input, and the messages that differ from those of the history.
func (h history) normalize(messages strictjson.Value) (cuts []cut, differing []element) {
	type entry struct {
		element
		known bool
	}
	var all []entry
	kept := -1 // the last element that stays
	// The text was read before, so there is no error.
	_ = strictjson.Elements(messages, func(i int, v strictjson.Value, o *strictjson.Object) error {
		e := entry{element: element{index: i, start: v.Start, end: v.Start + len(v.Raw)}}
		if id, ok := o.Get("id"); v.Kind == strictjson.ObjectStart && ok && id.Kind == strictjson.String {
			e.id, _ = id.Text()
			if m := h[e.id]; m != nil {
				known, ok := reduce.Known(v, o)
				if e.known = m.equals(v) || ok && m.equals(known); !e.known {
					differing = append(differing, e.element)
				}
			}
		}
		if !e.known {
			kept = i
		}
		all = append(all, e)
		return nil
	})
	for i, e := range all {
		if !e.known {
			continue
		}
		// A comma is removed with the element before it, or after the last element
		// that stays with the element after it.
		c := cut{element: e.element, from: e.start, to: e.end}
		switch {
		case i < kept || kept < 0 && i+1 < len(all):
			c.to = all[i+1].start
		case kept >= 0:
			c.from = all[i-1].end
		}
		cuts = append(cuts, c)
	}
	return cuts, differing
}

// remove returns a copy of text without the cuts.
func remove(text []byte, cuts []cut) []byte {
	size := len(text)
	for _, c := range cuts {
		size -= c.to - c.from
	}
	kept := make([]byte, 0, size)
	at := 0
	for _, c := range cuts {
		kept = append(kept, text[at:c.from]...)
		at = c.to
	}
	return append(kept, text[at:]...)
}
