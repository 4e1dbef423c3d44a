package event_test

import (
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope/event"
)

func BenchmarkDecode(b *testing.B) {
	var texts [][]byte
	size := 0
	captured(b, func(_ string, f *capture.Frame) {
		if f.Problem == nil {
			texts = append(texts, append([]byte(nil), f.Data...))
			size += len(f.Data)
		}
	})
	var events []event.Event
	for _, text := range texts {
		if e, err := event.Decode(text, event.Tolerant(nil)); err == nil {
			events = append(events, e)
		}
	}
	for name, options := range map[string][]event.Option{"strict": nil, "tolerant": {event.Tolerant(nil)}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, text := range texts {
					// Some events are refused.
					_, _ = event.Decode(text, options...)
				}
			}
		})
	}
	b.Run("append", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		var out []byte
		for b.Loop() {
			for _, e := range events {
				out = event.Append(out[:0], e)
			}
		}
	})
}
