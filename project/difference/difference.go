// Package difference compares two artifacts key by key and message by message.
//
// It must not know how the artifacts were made, and must not contain rules of the
// contract.
package difference

import (
	"slices"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
)

// Kind says how a key or a message differs.
type Kind string

// The kinds of differences. Added means only in B, Removed only in A. Moved messages are
// in both. They are a smallest set of messages such that all other common messages have
// the same order in A and B.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
	Moved   Kind = "moved"
)

// Difference is one difference between the artifacts A and B: of a key of the
// artifact, of a key of a message that is in both, or of a whole message.
type Difference struct {
	// Pointer is the place in A or, for a message that is only in B, in B.
	Pointer finding.Pointer `json:"pointer"`
	// PointerB is the place in B of a message, or of a key in it, if its index is
	// different there.
	PointerB finding.Pointer `json:"pointer_b,omitzero"`
	Kind     Kind            `json:"what"`
	// A and B are the values: a string for a key, an artifact.Message for a whole
	// message, and nil if the value is absent.
	A any `json:"a"`
	B any `json:"b"`
	// Microseconds is the time in B minus the time in A. It is nil for values that are
	// not times.
	Microseconds *int64 `json:"microseconds,omitzero"`
}

// Compare returns the differences between two artifacts in the order of the contract's
// keys and of the messages, and the number of messages that are the same in both. A
// moved message does not count as the same.
//
// Messages with the same id are the same message. Other messages with the same role and
// content are paired in order. Compare takes O(n log n) time for n messages.
func Compare(a, b *artifact.Artifact) (list []Difference, same int) {
	c := comparison{list: []Difference{}}
	c.key("/schema", "", a.Schema, b.Schema)
	c.key("/framework", "", a.Framework, b.Framework)
	c.key("/surface", "", a.Surface, b.Surface)
	c.key("/thread_id_ref", "", a.ThreadIDRef, b.ThreadIDRef)
	c.key("/run_id_ref", "", a.RunIDRef, b.RunIDRef)
	c.key("/parent_run_id_ref", "", a.ParentRunIDRef, b.ParentRunIDRef)
	c.time("/started_at", a.StartedAt, b.StartedAt)
	c.time("/finished_at", a.FinishedAt, b.FinishedAt)
	c.messages(a.Messages, b.Messages)
	c.key("/terminal_event", "", a.TerminalEvent, b.TerminalEvent)
	c.key("/error_code", "", a.ErrorCode, b.ErrorCode)
	c.key("/error_message", "", a.ErrorMessage, b.ErrorMessage)
	return c.list, c.same
}

type comparison struct {
	list []Difference
	same int
}

// key compares the values of a key. The empty string means that the key is absent.
func (c *comparison) key(p, inB finding.Pointer, a, b string) {
	d := Difference{Pointer: p, PointerB: inB, Kind: Changed, A: a, B: b}
	switch {
	case a == b:
		return
	case a == "":
		d.Kind, d.A = Added, nil
	case b == "":
		d.Kind, d.B = Removed, nil
	}
	c.list = append(c.list, d)
}

func (c *comparison) time(p finding.Pointer, a, b string) {
	before := len(c.list)
	c.key(p, "", a, b)
	if len(c.list) == before {
		return
	}
	from, err := artifact.ParseTime(a)
	if err != nil {
		return
	}
	if to, err := artifact.ParseTime(b); err == nil {
		later := to.UnixMicro() - from.UnixMicro()
		c.list[before].Microseconds = &later
	}
}

func (c *comparison) messages(a, b []artifact.Message) {
	in := pairMessages(a, b)
	paired := make([]bool, len(b))
	for _, j := range in {
		if j >= 0 {
			paired[j] = true
		}
	}
	stays := longestIncreasing(in)
	next := 0
	added := func(to int) {
		for ; next < to; next++ {
			if !paired[next] {
				c.list = append(c.list, Difference{Pointer: message(next), Kind: Added, B: b[next]})
			}
		}
	}
	for i, j := range in {
		if j < 0 {
			c.list = append(c.list, Difference{Pointer: message(i), Kind: Removed, A: a[i]})
			continue
		}
		if stays[i] {
			added(j)
		}
		before := len(c.list)
		if !stays[i] {
			c.list = append(c.list, Difference{Pointer: message(i), PointerB: pointerInB(i, j, ""), Kind: Moved, A: a[i], B: b[j]})
		}
		for _, key := range []struct{ name, a, b string }{
			{"id", a[i].ID, b[j].ID}, {"role", a[i].Role, b[j].Role}, {"content", a[i].Content, b[j].Content}, {"name", a[i].Name, b[j].Name},
		} {
			c.key(message(i).Name(key.name), pointerInB(i, j, key.name), key.a, key.b)
		}
		if len(c.list) == before {
			c.same++
		}
	}
	added(len(b))
}

func message(i int) finding.Pointer { return finding.Pointer("/messages").Index(i) }

// pointerInB returns the pointer to message j of B, or to a key in it. It returns the
// empty pointer if the message has the same index in A.
func pointerInB(i, j int, key string) finding.Pointer {
	switch {
	case i == j:
		return ""
	case key == "":
		return message(j)
	}
	return message(j).Name(key)
}

// pairMessages returns, for each message of a, the index of the same message in b, or
// -1.
func pairMessages(a, b []artifact.Message) []int {
	in := slices.Repeat([]int{-1}, len(a))
	taken := make([]bool, len(b))
	pair := func(of func(artifact.Message) artifact.Message) {
		free := map[artifact.Message][]int{}
		for j, m := range b {
			if !taken[j] {
				free[of(m)] = append(free[of(m)], j)
			}
		}
		for i, m := range a {
			if left := free[of(m)]; in[i] < 0 && len(left) > 0 {
				in[i], taken[left[0]] = left[0], true
				free[of(m)] = left[1:]
			}
		}
	}
	pair(func(m artifact.Message) artifact.Message { return artifact.Message{ID: m.ID} })
	pair(func(m artifact.Message) artifact.Message {
		return artifact.Message{Role: m.Role, Content: m.Content}
	})
	return in
}

// longestIncreasing reports which indexes of list belong to one of its longest increasing
// subsequences. Negative elements never do.
func longestIncreasing(list []int) []bool {
	var ends []int // ends[n] is the index of the smallest element that ends a subsequence of n+1
	before := make([]int, len(list))
	for i, v := range list {
		if v < 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, v, func(end, v int) int { return list[end] - v })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	in := make([]bool, len(list))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			in[i] = true
		}
	}
	return in
}
