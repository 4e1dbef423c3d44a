package tarball

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/finding"
)

// file returns the header of a regular file.
func file(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644} }

// archived returns an archive of members whose content is their name.
func archived(t testing.TB, members ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range members {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(h.Name))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, h.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// outline returns a line for each member: its name and content, or why it is refused,
// and at the end the error.
func outline(r io.Reader) (lines []string) {
	for m, err := range Each(r) {
		if err != nil {
			return append(lines, "error: "+err.Error())
		}
		if m.Refused != nil {
			lines = append(lines, m.Refused.Error())
			continue
		}
		content, err := io.ReadAll(m)
		line := fmt.Sprintf("%s %d: %s", m.Name, m.Size, content)
		if err != nil {
			line += " and " + err.Error()
		}
		lines = append(lines, line)
	}
	return lines
}

func check(t *testing.T, name string, archive []byte, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, outline(bytes.NewReader(archive))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func compressed(t testing.TB, archive []byte) (gz, zst []byte) {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(archive); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), e.EncodeAll(archive, nil)
}

// Regular files are read, in all formats and compressions. Directories are omitted.
func TestEach(t *testing.T) {
	long := strings.Repeat("long/", 60) + "ü"
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatPAX, tar.FormatGNU} {
		members := []tar.Header{
			{Name: "./", Typeflag: tar.TypeDir}, {Name: "../up/", Typeflag: tar.TypeDir},
			file("a"), file("./b//c/./d"), file(strings.Repeat("n", 100)), file("..."), file(`\..\e`),
		}
		want := []string{"a 1: a", "b/c/d 10: ./b//c/./d", strings.Repeat("n", 100) + " 100: " + strings.Repeat("n", 100), "... 3: ...", `\..\e 5: \..\e`}
		if format != tar.FormatUSTAR {
			members = append(members, file(long))
			want = append(want, fmt.Sprintf("%s %d: %[1]s", long, len(long)))
		}
		for i := range members {
			members[i].Format = format
		}
		archive := archived(t, members...)
		gz, zst := compressed(t, archive)
		check(t, format.String(), archive, want...)
		check(t, format.String()+" with gzip", gz, want...)
		check(t, format.String()+" with gzip in two parts", bytes.Join([][]byte{first(compressed(t, archive[:700])), first(compressed(t, archive[700:]))}, nil), want...)
		check(t, format.String()+" with zstd", zst, want...)
		for _, data := range [][]byte{archive, gz, zst} {
			if diff := cmp.Diff(want, outline(iotest.OneByteReader(bytes.NewReader(data)))); diff != "" {
				t.Errorf("%s by single bytes (-want +got):\n%s", format, diff)
			}
		}
	}
	global := tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x", "path": "other"}}
	check(t, "a global header", archived(t, global, file("a")), "a 1: a")
	check(t, "no members", archived(t))
}

func first(a, _ []byte) []byte { return a }

// What is not a regular file under a safe name of its own is refused, and the rest is
// read.
func TestEachRefuses(t *testing.T) {
	long := strings.Repeat("x", MaxNameBytes)
	check(t, "refused", archived(t,
		tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		tar.Header{Name: "hard", Typeflag: tar.TypeLink, Linkname: "a"},
		tar.Header{Name: "zero", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5},
		tar.Header{Name: "disk", Typeflag: tar.TypeBlock},
		tar.Header{Name: "pipe", Typeflag: tar.TypeFifo},
		tar.Header{Name: "label", Typeflag: 'V', Format: tar.FormatGNU},
		file("/etc/passwd"), file("../a"), file("a/../b"), file("a/.."), file(".."), file("."),
		file("\xff"), file(long+"x"),
		file("a"), file("./a"), file("a"), file("a/b"), file("link"), file(long),
	),
		`archive_member_refused: the member "link" is a symbolic link, which is not followed`,
		`archive_member_refused: the member "hard" is a hard link, which is not followed`,
		`archive_member_refused: the member "zero" is a device`,
		`archive_member_refused: the member "disk" is a device`,
		`archive_member_refused: the member "pipe" is a named pipe`,
		`archive_member_refused: the member "label" is not a regular file: its type is "V"`,
		`archive_member_refused: the member "/etc/passwd" has an absolute name`,
		`archive_member_refused: the member "../a" has a name with the element ..`,
		`archive_member_refused: the member "a/../b" has a name with the element ..`,
		`archive_member_refused: the member "a/.." has a name with the element ..`,
		`archive_member_refused: the member ".." has a name with the element ..`,
		`archive_member_refused: the member "." has no file name`,
		`archive_member_refused: the member "�" has a name that is not UTF-8`,
		"archive_member_refused: the member "+finding.Quote(long+"x")+" has a name of more than 4096 bytes",
		"a 1: a",
		`archive_member_refused: the member "./a" has the name of an earlier member`,
		`archive_member_refused: the member "a" has the name of an earlier member`,
		"a/b 3: a/b",
		"link 4: link",
		fmt.Sprintf("%s %d: %[1]s", long, len(long)),
	)
}

