package capture

import (
	"io"
	"strings"
	"testing"
)

func BenchmarkSplitSSE(b *testing.B) {
	event := `data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"0c1b6a3e-6f0e-4c1c-9e55-5a4a6b1f2d3c","delta":"a few words of an answer"}` + "\n\n"
	for _, c := range []struct{ name, in string }{
		{"LF", strings.Repeat(event, 1<<13)},
		{"CRLF", strings.Repeat(strings.ReplaceAll(event, "\n", "\r\n"), 1<<13)},
		{"CR", strings.Repeat(strings.ReplaceAll(event, "\n", "\r"), 1<<13)},
		{"long", strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n\n", 1<<3)},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkSplit(b, c.in, SSE) })
	}
}

func BenchmarkSplitNDJSON(b *testing.B) {
	benchmarkSplit(b, strings.Repeat(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"a few words of an answer"}`+"\n", 1<<13), NDJSON)
}

func BenchmarkSplitArray(b *testing.B) {
	benchmarkSplit(b, "["+strings.Repeat(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"a few words of an answer"},`, 1<<13)+"1]", JSON)
}

func benchmarkSplit(b *testing.B, in string, f Framing) {
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		s := NewSplitter(strings.NewReader(in), f)
		for {
			if _, err := s.Next(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}
