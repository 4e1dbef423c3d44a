package join_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkPrelude writes the prelude for a conversation of 10 MiB in 10,000 messages of which
// the last is open.
func BenchmarkPrelude(b *testing.B) {
	s := newServer()
	s.take(b, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
	delta := strings.Repeat("some words ", 94)
	for i := range 10_000 {
		s.take(b, fmt.Sprintf(`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m%d","delta":"%s"}`, i, delta))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.run.Prelude(s.reducer); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEvent takes the deltas of a message.
func BenchmarkEvent(b *testing.B) {
	s := newServer()
	s.take(b, `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
	s.take(b, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`)
	e := read(b, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"some words "}`)
	b.ReportAllocs()
	for b.Loop() {
		s.run.Event(e)
	}
}
