package render

import (
	"os"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
)

// A terminal without control sequences has neither progress nor colours.
func TestDumbTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	t.Setenv("NO_COLOR", "")
	for name, want := range map[string]bool{"xterm": true, "": true, "dumb": false} {
		t.Setenv("TERM", name)
		p := NewProgress(terminal, "reading")
		p.End()
		if got := p.timer != nil; got != want || text.WantsColour(terminal) != want {
			t.Errorf("TERM=%s: progress %v, colours %v", name, got, text.WantsColour(terminal))
		}
	}
}
