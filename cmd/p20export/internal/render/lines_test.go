package render

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
)

// The line of an offset is one more than the line feeds before it.
func TestOnLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	rapid.Check(t, func(t *rapid.T) {
		text := bytes.Repeat([]byte(rapid.StringOfN(rapid.RuneFrom([]rune("ab\n")), 1, 40, -1).Draw(t, "text")), rapid.SampledFrom([]int{1, 3_000}).Draw(t, "times"))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var list []finding.Finding
		for _, offset := range rapid.SliceOf(rapid.Int64Range(0, int64(len(text)-1))).Draw(t, "offsets") {
			list = append(list, finding.New(finding.NoRun, "x").WithOffset(offset))
		}
		list = append(list, finding.New(finding.NoRun, "x"))
		for i, f := range onLines(path, list) {
			want := 0
			if list[i].Offset != nil {
				want = 1 + bytes.Count(text[:*list[i].Offset], []byte{'\n'})
			}
			if f.Line != want {
				t.Fatalf("offset %v is on line %d, want %d", f.Offset, f.Line, want)
			}
		}
	})
	list := []finding.Finding{finding.New(finding.NoRun, "x").WithOffset(1)}
	if got := onLines(filepath.Join(t.TempDir(), "nowhere"), list); got[0].Line != 0 {
		t.Errorf("%+v", got)
	}
}
