package monitor

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// A writer that blocks does not stop those who log. What was logged before and after is
// written in order when it goes on.
func TestBuffer(t *testing.T) {
	r, w := io.Pipe()
	b := NewBuffer(w)
	const lines = bufferLines + 100
	for i := range lines {
		if n, err := fmt.Fprintf(b, "%d\n", i); err != nil || n == 0 {
			t.Fatal(n, err)
		}
	}
	dropped := int(b.Dropped())
	if dropped < 99 || dropped > 100 { // one may be with the writer
		t.Errorf("%d of %d lines were dropped", dropped, lines)
	}
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(r)
		read <- string(text)
	}()
	b.Close()
	w.Close()
	got := strings.Split(strings.TrimSpace(<-read), "\n")
	if len(got) != lines-dropped || got[0] != "0" || got[len(got)-1] != fmt.Sprint(lines-dropped-1) {
		t.Errorf("%d lines from %s to %s, want %d", len(got), got[0], got[len(got)-1], lines-dropped)
	}
}

// Close returns although the writer blocks.
func TestBufferBlocked(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	b := NewBuffer(w)
	io.WriteString(b, "nobody reads this\n")
	b.Close()
}
