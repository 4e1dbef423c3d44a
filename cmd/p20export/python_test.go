package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/cmd/p20export/internal/generate/python"
	"github.com/p20export/p20export/schema"
)

// TestPythonCommands compares the typed part of the Python package with the commands.
func TestPythonCommands(t *testing.T) {
	rows, _ := schema.Get(schema.Rows)
	text, err := python.Module(newRoot(nil, io.Discard, io.Discard), rows)
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, filepath.Join("..", "..", python.Path), text)
}
