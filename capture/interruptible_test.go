package capture

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
)

// Read returns when the context is done, while the reader waits for bytes.
func TestInterruptible(t *testing.T) {
	synctest.Test(t, testInterruptible)
}

func testInterruptible(t *testing.T) {
	stopped := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	in, out := io.Pipe()
	defer out.Close()
	go io.WriteString(out, "abc")
	r := Interruptible(ctx, in)
	got := make([]byte, 4)
	if n, err := io.ReadFull(r, got[:3]); err != nil || string(got[:n]) != "abc" {
		t.Fatalf("read %q, %v", got[:n], err)
	}
	go func() {
		synctest.Wait() // until the read waits
		cancel(stopped)
	}()
	for range 2 {
		if n, err := r.Read(got); n != 0 || !errors.Is(err, stopped) {
			t.Errorf("read %q, %v; want the context's cause", got[:n], err)
		}
	}
}
