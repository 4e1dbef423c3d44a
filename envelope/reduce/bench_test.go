package reduce

import (
	"fmt"
	"testing"

	"github.com/p20export/p20export/envelope"
)

// BenchmarkDelta appends deltas to one message.
func BenchmarkDelta(b *testing.B) {
	r := New(Options{})
	apply(b, r, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`)
	e, err := envelope.ReadEvent([]byte(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Some words. "}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%1_000_000 == 0 {
			r.conversation.replaceAll(nil)
			apply(b, r, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`)
		}
		r.Event(e)
	}
}

// BenchmarkResult adds tool calls and, in another order, their results.
func BenchmarkResult(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var list []*envelope.Event
			for i := range 2 * n {
				text := fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"t%d","toolCallName":"f"}`, i)
				if i >= n {
					text = fmt.Sprintf(`{"type":"TOOL_CALL_RESULT","messageId":"r%d","toolCallId":"t%d","content":"x"}`, i, i*7919%n)
				}
				e, err := envelope.ReadEvent([]byte(text))
				if err != nil {
					b.Fatal(err)
				}
				list = append(list, e)
			}
			for b.Loop() {
				r := New(Options{})
				for _, e := range list {
					r.Event(e)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*n), "ns/event")
		})
	}
}
