package capture

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

func coded(t *testing.T, coding, in string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := io.WriteString(w, in); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// writeCoded writes a capture whose response has a content coding.
func writeCoded(t *testing.T, header, stored string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c")
	write(t, create(t, dir, func(s *Settings) { s.Source.Headers = map[string]string{"content-encoding": header} }), EndEOF, stored)
	return dir
}

func TestCoding(t *testing.T) {
	in := strings.Repeat(twoEvents, 1000)
	for header, coding := range map[string]string{"gzip": "gzip", "x-gzip": "gzip", " GZIP ": "gzip", "zstd": "zstd"} {
		stored := coded(t, coding, in)
		c := open(t, writeCoded(t, header, stored), "")
		frames, err := readAll(t, c)
		if err != io.EOF || len(frames) != 2000 {
			t.Fatalf("%s: %d frames, %v", header, len(frames), err)
		}
		last := frames[1999]
		if last.End != int64(len(in)) || string(last.Data) != "b" || !last.Arrived.IsZero() {
			t.Errorf("%s: last frame %+v", header, last)
		}
		if c.Digest() != digest.Of([]byte(stored)) || c.Bytes() != int64(len(stored)) {
			t.Errorf("%s: the digest is not that of the stored bytes", header)
		}
		if diff := cmp.Diff([]string{"arrivals_malformed warning"}, codes(c.Findings())); diff != "" {
			t.Errorf("%s: findings (-want +got):\n%s", header, diff)
		}
	}
	c := open(t, writeCoded(t, "identity", in), "")
	if frames, err := readAll(t, c); err != io.EOF || len(frames) != 2000 || frames[0].Arrived.IsZero() {
		t.Errorf("identity: %d frames, %v", len(frames), err)
	}
}

func TestDecode(t *testing.T) {
	in := strings.Repeat(twoEvents, 100)
	for _, coding := range []string{"", "gzip", "zstd"} {
		stored := in
		if coding != "" {
			stored = coded(t, coding, in)
		}
		r, err := Decode(strings.NewReader(stored), coding)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r); string(b) != in || err != nil {
			t.Errorf("%s: %d bytes, %v", coding, len(b), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := Decode(strings.NewReader("x"), "br")
	mustFind(t, err, finding.CodingUnsupported)
}

func TestCodingUnsupported(t *testing.T) {
	for _, header := range []string{"br", "gzip, zstd", "deflate", "\x1b"} {
		_, err := Open(t.Context(), writeCoded(t, header, "x"), "")
		if f := mustFind(t, err, finding.CodingUnsupported); strings.Contains(f.Message, "\x1b") {
			t.Errorf("message %q", f.Message)
		}
	}
}

func TestCodingDamaged(t *testing.T) {
	in := strings.Repeat(twoEvents, 10000)
	for _, coding := range []string{"gzip", "zstd"} {
		good := coded(t, coding, in)
		for name, stored := range map[string]string{
			"no coding":    twoEvents,
			"cut":          good[:len(good)-5],
			"cut in half":  good[:len(good)/2],
			"cut at once":  good[:1],
			"bytes behind": good + "garbage",
		} {
			c := open(t, writeCoded(t, coding, stored), "")
			_, err := readAll(t, c)
			if f := mustFind(t, err, finding.CodingDamaged); f.Offset == nil || *f.Offset > int64(len(in)) {
				t.Errorf("%s %s: %+v", coding, name, f)
			}
		}
		// An empty file is an empty response. Two members are concatenated.
		if frames, err := readAll(t, open(t, writeCoded(t, coding, ""), "")); err != io.EOF || len(frames) != 0 {
			t.Errorf("%s, empty: %d frames, %v", coding, len(frames), err)
		}
		if frames, err := readAll(t, open(t, writeCoded(t, coding, good+good), "")); err != io.EOF || len(frames) != 40000 {
			t.Errorf("%s, twice: %d frames, %v", coding, len(frames), err)
		}
		// A changed file is reported as changed, even if it cannot be decoded.
		dir := writeCoded(t, coding, good)
		rewrite(t, dir, "response.sse", good[:len(good)-5], func(m *Manifest) { *m.Response() = File{int64(len(good)), digest.Of([]byte(good))} })
		_, err := readAll(t, open(t, dir, ""))
		mustFind(t, err, finding.DigestMismatch)
	}
}
