package compact

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
)

func textStart(id string) string { return `{"type":"TEXT_MESSAGE_START","messageId":"` + id + `"}` }
func textEnd(id string) string   { return `{"type":"TEXT_MESSAGE_END","messageId":"` + id + `"}` }

func textDelta(id, delta string) string {
	return `{"type":"TEXT_MESSAGE_CONTENT","messageId":"` + id + `","delta":"` + delta + `"}`
}

const custom = `{"type":"CUSTOM","name":"n","value":null}`

// limitFinding returns the finding of an exceeded limit.
func limitFinding(t testing.TB, err error) finding.Finding {
	t.Helper()
	f, ok := errors.AsType[finding.Finding](err)
	if !ok || f.Code != finding.CompactionLimit || f.EventIndex == nil {
		t.Fatalf("the error is %v", err)
	}
	return f
}

// A merged event may have as many bytes as the limit, and not one more.
func TestEventLimit(t *testing.T) {
	for _, mode := range []Mode{ModeStream, ModeClient} {
		events := []string{custom, textStart("m"), textDelta("m", "abc"), textDelta("m", "def"), textEnd("m")}
		l := limits{event: len(textDelta("m", "abcdef")), held: 1 << 20}
		if _, err := runLimited(t, mode, l, events...); err != nil {
			t.Errorf("mode %s: %v", mode, err)
		}
		l.event--
		if f := limitFinding(t, errOf(runLimited(t, mode, l, events...))); *f.EventIndex != 1 {
			t.Errorf("mode %s: the finding is about event %d", mode, *f.EventIndex)
		}
		// Events that are not made here may be longer.
		long := strings.Replace(custom, "null", `"`+strings.Repeat("x", 1000)+`"`, 1)
		if _, err := runLimited(t, mode, l, long, textStart(strings.Repeat("m", 1000))); err != nil {
			t.Errorf("mode %s: %v", mode, err)
		}
	}
	state := []string{`{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}`, `{"type":"STATE_DELTA","delta":[{"op":"add","path":"/b","value":2}]}`}
	l := limits{event: len(`{"type":"STATE_SNAPSHOT","snapshot":{"a":1,"b":2}}`), held: 1 << 20}
	if _, err := runLimited(t, ModeClient, l, state...); err != nil {
		t.Error(err)
	}
	l.event--
	if f := limitFinding(t, errOf(runLimited(t, ModeClient, l, state...))); *f.EventIndex != 0 {
		t.Errorf("the finding is about event %d", *f.EventIndex)
	}
}

func errOf(_ []string, err error) error { return err }

