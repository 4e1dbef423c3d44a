package service

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A store is a directory that only its owner can use, and never a link.
func TestOpenStore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "store")
	s, err := OpenStore(path + "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
		t.Errorf("the probe left %v, %v", left, err)
	}
	s.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if s, err = OpenStore(path); err != nil { // a second time
		t.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if s.Probe() == nil {
		t.Error("a store that is gone can be written")
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(); err == nil || !strings.Contains(err.Error(), "restart") {
		t.Errorf("another directory: %v", err)
	}
	s.Close()
	if s, err = OpenStore(path); err != nil {
		t.Fatal(err)
	}
	moved := path + "-moved"
	if err := errors.Join(os.Rename(path, moved), os.Symlink(moved, path)); err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(); err == nil || !strings.Contains(err.Error(), "restart") {
		t.Errorf("a link to the directory: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.Rename(moved, path), s.Probe()); err != nil {
		t.Error(err)
	}
	s.Close()

	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:                          "is not a directory",
		link:                          "is a symbolic link, not a directory",
		link + "/":                    "is a symbolic link, not a directory",
		filepath.Join(file, "beyond"): "not a directory",
	} {
		if _, err := OpenStore(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
