package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
)

// Who interrupts the reading of the captures gets no answer from what was not
// read, in either format.
func TestGateInterrupted(t *testing.T) {
	for _, f := range []format{formatText, formatJSON} {
		why := errors.New("interrupted by the test")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		var out bytes.Buffer
		p := newPrinter(&out)
		fl := discoverFlags{format: &f}
		_, err := fl.answer(ctx, p, []string{"../../discovery/captures/adk/one-turn"})
		if err := p.close(nil); err != nil {
			t.Fatal(err)
		}
		if out.Len() > 0 || !errors.Is(err, why) {
			t.Errorf("%s: %v, said %s", f, err, out.String())
		}
	}
}
