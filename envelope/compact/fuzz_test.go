package compact

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// FuzzCompact compacts lines that are events and ignores all others. Whatever they are,
// only events come out, no more than went in; those that are not merged are unchanged, and
// no text is lost; and nothing waits at the end.
func FuzzCompact(f *testing.F) {
	for _, c := range testCases(f) {
		for _, client := range []bool{false, true} {
			f.Add(client, bytes.Join(bytesOf(c.Input), []byte("\n")))
		}
	}
	capture, err := os.ReadFile("../../discovery/captures/adk/backend-tool/response.sse")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(true, bytes.ReplaceAll(capture, []byte("data: "), nil))
	f.Fuzz(func(t *testing.T, client bool, lines []byte) {
		mode := ModeStream
		if client {
			mode = ModeClient
		}
		var in, out []*envelope.Event
		for line := range bytes.Lines(lines) {
			if e, err := envelope.ReadEvent(bytes.Clone(line)); err == nil {
				in = append(in, e)
			}
		}
		limits := limits{event: 1 << 20, held: 1 << 16}
		c := newCompactor(Options{Mode: mode}, func(data []byte) error {
			e, err := envelope.ReadEvent(bytes.Clone(data))
			if err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			out = append(out, e)
			return nil
		}, limits)
		for _, e := range in {
			if err := c.Event(e); err != nil {
				limitFinding(t, err)
				return
			}
		}
		if err := c.End(); err != nil {
			limitFinding(t, err)
			return
		}
		if g := c.mode.(*grouper); g.held != 0 {
			t.Errorf("%d bytes wait at the end", g.held)
		}
		if len(out) > len(in) {
			t.Errorf("%d events became %d", len(in), len(out))
		}
		if a, b := unmerged(mode, in), unmerged(mode, out); !slices.Equal(a, b) {
			t.Errorf("the events\n%s\nbecame\n%s", a, b)
		}
		if a, b := joined(in), joined(out); a != b {
			t.Errorf("%d bytes of deltas became %d", a, b)
		}
	})
}

func bytesOf(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, text := range list {
		out[i] = text
	}
	return out
}

// unmerged returns the texts of the events that mode does not merge, sorted.
func unmerged(mode Mode, events []*envelope.Event) (list []string) {
	for _, e := range events {
		switch e.Type {
		case eventnames.TextMessageStart, eventnames.TextMessageContent, eventnames.ToolCallStart, eventnames.ToolCallArgs:
		case eventnames.StateSnapshot, eventnames.StateDelta:
			if mode == ModeStream {
				list = append(list, string(e.Data))
			}
		default:
			list = append(list, string(e.Data))
		}
	}
	slices.Sort(list)
	return list
}

// joined returns the number of bytes of all deltas that are strings.
func joined(events []*envelope.Event) (n int) {
	for _, e := range events {
		if v, ok := e.Get("delta"); ok && (e.Type == eventnames.TextMessageContent || e.Type == eventnames.ToolCallArgs) {
			if v.Kind != strictjson.String {
				v.Raw = append(appendDelta([]byte{'"'}, v), '"')
			}
			n += len(v.Raw) - len(`""`)
		}
	}
	return n
}
