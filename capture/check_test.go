package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
)

// Check reads bytes only, so any framing and content coding can be whole.
func TestCheck(t *testing.T) {
	// both calls Check and CheckFS, which must agree.
	both := func(dir string) ([]finding.Finding, error) {
		t.Helper()
		found, err := Check(t.Context(), dir)
		inFS, errFS := CheckFS(t.Context(), os.DirFS(filepath.Dir(dir)), filepath.Base(dir))
		if diff := cmp.Diff(found, inFS); diff != "" || (err == nil) != (errFS == nil) || err != nil && err.Error() != errFS.Error() {
			t.Errorf("Check and CheckFS differ: %v, %v\n%s", err, errFS, diff)
		}
		return found, err
	}
	whole := map[string]func(*Settings){
		"sse":        nil,
		"opaque":     func(s *Settings) { s.Framing = Opaque },
		"br":         func(s *Settings) { s.Source.Headers = map[string]string{"content-encoding": "br"} },
		"bad gzip":   func(s *Settings) { s.Source.Headers = map[string]string{"content-encoding": "gzip"} },
		"no times":   func(s *Settings) { s.Arrivals = false },
		"no request": func(s *Settings) { s.Request = nil },
		"bad array":  func(s *Settings) { s.Framing = JSON },
	}
	for name, change := range whole {
		dir := filepath.Join(t.TempDir(), "c")
		m := write(t, create(t, dir, change), EndEOF, "data: a\n", "x\x00")
		if found, err := both(dir); len(found) != 0 || err != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		for _, f := range m.Files.Names() {
			path := filepath.Join(dir, f)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, changed := range [][]byte{append(bytes.Clone(before), 'x'), append([]byte{'x'}, before[1:]...), before[1:]} {
				if err := os.WriteFile(path, changed, 0o666); err != nil {
					t.Fatal(err)
				}
				_, err := both(dir)
				mustFind(t, err, finding.DigestMismatch)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			_, err = both(dir)
			mustFind(t, err, finding.CaptureFileMissing)
			if err := os.WriteFile(path, before, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}

	dir := filepath.Join(t.TempDir(), "c")
	write(t, create(t, dir, func(s *Settings) { s.Source.Status = new(500) }), EndStorage, "a", "b")
	found, err := both(dir)
	if diff := cmp.Diff([]string{"capture_cut_short warning", "http_status warning"}, codes(found)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, arrivals := range []string{"2\t2000000\n1\t2000000\n", "1\t1000000\n", "1\t1000000\n3\t2000000\n", "1\t1000000\n2\t9000000\n", "1\t999999\n2\t2000000\n"} {
		rewrite(t, dir, ArrivalsName, arrivals, nil)
		found, err := both(dir)
		if diff := cmp.Diff([]string{"capture_cut_short warning", "http_status warning", "arrivals_malformed error"}, codes(found)); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", arrivals, err, diff)
		}
	}
	if err := os.Remove(filepath.Join(dir, ManifestName)); err != nil {
		t.Fatal(err)
	}
	_, err = both(dir)
	mustFind(t, err, finding.CaptureUnfinished)
}
