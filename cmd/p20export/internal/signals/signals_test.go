package signals

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A signal soon after the first belongs to it. The next one after that is the second.
func TestAwaitSecond(t *testing.T) {
	for _, test := range []struct {
		name   string
		first  bool            // whether the first came before
		grace  time.Duration   // of awaitSecond
		after  []time.Duration // the times of the signals
		second time.Duration   // when it returns
	}{
		{"no grace", false, 0, []time.Duration{1, 1}, 1},
		{"no grace, first before", true, 0, []time.Duration{1}, 1},
		{"together", false, 500, []time.Duration{1000, 1000, 2000}, 2000},
		{"just together", false, 500, []time.Duration{1000, 1499, 5000}, 5000},
		{"just apart", false, 500, []time.Duration{1000, 1500}, 1500},
		{"three together", false, 500, []time.Duration{1, 2, 3, 600}, 600},
		{"together, first before", true, 500, []time.Duration{0, 700}, 700},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, received := time.Now(), make(chan os.Signal)
				go func() {
					for _, at := range test.after {
						time.Sleep(time.Until(start.Add(at * time.Millisecond)))
						received <- syscall.SIGTERM
					}
				}()
				if !awaitSecond(received, nil, test.first, test.grace*time.Millisecond) {
					t.Error("there was no second signal")
				}
				if got := time.Since(start); got != test.second*time.Millisecond {
					t.Errorf("returned after %v, want %v", got, test.second*time.Millisecond)
				}
			})
		})
	}
}

func TestAwaitSecondDone(t *testing.T) {
	done := make(chan struct{})
	close(done)
	if awaitSecond(nil, done, false, time.Second) {
		t.Error("there was no signal")
	}
}
