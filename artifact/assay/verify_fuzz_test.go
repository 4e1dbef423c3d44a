package assay

import (
	"bytes"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/flate"
)

// FuzzVerify verifies a file, or a file that contains a fuzzed archive, which is easier
// to change than compressed bytes. It checks that the verdict does not depend on how the
// reader splits the bytes or on the options.
func FuzzVerify(f *testing.F) {
	for _, m := range mutations() {
		g := newForge()
		g.level = flate.BestSpeed
		m.change(g)
		if data := g.bytes(); len(data) < 4000 {
			f.Add(data, false)
		}
	}
	g := newForge()
	var archive []byte
	g.archive = func(b []byte) []byte { archive = b; return b }
	f.Add(read(f, "reference.tar.gz"), false)
	f.Add(g.bytes(), false)
	f.Add(archive, true)
	f.Fuzz(func(t *testing.T, data []byte, pack bool) {
		if pack {
			data = (&forge{level: flate.BestSpeed}).zip(data)
		}
		want, err := Verify(bytes.NewReader(data), Options{})
		code := codeOf(t, err)
		events := 0
		strict, err := Verify(iotest.OneByteReader(bytes.NewReader(data)), Options{Strict: true, Entry: func(e Entry) error {
			if e.Seq != uint64(events) || !e.Data.IsValid() {
				t.Errorf("entry %d: %+v", events, e)
			}
			events++
			return nil
		}})
		if codeOf(t, err) != code {
			t.Fatalf("refused with %q, and strictly with %v", code, err)
		}
		if code != accepted {
			return
		}
		if events != want.Events || int64(len(data)) != want.BundleBytes {
			t.Errorf("%d entries of %+v", events, want)
		}
		strict.Deviations, strict.UnlistedDeviations = nil, 0
		if diff := cmp.Diff(want, strict); diff != "" {
			t.Errorf("(-want +strict):\n%s", diff)
		}
	})
}
