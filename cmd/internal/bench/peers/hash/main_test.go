package main

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
)

func TestHash(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("0123456789"), 20_000)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := hash(path, make([]byte, 1000))
	if err != nil || got != sha256.Sum256(text) {
		t.Errorf("the digest is %x, %v", got, err)
	}
	if _, err := hash(path+".missing", nil); err == nil {
		t.Error("a missing file has a digest")
	}
}
