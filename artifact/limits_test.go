package artifact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
)

// full returns an artifact with every key.
func full() *artifact.Artifact {
	a := artifact.New()
	a.ThreadIDRef, a.RunIDRef, a.ParentRunIDRef = "t", "r", "p"
	a.StartedAt, a.FinishedAt = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"
	a.Messages = []artifact.Message{{ID: "m1", Role: "user", Content: "hi", Name: "n"}}
	a.TerminalEvent, a.ErrorCode, a.ErrorMessage = artifact.RunError, "E", "boom"
	return a
}

// limited are the strings with a limit, in code points for each profile.
var limited = []struct {
	pointer   string
	v1, assay int
	set       func(a *artifact.Artifact, s string)
	spaces    string // allowed white space around the string
}{
	{"/thread_id_ref", 256, 96, func(a *artifact.Artifact, s string) { a.ThreadIDRef = s }, ""},
	{"/run_id_ref", 256, 96, func(a *artifact.Artifact, s string) { a.RunIDRef = s }, ""},
	{"/parent_run_id_ref", 256, 96, func(a *artifact.Artifact, s string) { a.ParentRunIDRef = s }, ""},
	{"/messages/0/id", 256, 96, func(a *artifact.Artifact, s string) { a.Messages[0].ID = s }, pythonSpace},
	{"/messages/0/content", 262_144, 400, func(a *artifact.Artifact, s string) { a.Messages[0].Content = s }, pythonSpace},
	{"/messages/0/name", 128, 60, func(a *artifact.Artifact, s string) { a.Messages[0].Name = s }, pythonSpace},
	{"/error_code", 128, 48, func(a *artifact.Artifact, s string) { a.ErrorCode = s }, " \u00a0\u2028\u3000"},
	{"/error_message", 1_024, 200, func(a *artifact.Artifact, s string) { a.ErrorMessage = s }, " \u00a0\u2028\u3000"},
}

// judge checks that a is accepted under p or, if accepted is false, refused only because
// the string at pointer is too long.
func judge(t *testing.T, a *artifact.Artifact, p artifact.Profile, pointer string, accepted bool, what string) {
	t.Helper()
	_, findings := artifact.Decode(artifact.Encode(a), p)
	got, _ := spell(findings)
	want := ""
	if !accepted {
		want = "too_long " + pointer
	}
	if strings.Join(got, ", ") != want {
		t.Errorf("%s: %s under %s: got %v, want %q", pointer, what, p, findings, want)
	}
}

func TestStringLimits(t *testing.T) {
	// Strings of n code points: one, two and four bytes each, astral in pairs of
	// UTF-16 units, combining two to a visible character.
	alphabets := []string{"a", "é", "🙂", "e\u0301", "\u200b", "\ufeff"}
	of := func(alphabet string, n int) string {
		r := []rune(strings.Repeat(alphabet, n))
		return string(r[:n])
	}
	for _, l := range limited {
		for _, alphabet := range alphabets {
			for p, limit := range map[artifact.Profile]int{artifact.V1: l.v1, artifact.Assay: l.assay} {
				a := full()
				for n, ok := range map[int]bool{1: true, limit: true, limit + 1: false} {
					l.set(a, of(alphabet, n))
					judge(t, a, p, l.pointer, ok, fmt.Sprintf("%d of %q", n, alphabet))
				}
			}
		}
	}
}

