package project

import (
	"fmt"
	"strings"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/strictjson"
)

// said is a message as it is compared: its role, and its text without any white
// space. Messages without text are not compared.
type said struct{ role, text string }

// comparison is what a snapshot lacks of the messages that the run streamed: they
// have text, and lacking are the places of some among them.
type comparison struct {
	begun   []origin // where each was
	lacking []int
}

// compare compares the taken snapshot with what the run streamed. Ids, names and order
// are not compared: integrations give them anew. Several projections take the same
// snapshot, which is compared once.
func (d *draft) compare(f *fold) comparison {
	c, ok := f.compared[d.snapshot]
	if ok {
		return c
	}
	var streamed []said
	for _, m := range f.messages {
		if text := saidText(string(m.text)); text != "" { // of other roles no text is kept
			streamed, c.begun = append(streamed, said{m.role, text}), append(c.begun, origin{event: m.event})
		}
	}
	if len(streamed) > 0 {
		messages, _ := d.snapshot.Get("messages")
		c.lacking = lackingIn(saidIn(messages), d.asked(), streamed)
	}
	if f.compared == nil {
		f.compared = make(map[*envelope.Event]comparison)
	}
	f.compared[d.snapshot] = c
	return c
}

// compareStream warns of text messages that the run streamed and the taken snapshot
// lacks.
func (d *draft) compareStream(f *fold) {
	c := d.compare(f)
	if len(c.lacking) == 0 {
		return
	}
	first := c.begun[c.lacking[0]]
	warning := first.finding(finding.SnapshotLacksText, "the snapshot lacks %s", lackingShown(len(c.lacking), len(c.begun), first.event.Index, f.full))
	if last := d.run.Snapshots[len(d.run.Snapshots)-1]; last.Index > d.snapshot.Index {
		warning = warning.WithHint(hint.TryLastSnapshot, EmittedSnapshotText)
	}
	d.report(warning)
	for _, i := range c.lacking {
		d.omitted.add(c.begun[i].omission(finding.SnapshotLacksText))
	}
}

// lackingShown says how many of a run's streamed messages are lacking. Of a fold that
// is full the messages are only the first ones.
func lackingShown(lacking, streamed, begun int, full bool) string {
	which, many := "only", ""
	if full {
		which, many = "first", "first "
	}
	switch {
	case streamed == 1:
		return fmt.Sprintf("the %s text message the run streamed (it begins at event %d)", which, begun)
	case lacking == 1:
		return fmt.Sprintf("1 of the %s%d text messages the run streamed (it begins at event %d)", many, streamed, begun)
	}
	return fmt.Sprintf("%d of the %s%d text messages the run streamed (the first begins at event %d)", lacking, many, streamed, begun)
}

// lackingIn returns which of the streamed messages are not among those that a
// snapshot holds, by their places and in their order. A snapshot that repeats what
// the run was asked with does not say it anew.
func lackingIn(held, asked, streamed []said) (lacking []int) {
	echo := 0 // how many messages of the snapshot end with the last that was asked
	if len(asked) > 0 {
		last := asked[len(asked)-1]
		for i, m := range held {
			if m == last {
				echo = i + 1
			}
		}
	}
	have := make(map[said]int)
	for _, m := range held[:echo] {
		have[m]++
	}
	for _, m := range asked {
		have[m] = max(0, have[m]-1)
	}
	for _, m := range held[echo:] {
		have[m]++
	}
	apart := make(map[string]bool) // roles whose messages were joined or divided
	for i, m := range streamed {
		if have[m]--; have[m] >= 0 {
			continue
		}
		same, tried := apart[m.role]
		if !tried {
			same = endsWith(held[echo:], streamed, m.role)
			apart[m.role] = same
		}
		if !same {
			lacking = append(lacking, i)
		}
	}
	return lacking
}

// endsWith reports whether the last messages of a role in held say together what those
// of the role in streamed say together: a snapshot may join or divide messages.
func endsWith(held, streamed []said, role string) bool {
	var b strings.Builder
	for _, m := range streamed {
		if m.role == role {
			b.WriteString(m.text)
		}
	}
	rest := b.String()
	for i := len(held) - 1; i >= 0 && rest != ""; i-- {
		if held[i].role != role {
			continue
		}
		var ok bool
		if rest, ok = strings.CutSuffix(rest, held[i].text); !ok {
			return false
		}
	}
	return rest == ""
}

// asked returns the messages that the run was asked with: those of the request or,
// where it cannot be read or names another run, of the input in RUN_STARTED.
func (d *draft) asked() []said {
	input, _ := d.run.Started.Get("input")
	for _, text := range [][]byte{d.request, input.Raw} {
		var o strictjson.Object
		value, err := strictjson.ReadText(&o, new(strictjson.Decoder), text)
		if err != nil || value.Kind != strictjson.ObjectStart {
			continue
		}
		list, _ := o.Get("messages")
		if key, _ := d.otherInput(&o); key == "" && list.Kind == strictjson.ArrayStart {
			return saidIn(list)
		}
	}
	return nil
}

// saidIn returns what a list of messages says, whatever else is in it.
func saidIn(list strictjson.Value) (all []said) {
	// The text was read before, so there is no error.
	_ = strictjson.Elements(list, func(_ int, v strictjson.Value, m *strictjson.Object) error {
		if v.Kind != strictjson.ObjectStart {
			return nil
		}
		role, _ := m.Get("role")
		content, _ := m.Get("content")
		if role.Kind != strictjson.String {
			return nil
		}
		text, _, _ := readContent(content, true)
		if text = saidText(text); text != "" {
			name, _ := role.Text()
			all = append(all, said{name, text})
		}
		return nil
	})
	return all
}

// saidText returns a text without any white space.
func saidText(text string) string {
	text, _ = strictjson.JoinSurrogates(text)
	i := strings.IndexFunc(text, artifact.IsSpace)
	if i < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for ; i >= 0; i = strings.IndexFunc(text, artifact.IsSpace) {
		b.WriteString(text[:i])
		text = strings.TrimLeftFunc(text[i:], artifact.IsSpace)
	}
	b.WriteString(text)
	return b.String()
}
