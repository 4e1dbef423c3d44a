package sequence_test

import (
	"bytes"
	"testing"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/finding"
)

// FuzzChecker checks streams of lines, each an event or unreadable. Events have at most
// one finding of each rule and place.
func FuzzChecker(f *testing.F) {
	for _, v := range vectors(f) {
		if v.File == "several" || v.File == "form" || v.File == "G18" || v.File >= "G30" && v.File < "G5" {
			var stream bytes.Buffer
			for _, text := range v.events() {
				stream.WriteString(text + "\n")
			}
			f.Add(stream.Bytes(), v.Protocols[0] == event.V1)
		}
	}
	f.Add([]byte("x\n{\"type\":\"RUN_FINISHED\"}"), true)
	f.Fuzz(func(t *testing.T, stream []byte, v1 bool) {
		p := event.V0
		if v1 {
			p = event.V1
		}
		c := sequence.New(sequence.Options{Protocol: p})
		for line := range bytes.Lines(stream) {
			e, err := envelope.ReadEvent(bytes.TrimSuffix(line, []byte("\n")))
			if err != nil {
				c.Skip()
				continue
			}
			type place struct{ rule, pointer, message string }
			seen := map[place]bool{}
			for _, f := range c.Event(e) {
				at := place{f.Rule, string(f.Pointer), f.Message}
				if f.Code == "" || f.Rule == "" && f.Code != finding.ProtocolNewer || seen[at] {
					t.Errorf("%s: %+v", line, f)
				}
				seen[at] = true
			}
		}
		c.End()
	})
}
