package artifact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
)

// sized returns an artifact within the limits of Assay with exactly n bytes of event
// data.
func sized(t *testing.T, n int) *Artifact {
	t.Helper()
	a := New()
	a.ThreadIDRef, a.RunIDRef, a.StartedAt, a.TerminalEvent = "t", "r", "2026-01-01T00:00:00Z", RunFinished
	for i := range 1_000 {
		a.Messages = append(a.Messages, Message{ID: fmt.Sprintf("m%04d", i), Role: "user", Content: "a"})
	}
	missing := n - eventData(a)
	for i := 0; missing > 0; i++ {
		// A 🙂 is one code point of four bytes.
		content := strings.Repeat("🙂", min(399, missing/4))
		if len(content) < 4*399 {
			content += strings.Repeat("b", missing-len(content))
		}
		a.Messages[i].Content += content
		missing -= len(content)
	}
	if got := eventData(a); got != n {
		t.Fatalf("made %d bytes of event data, want %d", got, n)
	}
	return a
}

func TestEventLine(t *testing.T) {
	for n, ok := range map[int]bool{1_044_480: true, 1_044_481: false} {
		data := Encode(sized(t, n))
		if a, findings := Decode(data, V1); a == nil {
			t.Errorf("v1 with %d bytes: %v", n, findings)
		}
		a, findings := Decode(data, Assay)
		if (a != nil) != ok || finding.Has(findings, finding.EventLineTooLong) == ok || len(findings) > 1 {
			t.Errorf("assay with %d bytes: %v", n, findings)
		}
	}
}

// White space that Assay trims does not count.
func TestEventLineIsTrimmed(t *testing.T) {
	a := sized(t, MaxEventData)
	a.Messages[0].Content = strings.Repeat("\x1c", 1_000) + a.Messages[0].Content + strings.Repeat("\u3000", 1_000)
	if got, findings := Decode(Encode(a), Assay); got == nil {
		t.Error(findings)
	}
}

// eventData is not less than the size of the canonical form with trimmed strings, and
// only slightly more.
func TestEventDataIsABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune(" \t\x1c\u3000a\x00\"\\"))))
		a := New()
		a.ThreadIDRef, a.ParentRunIDRef, a.FinishedAt, a.ErrorMessage = text.Draw(t, "t"), text.Draw(t, "p"), text.Draw(t, "f"), text.Draw(t, "e")
		for range rapid.IntRange(0, 5).Draw(t, "messages") {
			a.Messages = append(a.Messages, Message{ID: text.Draw(t, "id"), Role: "user", Content: text.Draw(t, "content"), Name: text.Draw(t, "name")})
		}
		n := eventData(a)
		for _, s := range []*string{&a.ThreadIDRef, &a.ParentRunIDRef, &a.FinishedAt, &a.ErrorMessage} {
			*s = Trim(*s)
		}
		for i := range a.Messages {
			m := &a.Messages[i]
			m.ID, m.Content, m.Name = Trim(m.ID), Trim(m.Content), Trim(m.Name)
		}
		canonical := jsontext.Value(Encode(a))
		if err := canonical.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		spare := 200 + 20*len(a.Messages) // optional keys
		if n < len(canonical) || n > len(canonical)+spare {
			t.Fatalf("%d bytes are counted as %d:\n%s", len(canonical), n, canonical)
		}
	})
}
