package capture

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// CheckCreate creates nothing.
func TestCheckCreate(t *testing.T) {
	parent := t.TempDir()
	for _, dir := range []string{parent, filepath.Join(parent, "a", "b")} {
		if err := CheckCreate(dir, Settings{Tool: testTool}); err != nil {
			t.Errorf("error %v", err)
		}
		if left := testkit.Contents(t, parent); len(left) != 0 {
			t.Errorf("%v left", left)
		}
	}
}

func TestCheckCreateRefuses(t *testing.T) {
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(parent, "dangling")
	if err := os.Symlink(filepath.Join(parent, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(parent, "closed")
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{
		"no name": "", "a file": file, "below a file": filepath.Join(file, "c"), "not empty": parent,
		"a link to nothing": dangling, "below a link to nothing": filepath.Join(dangling, "c"),
		"no permission": filepath.Join(closed, "c"), "an empty one without permission": closed,
	} {
		if strings.Contains(name, "permission") && os.Getuid() == 0 {
			continue // root can write everywhere
		}
		if err := CheckCreate(dir, Settings{Tool: testTool}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := CheckCreate(parent, Settings{Tool: testTool}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("not empty: %v", err)
	}
	for name, change := range map[string]func(*Settings){
		"label":   func(s *Settings) { s.Labels = map[string]string{"a": "\xff"} },
		"labels":  func(s *Settings) { s.Labels = map[string]string{"a": strings.Repeat("x", MaxManifestBytes)} },
		"framing": func(s *Settings) { s.Framing = "text" },
		"tool":    func(s *Settings) { s.Tool.Version = "" },
	} {
		s := Settings{Tool: testTool}
		change(&s)
		if err := CheckCreate(filepath.Join(parent, "c"), s); err == nil {
			t.Errorf("bad %s: no error", name)
		}
	}
}

// The manifest of accepted settings can always be encoded at the end, because the
// trial manifest is at least as long.
func TestTrialIsTheLongest(t *testing.T) {
	room := func(n int) Settings {
		return Settings{Source: Source{Kind: KindHTTP}, Framing: NDJSON, StartedAt: testStart, Tool: testTool, Arrivals: true,
			Request: []byte("{}"), Labels: map[string]string{"a": strings.Repeat("x", n)}}
	}
	n := MaxManifestBytes
	for CheckCreate(filepath.Join(t.TempDir(), "c"), room(n)) != nil {
		n -= 64
	}
	if n < MaxManifestBytes-4096 {
		t.Errorf("labels of no more than %d bytes are accepted", n)
	}
	w, err := Create(filepath.Join(t.TempDir(), "c"), room(n))
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, EndCancelled, "1\n")
}

// A status has three digits, as in net/http.
func TestManifestStatus(t *testing.T) {
	for status, good := range map[int]bool{0: true, 42: true, 99: true, 100: true, 599: true, 600: true, 999: true, 1000: false, -1: false} {
		m := exampleManifest()
		m.Source.Status = &status
		b, err := m.Encode()
		if good != (err == nil) {
			t.Errorf("status %d: %v", status, err)
		}
		if !good {
			continue
		}
		if again, err := DecodeManifest(b); err != nil || again.Source.Status == nil || *again.Source.Status != status {
			t.Errorf("status %d: read back %+v, %v", status, again, err)
		}
	}
}
