// Package tarball reads tar archives from untrusted sources.
package tarball

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/p20export/p20export/finding"
)

// The limits of this package.
const (
	// MaxNameBytes limits the name of a member. Linux accepts no longer path.
	MaxNameBytes = 4096

	// bufferBytes is the size of the buffer for reading an archive.
	bufferBytes = 64 << 10
)

// Member is a member of an archive that is not a directory. Its content can be read until
// the next member is asked for.
type Member struct {
	// Name is valid for fs.FS: a relative path in UTF-8, separated by slashes, without
	// the elements "." and "..". The names of different members differ. If the member
	// is refused, Name is only for messages.
	Name string
	Size int64
	// Refused is the finding archive_member_refused if the member cannot be used.
	Refused error

	a *archive
}

// Read reads the content. If the archive is damaged or cannot be read, the error is the
// one with which Each ends.
func (m *Member) Read(p []byte) (int, error) {
	n, err := m.a.tar.Read(p)
	if err != nil && err != io.EOF {
		err = m.a.wrap(err)
	}
	return n, err
}

// Each returns the members of the tar archive r, which may be compressed with gzip or
// zstd. It omits directories. Links, devices, sparse files, members with an unsafe or
// repeated name, and members of unknown types are refused.
//
// The sequence ends with the finding archive_malformed if r is not an archive, is
// truncated or damaged, or has data after its end, or with an error of r.
// Apart from a few bytes for each name, the memory does not depend on the archive.
func Each(r io.Reader) iter.Seq2[*Member, error] {
	return func(yield func(*Member, error) bool) {
		a := newArchive(r)
		defer a.close()
		for {
			m, err := a.next()
			switch {
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, err)
				return
			case m != nil && !yield(m, nil):
				return
			}
		}
	}
}

// archive is an archive that is being read.
type archive struct {
	stored *source // the bytes of the file
	plain  *source // the bytes of the archive, decompressed
	close  func()  // releases the decompressor
	name   string  // of the compression
	tar    *tar.Reader
	seen   NameSet
	member Member
}

func newArchive(r io.Reader) *archive {
	a := &archive{stored: &source{r: bufio.NewReaderSize(r, bufferBytes)}}
	a.decompress()
	a.tar = tar.NewReader(a.plain)
	return a
}

// next returns the next member, or nil for a directory or a header without a file.
func (a *archive) next() (*Member, error) {
	h, err := a.tar.Next()
	if err == io.EOF {
		return nil, a.finish()
	}
	if err != nil {
		return nil, a.wrap(err)
	}
	if h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader {
		return nil, nil
	}
	a.member = Member{Name: path.Clean(h.Name), Size: h.Size, a: a}
	what := refuseType(h)
	if what == "" {
		what = refuseName(h.Name)
	}
	if what == "" && !a.seen.Add(a.member.Name) {
		what = "has the name of an earlier member"
	}
	if what != "" {
		a.member.Name = shorten(h.Name)
		a.member.Refused = finding.New(finding.ArchiveMemberRefused, "the member %s %s", finding.Quote(a.member.Name), what)
	}
	return &a.member, nil
}

// refuseType returns what is wrong with the type of a member, or "".
func refuseType(h *tar.Header) string {
	switch h.Typeflag {
	case tar.TypeReg:
		for key := range h.PAXRecords {
			if strings.HasPrefix(key, "GNU.sparse.") {
				return "is a sparse file, which is not expanded"
			}
		}
		return ""
	case tar.TypeLink:
		return "is a hard link, which is not followed"
	case tar.TypeSymlink:
		return "is a symbolic link, which is not followed"
	case tar.TypeChar, tar.TypeBlock:
		return "is a device"
	case tar.TypeFifo:
		return "is a named pipe"
	case tar.TypeGNUSparse:
		return "is a sparse file, which is not expanded"
	}
	return "is not a regular file: its type is " + finding.Quote(string(rune(h.Typeflag)))
}

// refuseName returns what is wrong with the name of a member, or "".
func refuseName(name string) string {
	switch {
	case name == "":
		return "has no name"
	case len(name) > MaxNameBytes:
		return "has a name of more than 4096 bytes"
	case !utf8.ValidString(name):
		return "has a name that is not UTF-8"
	case strings.HasPrefix(name, "/"):
		return "has an absolute name"
	case strings.HasSuffix(name, "/"):
		return "is not a directory, but has the name of one"
	case strings.Contains("/"+name+"/", "/../"):
		return "has a name with the element .."
	case !fs.ValidPath(path.Clean(name)) || path.Clean(name) == ".":
		return "has no file name"
	}
	return ""
}

// shorten returns at most the first MaxNameBytes bytes of a name, as valid UTF-8.
func shorten(name string) string {
	if len(name) > MaxNameBytes {
		name = name[:MaxNameBytes] + "…"
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}

// finish checks what follows the last member. It returns io.EOF if nothing is wrong.
func (a *archive) finish() error {
	switch {
	case a.plain.err != nil && a.plain.err != io.EOF:
		return a.wrap(a.plain.err)
	case a.plain.n == 0:
		return a.malformed("the archive is empty")
	case a.plain.zeros < blockBytes:
		return a.malformed("the archive ends before its end mark, so members may be missing")
	}
	buffer := make([]byte, bufferBytes)
	for {
		n, err := a.plain.Read(buffer)
		switch {
		case a.plain.zeros < int64(n):
			return a.malformed("there is data after the end mark of the archive")
		case err != nil && err != io.EOF:
			return a.wrap(err)
		case err == io.EOF:
			return io.EOF
		}
	}
}

// blockBytes is the size of a block of an archive. At least one block of zeros ends it.
const blockBytes = 512

// wrap returns the error to report for an error of the decompressor or of package tar.
func (a *archive) wrap(err error) error {
	switch {
	case a.stored.err != nil && a.stored.err != io.EOF:
		return a.stored.err
	case a.name != "" && a.plain.err != nil && a.plain.err != io.EOF:
		return a.malformed("the archive cannot be decompressed with %s: %s", a.name, reason(a.plain.err))
	case a.plain.n < blockBytes || a.plain.n == blockBytes && errors.Is(err, tar.ErrHeader):
		return a.malformed("the file is not a tar archive")
	}
	return a.malformed("the archive is damaged: %s", reason(err))
}

// malformed returns a finding with the current offset. The offset is that in the
// decompressed archive.
func (a *archive) malformed(format string, args ...any) error {
	return finding.New(finding.ArchiveMalformed, format, args...).WithOffset(a.plain.n)
}

// reason returns the text of an error of a package that reads archives.
func reason(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "it ends too early"
	}
	text := err.Error()
	for _, prefix := range []string{"archive/tar: ", "gzip: ", "zstd: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return finding.Escape(text)
}
