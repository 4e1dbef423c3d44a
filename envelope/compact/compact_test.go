package compact

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/judge"
)

// run compacts events and returns the events that were emitted.
func run(t testing.TB, mode Mode, events ...string) []string {
	t.Helper()
	out, err := runLimited(t, mode, defaultLimits, events...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// runLimited is run with the given limits. It returns the first error.
func runLimited(t testing.TB, mode Mode, l limits, events ...string) ([]string, error) {
	t.Helper()
	out := []string{}
	c := newCompactor(Options{Mode: mode}, func(data []byte) error {
		if !json.Valid(data) {
			t.Fatalf("not JSON: %s", data)
		}
		out = append(out, string(data))
		return nil
	}, l)
	for i, text := range events {
		e := event(t, text)
		e.Index = i
		if err := c.Event(e); err != nil {
			return out, err
		}
		for i := range e.Data { // the compactor must not retain it
			e.Data[i] = 'x'
		}
	}
	return out, c.End()
}

// event reads an event.
func event(t testing.TB, text string) *envelope.Event {
	t.Helper()
	e, err := envelope.ReadEvent([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// equal reports whether two lists of events have the same values.
func equal(a, b []string) bool { return slices.EqualFunc(a, b, judge.Equal) }

type testCase struct {
	Name   string
	Input  []json.RawMessage
	Stream []json.RawMessage
	Client []json.RawMessage
}

// texts returns JSON texts as strings.
func texts(list []json.RawMessage) []string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = string(text)
	}
	return out
}

// testCases returns the cases of testdata/cases.json. Their expectations are what
// compactEvents returned: of @ag-ui/client 1.0.0 for ModeClient, and of 0.0.52 for
// ModeStream.
func testCases(t testing.TB) []testCase {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []testCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 30 {
		t.Fatalf("only %d cases", len(cases))
	}
	return cases
}

func TestCases(t *testing.T) {
	for _, c := range testCases(t) {
		for mode, want := range map[Mode][]json.RawMessage{ModeStream: c.Stream, ModeClient: c.Client} {
			if got := run(t, mode, texts(c.Input)...); !equal(got, texts(want)) {
				t.Errorf("%s, mode %s:\n%s\nwant\n%s", c.Name, mode, got, texts(want))
			}
		}
	}
}

// The zero Options are those of ModeStream.
func TestZeroOptions(t *testing.T) {
	for _, c := range testCases(t) {
		if got := run(t, "", texts(c.Input)...); !equal(got, texts(c.Stream)) {
			t.Errorf("%s:\n%s\nwant\n%s", c.Name, got, texts(c.Stream))
		}
	}
}

// Long texts and events wait in several blocks.
func TestBlocks(t *testing.T) {
	for _, size := range []int{10_000, blockBytes - 1, blockBytes, 2 * blockBytes} {
		var events, behind []string
		text := ""
		events = append(events, textStart("m"))
		for i := range 1 + 4*blockBytes/size {
			delta := strings.Repeat(string(rune('a'+i%26)), size)
			text += delta
			other := strings.Replace(custom, "null", `"`+delta+`"`, 1)
			events = append(events, textDelta("m", delta), other)
			behind = append(behind, other)
		}
		want := append([]string{textStart("m"), textDelta("m", text), textEnd("m")}, behind...)
		if got := run(t, ModeClient, append(events, textEnd("m"))...); !slices.Equal(got, want) {
			t.Errorf("deltas of %d bytes: %d events, want %d", size, len(got), len(want))
		}
	}
}