// As many bytes may wait as the limit, and not one more. Later calls return the same error.
func TestHeldLimit(t *testing.T) {
	delta := `{"type":"STATE_DELTA","delta":[]}`
	for name, c := range map[string]struct {
		mode   Mode
		events []string
		held   int
	}{
		"start":       {ModeStream, []string{textStart("m")}, len(`"m"`) + groupBytes + len(textStart("m"))},
		"deltas":      {ModeStream, []string{textDelta("m", "ab"), textDelta("m", "cd")}, len(`"m"`) + groupBytes + len(textDelta("m", "abcd")) - len(`"}`)},
		"two groups":  {ModeStream, []string{textStart("m"), textStart("n")}, 2 * (len(`"m"`) + groupBytes + len(textStart("m")))},
		"behind":      {ModeStream, []string{textStart("m"), custom}, len(`"m"`) + groupBytes + len(textStart("m")) + len(custom) + eventBytes},
		"started":     {ModeClient, []string{textStart("m"), textStart("m")}, len(`"m"`) + groupBytes + len(textStart("m"))},
		"state delta": {ModeClient, []string{delta, delta}, 2 * (len(delta) + eventBytes)},
		"snapshot":    {ModeClient, []string{delta, `{"type":"STATE_SNAPSHOT","snapshot":"` + strings.Repeat("x", 100) + `"}`}, 102},
		"metadata": {
			ModeClient, []string{`{"type":"STATE_DELTA","metadata":{"ab":"c"}}`, `{"type":"STATE_SNAPSHOT","metadata":{"ab":"de"}}`},
			len(`{"type":"STATE_DELTA","metadata":{"ab":"c"}}`) + eventBytes + len(`"ab""c"`) + 1 + keyBytes,
		},
	} {
		l := limits{event: 1 << 20, held: c.held}
		if _, err := runLimited(t, c.mode, l, c.events...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		l.held--
		if _, err := runLimited(t, c.mode, l, c.events...); err == nil {
			t.Errorf("%s: %d bytes wait, one more than the limit", name, c.held)
			continue
		} else if f := limitFinding(t, err); *f.EventIndex >= len(c.events) {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// What was emitted does not count any more, and an error is final.
func TestHeldIsReleased(t *testing.T) {
	l := limits{event: 1 << 20, held: 2000}
	var events []string
	for i := range 1000 {
		id := fmt.Sprint("m", i)
		events = append(events, textStart(id), custom, textDelta(id, "ab"), custom, textEnd(id), `{"type":"STATE_SNAPSHOT","snapshot":1}`, `{"type":"RUN_ERROR","message":""}`)
	}
	for _, mode := range []Mode{ModeStream, ModeClient} {
		if _, err := runLimited(t, mode, l, events...); err != nil {
			t.Errorf("mode %s: %v", mode, err)
		}
	}
	c := newCompactor(Options{Mode: ModeStream}, func([]byte) error { return nil }, limits{})
	first := c.Event(event(t, textStart("m")))
	if again := c.Event(event(t, custom)); first == nil || again != first {
		t.Errorf("%v, then %v", first, again)
	}
	if end := c.End(); end != first {
		t.Errorf("%v at the end", end)
	}
}

// The error of emit is returned unchanged.
func TestEmitFails(t *testing.T) {
	full := errors.New("full")
	for _, events := range [][]string{
		{custom}, {textStart("m"), textEnd("m")}, {textDelta("m", "a"), textEnd("m")}, {textEnd("m")}, {textStart("m"), custom},
		{`{"type":"STATE_DELTA"}`}, {`{"type":"STATE_SNAPSHOT"}`, `{"type":"RUN_STARTED"}`}, {`{"type":"RUN_STARTED"}`},
	} {
		c := New(Options{Mode: ModeClient}, func([]byte) error { return full })
		for _, text := range events {
			_ = c.Event(event(t, text))
		}
		if err := c.End(); err != full {
			t.Errorf("%v: %v", events, err)
		}
	}
}

// The work of patches is limited over all windows: a short stream cannot copy very much.
func TestPatchesAreLimited(t *testing.T) {
	const copies, windows = 800, 40
	var patch strings.Builder
	for i := range copies {
		fmt.Fprintf(&patch, `{"op":"copy","from":"/s","path":"/%d"},`, i)
	}
	snapshot := event(t, `{"type":"STATE_SNAPSHOT","snapshot":{"s":"`+strings.Repeat("x", 64<<10)+`"}}`)
	delta := event(t, `{"type":"STATE_DELTA","delta":[`+patch.String()+`{"op":"replace","path":"","value":0}]}`)
	end := event(t, `{"type":"RUN_ERROR","message":""}`)
	c := New(Options{Mode: ModeClient}, func([]byte) error { return nil })
	for range windows {
		for _, e := range []*envelope.Event{snapshot, delta, end} {
			if err := c.Event(e); err != nil {
				if f := limitFinding(t, err); f.Pointer != "/delta" {
					t.Errorf("%v", f)
				}
				return
			}
		}
	}
	t.Errorf("%d bytes were copied", windows*copies*64<<10)
}

// The memory of open groups is in proportion to what is counted: no short text keeps the
// memory of a long one.
func TestMemoryIsCounted(t *testing.T) {
	const open = 200
	long := strings.Repeat("x", blockBytes-100)
	for name, events := range map[string]func(id string) []string{
		"delta": func(id string) []string {
			return []string{textStart("long"), textDelta("long", long), textEnd("long"), textDelta(id, "y")}
		},
		"start": func(id string) []string {
			return []string{strings.Replace(textStart(id), "}", `,"name":"`+long+`"}`, 1), textStart(id)}
		},
	} {
		c := New(Options{Mode: ModeStream}, func([]byte) error { return nil })
		for i := range open {
			for _, text := range events(fmt.Sprint("m", i)) {
				if err := c.Event(event(t, text)); err != nil {
					t.Fatal(err)
				}
			}
		}
		g := c.mode.(*grouper)
		used := 0
		for _, group := range g.texts.open {
			used += cap(group.start) + cap(group.content)
		}
		if len(g.texts.open) != open || used > 2*g.held+blockBytes {
			t.Errorf("%s: %d bytes are used, and %d are counted", name, used, g.held)
		}
	}
}
