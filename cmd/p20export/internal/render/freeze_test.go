package render

import (
	"bufio"
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/cmd/p20export/internal/render/rows"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/freeze"
	"github.com/p20export/p20export/project/record"
)

// A row with the texts of files is the row that package json encodes.
func TestFreezeInline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		special := rapid.SampledFrom([]rune("\x00\b\t\n\f\r\x1f\"\\/\x7f\u0085\u200b\u2028\ufeff\U000e0001é🙂"))
		texts := rapid.Ptr(rapid.StringOf(rapid.OneOf(special, rapid.Rune())), true)
		row := freeze.Row{Capture: "a\xff", Verdict: project.Frozen, ArtifactJSON: texts.Draw(t, "artifact"), EnvelopeNDJSON: texts.Draw(t, "envelope"), RecordJSON: texts.Draw(t, "record"), SignatureJSON: texts.Draw(t, "signature")}
		var got, want, text bytes.Buffer
		p := New(&got, JSON, record.Tool{})
		p.Freeze(row)
		if err := p.Close(nil); err != nil {
			t.Fatal(err)
		}
		head, err := encodeRow(&text, row)
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(&want)
		w.WriteString(head)
		_, _ = (&rows.Escaper{W: w}).Write(text.Bytes()[1:])
		w.WriteByte('\n')
		w.Flush()
		if got.String() != want.String() {
			t.Fatalf("got %s, want %s", got.String(), want.String())
		}
	})
}
