package compact

import (
	"fmt"
	"testing"

	"github.com/p20export/p20export/envelope"
)

// BenchmarkDeltas measures messages of a thousand short deltas, without reading them.
func BenchmarkDeltas(b *testing.B) {
	for _, mode := range []Mode{ModeStream, ModeClient} {
		b.Run(string(mode), func(b *testing.B) {
			start, end := event(b, textStart("m")), event(b, textEnd("m"))
			delta := event(b, textDelta("m", " token"))
			c := New(Options{Mode: mode}, func([]byte) error { return nil })
			b.SetBytes(int64(len(delta.Data)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				var err error
				switch i % 1000 {
				case 0:
					err = c.Event(start)
				case 999:
					err = c.Event(end)
				default:
					err = c.Event(delta)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBehind measures events that wait behind the first of very many open messages.
func BenchmarkBehind(b *testing.B) {
	for _, open := range []int{1, 100_000} {
		b.Run(fmt.Sprint(open), func(b *testing.B) {
			c := New(Options{Mode: ModeStream}, func([]byte) error { return nil })
			other := event(b, custom)
			var waiting []*envelope.Event
			for i := range open {
				waiting = append(waiting, event(b, textStart(fmt.Sprint("m", i))), event(b, textEnd(fmt.Sprint("m", i))))
			}
			for i := 0; i < len(waiting); i += 2 {
				if err := c.Event(waiting[i]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 2) % len(waiting) {
				for _, e := range []*envelope.Event{other, waiting[i+1], waiting[i]} {
					if err := c.Event(e); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
