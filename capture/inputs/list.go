package inputs

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"iter"
	"os"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
)

// The limits of this package.
const (
	// maxEntryBytes limits an entry of a list. Linux accepts no longer path.
	maxEntryBytes = 4096

	// detectBytes is how much of a list is searched for a NUL.
	detectBytes = 64 << 10

	// shownBytes is how much of an entry that is too long a message shows.
	shownBytes = 64
)

// Entry is an entry of a list.
type Entry struct {
	Path string
	// Err is why the entry cannot be used. Path may then be shortened.
	Err error
}

// byteOrderMark begins a list of lines from an editor on Windows.
var byteOrderMark = []byte("\ufeff")

// Entries returns the paths in a list. They are separated by NULs if the first 64 KiB
// contain one, and otherwise by line feeds or CR LF; a byte order mark before the first line
// is omitted. Empty entries are omitted. An error
// of r is the last element.
//
// Err is a finding for an entry longer than 4096 bytes and for "-", which does not mean
// standard input in a list.
func Entries(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		b := bufio.NewReaderSize(r, detectBytes)
		head, err := b.Peek(detectBytes)
		if err != nil && err != io.EOF {
			yield(Entry{}, err)
			return
		}
		separator := byte('\n')
		if bytes.IndexByte(head, 0) >= 0 {
			separator = 0
		} else if bytes.HasPrefix(head, byteOrderMark) {
			_, _ = b.Discard(len(byteOrderMark)) // it was read already
		}
		for number := 1; ; number++ {
			text, err := readEntry(b, separator)
			if err != nil && err != io.EOF {
				yield(Entry{}, err)
				return
			}
			if text != "" && !yield(newEntry(text, number), nil) || err == io.EOF {
				return
			}
		}
	}
}

// readEntry reads an entry without its separator. It returns at most one byte more than
// maxEntryBytes.
func readEntry(b *bufio.Reader, separator byte) (string, error) {
	part, err := b.ReadSlice(separator)
	if err == nil {
		if part = part[:len(part)-1]; separator == '\n' {
			part = bytes.TrimSuffix(part, []byte{'\r'})
		}
	}
	text := string(part[:min(len(part), maxEntryBytes+1)])
	for err == bufio.ErrBufferFull {
		_, err = b.ReadSlice(separator)
	}
	return text, err
}

// newEntry returns the entry with the given number, counted from 1.
func newEntry(text string, number int) Entry {
	switch {
	case len(text) > maxEntryBytes:
		return Entry{text[:shownBytes] + "…", finding.New(finding.IOFailed, "entry %d of the list has more than %d bytes", number, maxEntryBytes).
			WithHint("separate the paths by line feeds or by NULs; decompress a compressed list first")}
	case text == "-":
		return Entry{text, finding.New(finding.IOFailed, "entry %d of the list is -, which means standard input only on the command line", number).
			WithHint("write ./- for a file with this name")}
	}
	return Entry{Path: text}
}

// List returns the captures of a list of paths, which Entries reads. An entry means what
// Paths makes of it, but the error of a directory is returned by the Open of an input. The caller closes r.
func List(r io.Reader) *Source {
	s := &Source{}
	s.all = func(ctx context.Context, yield func(*Input, error) bool) {
		for e, err := range Entries(r) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !s.listed(ctx, e, yield) {
				return
			}
		}
	}
	return s
}

// listed passes the captures of an entry to yield. It returns false at the end of the
// sequence. If the entry has several captures, the total is not known any more.
func (s *Source) listed(ctx context.Context, e Entry, yield func(*Input, error) bool) bool {
	if e.Err != nil {
		return yield(Failed(e.Path, e.Err), nil)
	}
	n := 0
	return each(ctx, e.Path, func(in *Input, err error) bool {
		if n++; n == 2 {
			s.total.Store(0)
		}
		if err != nil && ctx.Err() == nil {
			in, err = Failed(e.Path, err), nil
		}
		return yield(in, err)
	})
}

// OpenList is List for a file, or for standard input if path is "-". It counts the entries
// of a regular file first, for Progress.
func OpenList(ctx context.Context, path string) (*Source, error) {
	r, closeFile, err := capture.OpenInput(ctx, path)
	if err != nil {
		return nil, err
	}
	s := List(r)
	s.close = func() error { closeFile(); return nil }
	if info, err := os.Stat(path); path != "-" && err == nil && info.Mode().IsRegular() {
		s.total.Store(countEntries(ctx, path))
	}
	return s, nil
}

// countEntries returns the number of entries in a list, or 0 if it cannot be read.
func countEntries(ctx context.Context, path string) (n int64) {
	f, err := capture.OpenFile(ctx, path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for _, err := range Entries(f) {
		if err != nil {
			return 0
		}
		n++
	}
	return n
}
