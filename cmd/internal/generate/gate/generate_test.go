package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocumentsAreFresh(t *testing.T) {
	t.Chdir("../../../..")
	made, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range made {
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), string(want)); diff != "" {
			t.Errorf("%s is out of date: run 'make gate' and look at what changed (-committed +made):\n%s", path, diff)
		}
	}
}
