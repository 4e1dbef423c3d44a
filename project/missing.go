package project

import (
	"fmt"
	"unicode/utf8"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/strictjson"
)

// normalizedMessage is the form of a message for comparison: the role, and the sum of
// the text without white space. Messages without text are not compared.
type normalizedMessage struct {
	role string
	text textSum
}

// comparison is the result of comparing a snapshot with the streamed messages that
// have text.
type comparison struct {
	streamed []*streamed
	missing  []int // indexes into streamed of the messages missing from the snapshot
}

// mustCompare reports whether a comparison with the snapshot needs the sums of its
// messages.
func (f *fold) mustCompare(snapshot *envelope.Event) bool {
	_, done := f.compared[snapshot]
	return !done && len(f.streamed) > 0
}

// compare compares the selected snapshot with the streamed messages. It ignores ids,
// names and order, because integrations change them. The result is cached, since
// several projections may select the same snapshot.
func (d *draft) compare(f *fold) comparison {
	c, ok := f.compared[d.snapshot]
	if ok {
		return c
	}
	var streamed []normalizedMessage
	for _, m := range f.streamed {
		if text := f.sumOf(m); text.bytes > 0 { // 0 for roles outside the subset
			streamed, c.streamed = append(streamed, normalizedMessage{m.role, text}), append(c.streamed, m)
		}
	}
	if len(streamed) > 0 {
		c.missing = d.summer.findMissing(d.normalized, d.requestMessages(d.summer), streamed)
	}
	if f.compared == nil {
		f.compared = make(map[*envelope.Event]comparison)
	}
	f.compared[d.snapshot] = c
	return c
}

// compareStream warns about streamed messages that are missing from the selected
// snapshot.
func (d *draft) compareStream(f *fold) {
	c := d.compare(f)
	if len(c.missing) == 0 {
		return
	}
	first := c.streamed[c.missing[0]]
	warning := first.origin().finding(finding.SnapshotLacksText, "the snapshot lacks %s", describeMissing(len(c.missing), len(c.streamed), first.first.Index, f.full))
	if last := d.run.Snapshots[len(d.run.Snapshots)-1]; last.Index > d.snapshot.Index {
		warning = warning.WithHint(hint.TryLastSnapshot, EmittedSnapshotText)
	}
	d.report(warning)
	for _, i := range c.missing {
		d.omitted.add(c.streamed[i].origin().omission(finding.SnapshotLacksText))
	}
}

// describeMissing describes how many of the streamed messages are missing. If the
// fold is full, it has only the first messages of the stream.
func describeMissing(missing, streamed, start int, full bool) string {
	which, many := "only", ""
	if full {
		which, many = "first", "first "
	}
	switch {
	case streamed == 1:
		return fmt.Sprintf("the %s text message the run streamed (it begins at event %d)", which, start)
	case missing == 1:
		return fmt.Sprintf("1 of the %s%d text messages the run streamed (it begins at event %d)", many, streamed, start)
	}
	return fmt.Sprintf("%d of the %s%d text messages the run streamed (the first begins at event %d)", missing, many, streamed, start)
}

// findMissing returns the indexes of the streamed messages that are missing from a
// snapshot. If the snapshot repeats a message of the request, the repetition does not
// match a streamed message.
func (s *summer) findMissing(snapshot, request, streamed []normalizedMessage) (missing []int) {
	end := 0 // end of the request's messages in the snapshot
	if len(request) > 0 {
		last := request[len(request)-1]
		for i, m := range snapshot {
			if m == last {
				end = i + 1
			}
		}
	}
	counts := make(map[normalizedMessage]int)
	for _, m := range snapshot[:end] {
		counts[m]++
	}
	for _, m := range request {
		counts[m] = max(0, counts[m]-1)
	}
	for _, m := range snapshot[end:] {
		counts[m]++
	}
	rejoined := make(map[string]bool) // by role: whether the snapshot joins or splits the messages
	for i, m := range streamed {
		if counts[m]--; counts[m] >= 0 {
			continue
		}
		same, tried := rejoined[m.role]
		if !tried {
			same = s.endsWithJoined(snapshot[end:], streamed, m.role)
			rejoined[m.role] = same
		}
		if !same {
			missing = append(missing, i)
		}
	}
	return missing
}

// endsWithJoined reports whether the joined text of a role's last messages in the
// snapshot equals the joined text of its streamed messages. A snapshot may join or
// split messages.
func (s *summer) endsWithJoined(snapshot, streamed []normalizedMessage, role string) bool {
	var want, got textSum
	for _, m := range streamed {
		if m.role == role {
			want = s.join(want, m.text)
		}
	}
	for i := len(snapshot) - 1; i >= 0 && got.bytes < want.bytes; i-- {
		if snapshot[i].role == role {
			got = s.join(snapshot[i].text, got)
		}
	}
	return got == want
}

// requestMessages returns the messages of the request. If the request cannot be read
// or names another run, it returns those of the input in RUN_STARTED.
func (d *draft) requestMessages(s *summer) []normalizedMessage {
	input, _ := d.run.Started.Get("input")
	for _, text := range [][]byte{d.request, input.Raw} {
		if len(text) == 0 { // there is none
			continue
		}
		var o strictjson.Object
		value, err := strictjson.ReadText(&o, new(strictjson.Decoder), text)
		if err != nil || value.Kind != strictjson.ObjectStart {
			continue
		}
		list, _ := o.Get("messages")
		if key, _ := d.foreignID(&o); key == "" && list.Kind == strictjson.ArrayStart {
			return s.normalizeMessages(list)
		}
	}
	return nil
}

// normalizeMessages returns the normalized messages of a list. It skips elements that
// are not messages.
func (s *summer) normalizeMessages(list strictjson.Value) (all []normalizedMessage) {
	var contents contentReader
	// The list is part of a valid JSON text, so Elements cannot fail.
	_ = strictjson.Elements(list, func(_ int, v strictjson.Value, m *strictjson.Object) error {
		if role, _ := m.Get("role"); role.Kind == strictjson.String {
			name, _ := role.Text()
			content, ok := m.Get("content")
			text, _, _ := contents.read(content, ok)
			all = s.appendNormalized(all, name, text)
		}
		return nil
	})
	return all
}

// appendNormalized appends the normalized form of a message with a text that a
// contentReader read.
func (s *summer) appendNormalized(all []normalizedMessage, role string, text []byte) []normalizedMessage {
	if !utf8.Valid(text) {
		joined, _ := strictjson.JoinSurrogates(string(text))
		text = []byte(joined)
	}
	var sum textSum
	if s.addText(&sum, text); sum.bytes == 0 {
		return all
	}
	return append(all, normalizedMessage{role, sum})
}