// patched returns an archive of one file whose header was changed by patch, with a
// correct checksum.
func patched(t testing.TB, patch func(header []byte)) []byte {
	t.Helper()
	archive := archived(t, file("a"))
	rehash(archive, patch)
	return archive
}

func rehash(archive []byte, patch func(header []byte)) {
	header := archive[:blockBytes]
	patch(header)
	copy(header[148:156], "        ")
	sum := 0
	for _, c := range header {
		sum += int(c)
	}
	copy(header[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

// withRecords returns an archive of one file with PAX records.
func withRecords(t testing.TB, records string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "PaxHeaders/a", Typeflag: tar.TypeReg, Size: int64(len(records))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, records); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	rehash(b.Bytes(), func(h []byte) { h[156] = 'x' })
	return append(b.Bytes(), archived(t, file("a"))...)
}

// Headers that package tar never writes.
func TestEachOddHeaders(t *testing.T) {
	check(t, "a NUL in the name", patched(t, func(h []byte) { copy(h, "a\x00../b") }), "a 1: a")
	check(t, "no name", patched(t, func(h []byte) { h[0] = 0 }), `archive_member_refused: the member "" has no name`)
	check(t, "the name of a directory", patched(t, func(h []byte) { copy(h, "a/") }), `archive_member_refused: the member "a/" is not a directory, but has the name of one`)
	check(t, "the old type", patched(t, func(h []byte) { h[156] = 0 }), "a 1: a")
	check(t, "a contiguous file", patched(t, func(h []byte) { h[156] = '7' }), `archive_member_refused: the member "a" is not a regular file: its type is "7"`)
	check(t, "an unknown type", patched(t, func(h []byte) { h[156] = 0xfe }), `archive_member_refused: the member "a" is not a regular file: its type is "þ"`)
	check(t, "a link with content", patched(t, func(h []byte) { h[156] = '2' }),
		`archive_member_refused: the member "a" is a symbolic link, which is not followed`,
		"error: archive_malformed: the archive is damaged: invalid tar header")
	check(t, "10 GB that are not there", patched(t, func(h []byte) { copy(h[124:136], "112402762000") }),
		"a 10000000000: a"+strings.Repeat("\x00", 3*blockBytes-1)+" and archive_malformed: the archive is damaged: it ends too early",
		"error: archive_malformed: the archive is damaged: it ends too early")
	check(t, "a negative size", patched(t, func(h []byte) { copy(h[124:136], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff") }),
		"error: archive_malformed: the file is not a tar archive")

	for _, records := range []string{
		"22 GNU.sparse.major=9\n", // an unknown version
		"22 GNU.sparse.major=0\n22 GNU.sparse.minor=1\n26 GNU.sparse.numblocks=1\n22 GNU.sparse.map=0,1\n33 GNU.sparse.size=9000000000000\n",
	} {
		check(t, "a sparse file", withRecords(t, records), `archive_member_refused: the member "a" is a sparse file, which is not expanded`)
	}
	check(t, "a path with a NUL", withRecords(t, "13 path=a\x00/b\n"), "error: archive_malformed: the archive is damaged: invalid tar header")
	check(t, "huge records", withRecords(t, "2000013 path="+strings.Repeat("x", 2_000_000-1)+"\n"),
		"error: archive_malformed: the archive is damaged: header field too long")
	check(t, "a long path", withRecords(t, "1000013 path="+strings.Repeat("x", 1_000_000-1)+"\n"),
		"archive_member_refused: the member "+finding.Quote(strings.Repeat("x", MaxNameBytes+1))+" has a name of more than 4096 bytes")
	check(t, "a reserved path", withRecords(t, "22 path=../../etc/crn\n"), `archive_member_refused: the member "../../etc/crn" has a name with the element ..`)
	check(t, "an old sparse file", patched(t, func(h []byte) {
		copy(h[156:], "S")
		copy(h[257:], "ustar  \x00")
		copy(h[386:], "00000000000\x0000000000001\x00")
		copy(h[483:], "77777777777\x00")
	}), `archive_member_refused: the member "a" is a sparse file, which is not expanded`)
}

// A truncated archive, and one with data after its end, is malformed, wherever it is cut.
func TestEachTruncated(t *testing.T) {
	archive := archived(t, file("one"), file("two"), tar.Header{Name: strings.Repeat("long/", 60) + "x", Typeflag: tar.TypeReg, Format: tar.FormatPAX, Size: 1})
	end := len(archive) - 2*blockBytes
	for n := range len(archive) {
		got := outline(bytes.NewReader(archive[:n]))
		last := ""
		if len(got) > 0 {
			last = got[len(got)-1]
		}
		malformed := strings.HasPrefix(last, "error: archive_malformed: ")
		if whole := n == end+blockBytes; malformed == whole {
			t.Errorf("%d of %d bytes: %q", n, len(archive), got)
		}
	}
	check(t, "nothing", nil, "error: archive_malformed: the archive is empty")
	check(t, "no end mark", archive[:blockBytes*2], "one 3: one", "error: archive_malformed: the archive ends before its end mark, so members may be missing")
	check(t, "text", bytes.Repeat([]byte("data: {}\n\n"), 100), "error: archive_malformed: the file is not a tar archive")
	want := outline(bytes.NewReader(archive))
	check(t, "zeros after the end", append(archive[:len(archive):len(archive)], make([]byte, 100_001)...), want...)
	for _, zeros := range []int{0, 511, 100_000} {
		after := append(archive[:len(archive):len(archive)], make([]byte, zeros)...)
		check(t, "another archive after the end", append(after, archive...), append(want, "error: archive_malformed: there is data after the end mark of the archive")...)
	}
	gz, zst := compressed(t, archive)
	for name, data := range map[string][]byte{"gzip": gz, "zstd": zst} {
		for n := 4; n < len(data); n++ {
			got := outline(bytes.NewReader(data[:n]))
			if last := got[len(got)-1]; !strings.HasPrefix(last, "error: archive_malformed: the archive cannot be decompressed with "+name) {
				t.Errorf("%s, %d of %d bytes: %q", name, n, len(data), got)
			}
		}
	}
	gz[len(gz)-5] ^= 1 // in the checksum
	check(t, "gzip with a wrong checksum", gz, append(want, "error: archive_malformed: the archive cannot be decompressed with gzip: invalid checksum")...)
	zst[len(zst)-1] ^= 1
	check(t, "zstd with a wrong checksum", zst, "error: archive_malformed: the archive cannot be decompressed with zstd: CRC check failed")
}

// Errors of the reader are not about the archive.
func TestEachReadError(t *testing.T) {
	cause := errors.New("the cause")
	archive := archived(t, file("one"), file("two"))
	gz, zst := compressed(t, archive)
	for _, data := range [][]byte{archive, gz, zst} {
		for n := range len(data) {
			var last error
			for m, err := range Each(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(cause))) {
				if last = err; err != nil {
					break
				}
				if _, err := io.Copy(io.Discard, m); err != nil && !errors.Is(err, cause) {
					t.Errorf("reading a member of %d bytes: %v", n, err)
				}
			}
			if !errors.Is(last, cause) {
				t.Errorf("%d of %d bytes: %v", n, len(data), last)
			}
		}
	}
}

// endless is an archive of members with random names, without an end mark.
type endless struct {
	block   []byte
	members int
	rest    []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.members--; e.members < 0 {
			return 0, io.EOF
		}
		rehash(e.block, func(h []byte) { copy(h, fmt.Sprintf("%099d", rand.Uint64())) })
		e.rest = e.block
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// A member needs less than 32 bytes of memory.
func TestEachMemory(t *testing.T) {
	const members = 200_000
	var before, after runtime.MemStats
	n := 0
	empty := patched(t, func(h []byte) { copy(h[124:136], "00000000000") })[:blockBytes]
	for m, err := range Each(&endless{block: empty, members: members}) {
		if n == 0 {
			runtime.GC()
			runtime.ReadMemStats(&before)
		}
		if err != nil {
			continue
		}
		if m.Refused != nil {
			t.Fatal(m.Refused)
		}
		if n++; n == members {
			runtime.GC()
			runtime.ReadMemStats(&after)
		}
	}
	if used := int64(after.HeapInuse) - int64(before.HeapInuse); n != members || used > 32*members {
		t.Errorf("%d members need %d bytes", n, used)
	}
}
