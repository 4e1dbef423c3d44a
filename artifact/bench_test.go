package artifact_test

import (
	"strconv"
	"testing"

	"github.com/p20export/p20export/artifact"
)

// conversation returns a valid artifact with n messages of typical length.
func conversation(n int) *artifact.Artifact {
	a := artifact.New()
	a.ThreadIDRef, a.RunIDRef = "thread-7f3a", "run-0001"
	a.StartedAt, a.FinishedAt = "2026-11-21T06:28:50.865123Z", "2026-11-21T06:28:52Z"
	a.TerminalEvent = artifact.RunFinished
	texts := []string{
		"Can you check where my refund is?",
		"I can help with that. It was \"approved\" on Monday,\nand should settle in 3 to 5 business days.",
		"größer als je zuvor — 東京 🙂",
	}
	for i := range n {
		a.Messages = append(a.Messages, artifact.Message{ID: "3b0c1f0e-5c1e-4f6e-" + strconv.Itoa(i), Role: artifact.Roles()[i%5], Content: texts[i%3]})
	}
	return a
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{10, 1_000} {
		data := artifact.Encode(conversation(n))
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if a, findings := artifact.Decode(data, artifact.V1); a == nil {
					b.Fatal(findings)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	a := conversation(1_000)
	b.SetBytes(int64(len(artifact.Encode(a))))
	b.ReportAllocs()
	for b.Loop() {
		artifact.Encode(a)
	}
}
