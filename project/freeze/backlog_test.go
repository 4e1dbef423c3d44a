package freeze

import (
	"testing"
	"testing/synctest"
)

// Above the limit, only the first capture goes on, until it is returned or nothing more is.
func TestBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBacklog(10)
		b.add(1, 10)
		added := make(chan int, 2)
		for _, number := range []int{1, 2} {
			go func() { b.add(number, 10); added <- number }()
		}
		b.add(0, 10)
		if synctest.Wait(); len(added) != 0 {
			t.Errorf("capture %d went on", <-added)
		}
		b.remove(10)
		if synctest.Wait(); len(added) != 1 || <-added != 1 {
			t.Error("not only capture 1 went on")
		}
		b.stop()
		if synctest.Wait(); len(added) != 1 {
			t.Error("capture 2 waits after the end")
		}
	})
}
