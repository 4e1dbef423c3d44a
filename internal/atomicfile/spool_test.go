package atomicfile_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/p20export/p20export/internal/atomicfile"
)

// Pieces can be read in any order, and no file is left behind.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	s, err := atomicfile.NewSpool(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pieces := [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("x"), 100_000), []byte("four")}
	for i, p := range pieces {
		if n, err := s.Add(p); err != nil || n != i {
			t.Fatalf("piece %d is number %d: %v", i, n, err)
		}
	}
	for i := len(pieces) - 1; i >= 0; i-- {
		if got, err := s.Read(i); err != nil || !bytes.Equal(got, pieces[i]) {
			t.Errorf("piece %d: %d bytes, %v", i, len(got), err)
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("the directory contains %v (%v)", list, err)
	}
	if _, err := atomicfile.NewSpool(dir + "/none"); err == nil || !os.IsNotExist(err) {
		t.Errorf("a spool in no directory: %v", err)
	}
}
