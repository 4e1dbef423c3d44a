package atomicfile

import (
	"os"
	"testing"
)

// Programs that share a directory see each other, whatever is locked, until they end.
func TestShare(t *testing.T) {
	dir := t.TempDir()
	open := func(want bool) *os.File {
		t.Helper()
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if others, err := Share(f); err != nil || others != want {
			t.Errorf("%v, %v; want %v", others, err, want)
		}
		return f
	}
	locked, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer locked.Close()
	if ok, err := TryLock(locked); !ok || err != nil {
		t.Fatal(err)
	}
	first := open(false)
	second := open(true)
	other, err := os.Open(dir) // closing another descriptor of the directory ends nothing
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	third := open(true)
	first.Close()
	third.Close()
	open(true).Close()
	second.Close()
	open(false)
	locked.Close()
	if again, err := os.Open(dir); err != nil {
		t.Fatal(err)
	} else if ok, err := TryLock(again); !ok || err != nil {
		t.Errorf("the directory cannot be locked: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
