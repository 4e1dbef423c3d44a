package event_test

import (
	"testing"

	"github.com/p20export/p20export/envelope/event"
)

// FuzzDecode checks the laws on any text. A text that is accepted as a message or as an
// input, strictly or tolerantly, is written so that writing it again changes nothing.
func FuzzDecode(f *testing.F) {
	for _, c := range upgrades {
		f.Add([]byte(c.text))
	}
	for _, what := range event.Types() {
		f.Add([]byte(valid(first{}, what, "", nil)))
	}
	f.Add([]byte(valid(first{}, "RunAgentInput", "", nil)))
	for _, role := range event.Roles() {
		f.Add([]byte(valid(first{}, "message "+role, "", nil)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		laws(t, text)
		if e, err := event.Decode(text, event.Tolerant(nil)); err == nil {
			out := event.Append(nil, new(event.Upgrader).Upgrade(e))
			if _, err := event.Decode(out, event.Tolerant(nil)); err != nil {
				t.Errorf("%s is upgraded to\n%s, which is refused: %v", text, out, err)
			}
		}
		if m, err := event.DecodeMessage(text, event.Tolerant(nil)); err == nil {
			out := event.AppendMessage(nil, m)
			again, err := event.DecodeMessage(out, event.Tolerant(nil))
			if err != nil {
				t.Fatalf("%s is written as\n%s, which is refused: %v", text, out, err)
			}
			if got := event.AppendMessage(nil, again); string(got) != string(out) {
				t.Errorf("%s is written as\n%s, and that as\n%s", text, out, got)
			}
		}
		if in, err := event.DecodeRunInput(text, event.Tolerant(nil)); err == nil {
			out := event.AppendRunInput(nil, in)
			again, err := event.DecodeRunInput(out, event.Tolerant(nil))
			if err != nil {
				t.Fatalf("%s is written as\n%s, which is refused: %v", text, out, err)
			}
			if got := event.AppendRunInput(nil, again); string(got) != string(out) {
				t.Errorf("%s is written as\n%s, and that as\n%s", text, out, got)
			}
		}
		if p, ok := event.ReadPayload(text); ok {
			out := event.AppendPayload(nil, p)
			if _, ok := event.ReadPayload(out); !ok {
				t.Errorf("the payload %s is written as\n%s", text, out)
			}
		}
	})
}
