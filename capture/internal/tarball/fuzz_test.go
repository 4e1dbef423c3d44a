package tarball

import (
	"archive/tar"
	"bytes"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
)

// FuzzEach checks that the names of members are valid and differ, that the sizes of reads
// and the compression make no difference, and that package tar reads the same contents.
func FuzzEach(f *testing.F) {
	long := strings.Repeat("long/", 60) + "x"
	plain := archived(f, file("a"), tar.Header{Name: "d/", Typeflag: tar.TypeDir}, file("d/b"), file("a"), file("../c"),
		tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "a"}, tar.Header{Name: long, Typeflag: tar.TypeDir, Format: tar.FormatGNU})
	gz, zst := compressed(f, plain)
	for _, seed := range [][]byte{
		plain, gz, zst, plain[:1000], append(plain[:len(plain):len(plain)], plain...), nil, []byte("data: {}\n\n"),
		archived(f, tar.Header{Name: long, Typeflag: tar.TypeReg, Format: tar.FormatPAX}),
		withRecords(f, "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n24 GNU.sparse.name=b/c\n33 GNU.sparse.size=9000000000000\n"),
		patched(f, func(h []byte) { copy(h[124:136], "112402762000") }),
		patched(f, func(h []byte) { h[156] = 'S'; copy(h[257:], "ustar  \x00") }),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		for at := 0; at+blockBytes <= len(data); at += blockBytes { // changed headers are read too
			if block := data[at : at+blockBytes]; bytes.HasPrefix(block[257:], []byte("ustar")) {
				rehash(block, func([]byte) {})
			}
		}
		names := make(map[string]bool)
		contents := make(map[string]string)
		for m, err := range Each(bytes.NewReader(data)) {
			if err != nil {
				break
			}
			if m.Refused != nil {
				continue
			}
			if !fs.ValidPath(m.Name) || m.Name == "." || strings.ContainsRune(m.Name, 0) || len(m.Name) > MaxNameBytes || names[m.Name] {
				t.Errorf("the name %q", m.Name)
			}
			names[m.Name] = true
			content, err := io.ReadAll(m)
			if err == nil && int64(len(content)) != m.Size {
				t.Errorf("%s has %d bytes and the size %d", m.Name, len(content), m.Size)
			}
			contents[m.Name] = string(content)
		}
		want := outline(bytes.NewReader(data))
		if diff := cmp.Diff(want, outline(iotest.OneByteReader(bytes.NewReader(data)))); diff != "" {
			t.Errorf("by single bytes (-want +got):\n%s", diff)
		}
		a := newArchive(bytes.NewReader(data))
		defer a.close()
		if a.name != "" {
			return
		}
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.NoCompression)
		_, _ = w.Write(data)
		_ = w.Close()
		if diff := cmp.Diff(want, outline(&packed)); diff != "" {
			t.Errorf("compressed (-want +got):\n%s", diff)
		}
		r := tar.NewReader(bytes.NewReader(data))
		for {
			h, err := r.Next()
			if err != nil {
				break
			}
			content, ok := contents[h.Name]
			if !ok || h.Typeflag != tar.TypeReg {
				continue
			}
			delete(contents, h.Name) // a repeated name is refused
			if same, _ := io.ReadAll(r); string(same) != content {
				t.Errorf("package tar reads %q of %s, not %q", same, h.Name, content)
			}
		}
	})
}
