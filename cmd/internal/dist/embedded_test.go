package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The notices have the licences of the modules of the window.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("../../..", windowModules)
	all, err := readEmbedded(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	var names []string
	for _, m := range all {
		names = append(names, m.purl())
		writeNotice(&text, m.name+" "+m.version, m.ids, []file{m.licence})
	}
	if want := []string{"pkg:npm/htm@3.1.1", "pkg:npm/preact@11.2.0"}; !slices.Equal(names, want) {
		t.Errorf("the modules are %q, want %q", names, want)
	}
	for _, want := range []string{"\nhtm 3.1.1 (Apache-2.0)\n", "\npreact 11.2.0 (MIT)\n", "\nLICENSE\n-------\n", "Permission is hereby granted"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the notices have no %q:\n%s", want, &text)
		}
	}

	other := t.TempDir()
	for name, text := range map[string]string{"package.json": `{"dependencies":{"m":"1.0.0"}}`, "m.LICENSE": "All rights reserved."} {
		if err := os.WriteFile(filepath.Join(other, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := readEmbedded(other); err == nil {
		t.Error("a module without a licence may be distributed")
	}
	if err := os.Remove(filepath.Join(other, "m.LICENSE")); err != nil {
		t.Fatal(err)
	}
	if _, err := readEmbedded(other); err == nil {
		t.Error("a module whose licence is not there may be distributed")
	}
}
