package reduce

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/internal/strictjson"
)

func quoted(body string) envelope.Value {
	return envelope.Value{Kind: envelope.StringValue, Raw: []byte(`"` + body + `"`)}
}

// TestText checks that deltas join to the value of one string with the same JSON text.
func TestText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		deltas := rapid.SliceOf(rapid.SampledFrom([]string{
			"", "a", "é", `\ud83d`, `\ude00`, `\ud83d\ude00`, `\ude00\ud83d`, `\ude00b`, `b\ud83d`, `\n\"\\`, `\u00ed`, "\ud7ff", "\ued00",
		})).Draw(t, "deltas")
		var text, parts Text
		var taken string
		for _, delta := range deltas {
			text.Append(quoted(delta).Raw)
			if delta := quoted(delta).Raw; strings.Contains(string(delta), `\`) {
				parts.Append(delta)
			} else {
				parts.AppendPlain(delta)
			}
			if rapid.Bool().Draw(t, "take") {
				settled := parts.Settled()
				taken += string(settled)
				parts.Discard(len(settled))
			}
			if rapid.Bool().Draw(t, "release") {
				if memory := parts.Release(); memory.Len() != 0 {
					t.Errorf("the memory contains %q", memory.String())
				}
			}
		}
		if taken += string(parts.Bytes()); taken != text.String() {
			t.Errorf("the parts of %q are %q", text.String(), taken)
		}
		want, _ := strictjson.Unquote([]byte(`"` + strings.Join(deltas, "") + `"`))
		if text.String() != want || text.Len() != len(want) {
			t.Errorf("%q join to %q, want %q", deltas, text.String(), want)
		}
	})
}

func TestTextMemory(t *testing.T) {
	text := Text{bytes: make([]byte, 0, 1<<20)}
	delta := quoted(`Hel\u006co, world.\n`)
	if n := testing.AllocsPerRun(100, func() { text.Append(delta.Raw) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRole(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ member, want string }{
		{``, "assistant"},
		{`,"role":null`, "assistant"},
		{`,"role":"user"`, "user"},
		{`,"role":"wizard"`, "wizard"},
		{`,"role":5`, ""},
	} {
		e, err := envelope.ReadEvent([]byte(`{"type":"TEXT_MESSAGE_START"` + test.member + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := Role(e); got != test.want {
			t.Errorf("with %q, the role is %q, want %q", test.member, got, test.want)
		}
	}
}
