package report

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
)

// timeline is the events of one run, in the spelling of the page's data.
type timeline struct {
	// Count and Bytes are of all events of the run.
	Count int
	Bytes int64
	// Unlisted is how many of them are not in the data, Cut how many have only
	// the beginning of their text there, or none.
	Unlisted, Cut int

	// Strip is nil where times of arrival are not known.
	Strip *strip

	types  []string
	index  map[string]int
	rows   []byte // JSON arrays: type, index, offset, bytes, microseconds, text, whether it is cut
	listed int
}

// maxType bounds what is kept of an event type, in bytes.
const maxType = 128

// add lists one event. A type of "" is a frame that is no event. Micros count
// from the start of the capture and are -1 where that is not known.
func (t *timeline) add(f capture.Frame, kind string, micros int64, left *limits) {
	t.Count++
	t.Bytes += f.Bytes
	if micros >= 0 {
		if t.Strip == nil {
			t.Strip = new(strip)
		}
		t.Strip.add(micros, hue(kind))
	}
	if take(&left.events, 1) == 0 {
		t.Unlisted++
		return
	}
	i, ok := t.index[kind]
	if !ok {
		if t.index == nil {
			t.index = make(map[string]int)
		}
		i = len(t.types)
		t.types = append(t.types, kind)
		t.index[kind] = i
	}
	if t.listed++; t.listed > 1 {
		t.rows = append(t.rows, ',')
	}
	t.rows = fmt.Appendf(t.rows, "[%d,%d,%d,%d,%d,", i, f.Index, f.Offset, f.Bytes, micros)
	before := len(t.rows)
	var n int
	t.rows, n = appendJSON(t.rows, f.Data, before+min(left.event, left.timelines))
	take(&left.timelines, len(t.rows)-before)
	cut := 0
	if n < len(f.Data) || f.Problem != nil {
		cut = 1
	}
	t.Cut += cut
	t.rows = fmt.Appendf(t.rows, ",%d]", cut)
}

// hue names the colour of a type of event.
func hue(kind string) string {
	for _, of := range []struct{ prefix, hue string }{
		{"RUN_", "run"}, {"STEP_", "run"}, {"SUBAGENT_", "run"},
		{"TEXT_", "text"}, {"TOOL_", "tool"}, {"STATE_", "state"}, {"MESSAGES_", "snapshot"},
		{"REASONING_", "reasoning"}, {"THINKING_", "reasoning"}, {"ACTIVITY_", "activity"},
	} {
		if strings.HasPrefix(kind, of.prefix) {
			return of.hue
		}
	}
	if kind == "" {
		return "bad"
	}
	return "other"
}

// readTimelines reads a capture's events into the timelines of its runs. Of the
// number of an event's run, 0 before the first, place makes that of its timeline,
// and whether that is wanted. The digest is that of the response as it was read.
func readTimelines(ctx context.Context, path string, place func(run int) (int, bool), left *limits, progress freeze.Progress) (map[int]*timeline, digest.Digest, error) {
	c, err := capture.Open(ctx, path, "")
	if err != nil {
		return nil, "", err
	}
	defer c.Close()
	all := make(map[int]*timeline)
	run := 0
	for {
		f, err := c.Next()
		if err == io.EOF {
			return all, c.Digest(), nil
		}
		if err != nil {
			return nil, "", err
		}
		if f.Index%1024 == 0 && progress != nil {
			progress(c.Bytes())
		}
		kind := ""
		if f.Problem == nil {
			if e, err := envelope.ReadEvent(f.Data); err == nil {
				kind = e.Type
			}
		}
		if kind == envelope.RunStarted {
			run++
		}
		number, wanted := place(run)
		if !wanted {
			continue
		}
		if all[number] == nil {
			all[number] = new(timeline)
		}
		micros := int64(-1)
		if m := c.Manifest(); m != nil && !f.Arrived.IsZero() {
			micros = f.Arrived.Sub(m.StartedAt).Microseconds()
		}
		if len(kind) > maxType {
			kind = strings.ToValidUTF8(kind[:maxType], "") + "…"
		}
		all[number].add(f, strings.Clone(kind), micros, left)
	}
}

// data spells a timeline as the page's JSON, with the places of the events that
// were kept and what was left out of any event.
func (t *timeline) data(parts []project.Part, omissions []project.Omission, left *limits) []byte {
	b := []byte(`{"types":[`)
	for i, kind := range t.types {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = appendJSON(append(b, '['), []byte(kind), len(b)+1<<10)
		b = append(append(append(b, `,"`...), hue(kind)...), `"]`...)
	}
	b = append(append(append(b, `],"events":[`...), t.rows...), `],"kept":{`...)
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `"%d":"%s"`, p.Index, p.Part)
	}
	b = append(b, `},"left":[`...)
	comma := ""
	for _, o := range omissions {
		if o.EventIndex == nil || left.facts == 0 {
			continue
		}
		before := len(b)
		b = fmt.Appendf(b, `%s[%d,`, comma, *o.EventIndex)
		b, _ = appendJSON(b, []byte(o.Pointer), len(b)+finding.MaxPointer)
		b = fmt.Appendf(b, `,"%s","%s"]`, o.Reason, verb(o.Reason))
		take(&left.facts, len(b)-before)
		comma = ","
	}
	return append(b, `]}`...)
}