func TestTrimming(t *testing.T) {
	for _, l := range limited {
		for _, r := range l.spaces {
			a := full()
			l.set(a, string(r)+strings.Repeat("é", l.assay)+string(r))
			judge(t, a, artifact.Assay, l.pointer, true, fmt.Sprintf("%U at the ends of n", r))
			l.set(a, string(r)+strings.Repeat("é", l.assay+1)+string(r))
			judge(t, a, artifact.Assay, l.pointer, false, fmt.Sprintf("%U at the ends of n+1", r))
			l.set(a, "a"+string(r)+strings.Repeat("é", l.assay-1))
			judge(t, a, artifact.Assay, l.pointer, false, fmt.Sprintf("%U inside n+1", r))
		}
		if l.spaces == "" {
			continue
		}
		// v1 counts trimmed white space, and assay does not accept anything that v1 refuses.
		a := full()
		for _, p := range artifact.Profiles() {
			l.set(a, "a"+strings.Repeat("\u3000", l.v1-1))
			judge(t, a, p, l.pointer, true, "n with white space")
			l.set(a, "a"+strings.Repeat("\u3000", l.v1))
			judge(t, a, p, l.pointer, false, "n+1 with white space")
		}
		for _, r := range "\u200b\ufeff\u180e" {
			a := full()
			l.set(a, string(r)+strings.Repeat("é", l.assay))
			judge(t, a, artifact.Assay, l.pointer, false, fmt.Sprintf("%U is not trimmed", r))
		}
	}
}

func TestTrimmedIDsAreCompared(t *testing.T) {
	for _, r := range pythonSpace {
		a := full()
		a.Messages = append(a.Messages, artifact.Message{ID: string(r) + "m1" + string(r), Role: "tool", Content: "x"})
		if _, findings := artifact.Decode(artifact.Encode(a), artifact.V1); !finding.Has(findings, finding.MessageIDRepeated) {
			t.Errorf("%U makes another id: %v", r, findings)
		}
		a.Messages[0].ID, a.Messages[1].ID = a.Messages[1].ID, a.Messages[0].ID
		if _, findings := artifact.Decode(artifact.Encode(a), artifact.V1); !finding.Has(findings, finding.MessageIDRepeated) {
			t.Errorf("without %U it is another id: %v", r, findings)
		}
	}
	for _, id := range []string{"\u200bm1", "m1\ufeff", "M1", "m 1", "ｍ1"} {
		a := full()
		a.Messages = append(a.Messages, artifact.Message{ID: id, Role: "tool", Content: "x"})
		if _, findings := artifact.Decode(artifact.Encode(a), artifact.V1); findings != nil {
			t.Errorf("%q: %v", id, findings)
		}
	}
}

func TestLimitsAreThoseOfTheContract(t *testing.T) {
	for p, want := range map[artifact.Profile]artifact.Limits{
		artifact.V1:    {Ref: 256, MessageID: 256, Name: 128, Content: 262_144, ErrorCode: 128, ErrorMessage: 1_024, Messages: 2_000, FileBytes: 8 << 20},
		artifact.Assay: {Ref: 96, MessageID: 96, Name: 60, Content: 400, ErrorCode: 48, ErrorMessage: 200, Messages: 2_000, FileBytes: 8 << 20},
	} {
		if p.Limits() != want {
			t.Errorf("%s: %+v", p, p.Limits())
		}
	}
}

func TestMessageCount(t *testing.T) {
	for _, p := range artifact.Profiles() {
		a := conversation(2_000)
		if got, findings := artifact.Decode(artifact.Encode(a), p); got == nil {
			t.Errorf("%s: 2,000 messages: %v", p, findings)
		}
		// Messages past the limit are counted but not checked.
		a.Messages = append(a.Messages, a.Messages[0], artifact.Message{Role: "none"})
		_, findings := artifact.Decode(artifact.Encode(a), p)
		if got, _ := spell(findings); len(got) != 1 || got[0] != "messages_too_many /messages" || !strings.Contains(findings[0].Message, "contains 2002 messages; the limit is 2000") {
			t.Errorf("%s: 2,002 messages: %v", p, findings)
		}
	}
}

// The size of the file is bounded, including white space.
func TestFileBytes(t *testing.T) {
	data := []byte(base + strings.Repeat(" ", artifact.MaxFileBytes-len(base)))
	for _, p := range artifact.Profiles() {
		if a, findings := artifact.Decode(data, p); a == nil {
			t.Errorf("%s: 8 MiB: %v", p, findings)
		}
		a, findings := artifact.Decode(append(data, ' '), p)
		if got, _ := spell(findings); a != nil || len(got) != 1 || got[0] != "file_too_large" {
			t.Errorf("%s: 8 MiB and a byte: %v", p, findings)
		}
	}
}
