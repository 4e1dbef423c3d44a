package index

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/store"
)

// FuzzEvent checks that the index reads of an event what package envelope and encoding/json
// read, also after it has read other events.
func FuzzEvent(f *testing.F) {
	for _, text := range []string{
		``, `{}`, `{"type":"CUSTOM"}`, `{"type":"RUN_STARTED","runId":"r","parentRunId":"\ud83d\ude00"}`, `{"type":"\ud800"}`,
		`{"type":"RUN_FINISHED","outcome":{"type":"interrupt"}}`, `{"type":"RUN_FINISHED","outcome":"interrupt"}`, `{"type":"a\u0000"}`,
	} {
		f.Add([]byte(text), []byte(`{"type":"RUN_STARTED","runId":"q"}`))
	}
	readable := func(text string) string {
		if len(text) > store.MaxIDBytes || strings.Contains(text, "\x00") || !utf8.ValidString(text) {
			return ""
		}
		return text
	}
	f.Fuzz(func(t *testing.T, data, before []byte) {
		entries := []store.Entry{
			entry("s", string(before)), entry("s", string(before)), entry("s", string(data)),
			{Stream: "s", Kind: store.Input, Data: data},
		}
		b, err := New(entries)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Place(Thread{}, make([]Stream, 1)); err != nil {
			t.Fatal(err)
		}
		var want event
		if e, err := envelope.ReadEvent(data); err == nil {
			want.name = readable(e.Type)
			switch want.name {
			case "RUN_STARTED":
				want.run, want.parent = readable(e.Object.Text("runId")), readable(e.Object.Text("parentRunId"))
			case "RUN_FINISHED":
				want.end = endOf(t, data)
			}
			if parent := readable(e.Object.Text("parentRunId")); b.Streams[0].InputParent != parent {
				t.Errorf("the parent of the input is %q, want %q", b.Streams[0].InputParent, parent)
			}
		}
		if got := b.events[2]; got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if (b.Rows[2].Run == 3) != (want.name == "RUN_STARTED") {
			t.Errorf("the event belongs to the run at %d, and its type is %q", b.Rows[2].Run, want.name)
		}
	})
}

// endOf returns the end that encoding/json finds in the outcome of a RUN_FINISHED.
func endOf(t *testing.T, data []byte) store.RunEnd {
	var members, outcome map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	text := members["outcome"]
	if json.Unmarshal(text, &outcome) == nil && outcome["type"] != nil {
		text = outcome["type"]
	}
	var name string
	_ = json.Unmarshal(text, &name)
	switch name {
	case "interrupt":
		return store.Interrupted
	case "cancelled":
		return store.Cancelled
	}
	return store.Finished
}
