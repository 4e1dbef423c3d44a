package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/p20export/p20export/project/record"
)

// JSON rows are never wrapped.
func TestJSONIsNotWrapped(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, JSON, record.Tool{})
	p.json(Version{Version: strings.Repeat("word ", 100)})
	if err := p.Close(nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d lines: %s", n, out.String())
	}
}
