package storetest

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/p20export/p20export/store"
)

// ReadsSelected tests that a log whose entries are not in the memory of the process reads no data
// that a selection leaves out. No other test may run at the same time, because it counts the bytes
// that the process reads.
func ReadsSelected(t *testing.T, open Opener) {
	const requests, size = 20, 1 << 20
	f := newFixture(t, open)
	k := key("t")
	for i := range requests {
		long := input("s")
		long.Data = noise(size, uint64(i))
		f.append(k, int64(3*i), long, custom("s"), custom("s"))
	}
	read := func(what string, want int, s store.Selection) int64 {
		t.Helper()
		log := f.other() // without a cache
		before := bytesRead(t)
		if got := len(collect(t, log.Select(f.ctx, k, s))); got != want {
			t.Errorf("%s: %d entries, want %d", what, got, want)
		}
		return bytesRead(t) - before
	}
	if n := read("everything", 3*requests, store.Selection{}); n < requests*size {
		t.Errorf("everything: %d bytes were read, want at least %d: they are not counted", n, requests*size)
	}
	for what, s := range map[string]store.Selection{
		"events":             store.Events(0, 3*requests),
		"events of one type": store.Events(0, 3*requests, "CUSTOM"),
	} {
		if n := read(what, 2*requests, s); n > size/2 {
			t.Errorf("%s: %d bytes were read, want at most %d", what, n, size/2)
		}
	}
	if n := read("bare requests", 3*requests, store.Selection{Bare: []store.Kind{store.Input}}); n > size/2 {
		t.Errorf("bare requests: %d bytes were read, want at most %d", n, size/2)
	}
	if n := read("one event", 1, store.At(2)); n > size/2 {
		t.Errorf("one event: %d bytes were read, want at most %d", n, size/2)
	}
	if n := read("one request", 1, store.At(1)); n > 2*size {
		t.Errorf("one request: %d bytes were read, want at most %d", n, 2*size)
	}
}

// bytesRead returns how many bytes the process has read, from files and connections.
func bytesRead(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if number, ok := bytes.CutPrefix(line, []byte("rchar: ")); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("/proc/self/io has no rchar")
	return 0
}
