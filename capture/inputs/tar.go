package inputs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"os"
	slashpath "path"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/internal/tarball"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/humanize"
)

// The limits of the capture directories that wait for their other files, and so of the
// memory for them. In the archives that tar makes of directories, only one waits.
const (
	maxWaiting      = 100_000
	maxWaitingNames = 16 << 20 // bytes of their names
)

// Tar returns the captures of a tar archive, which may be compressed with gzip or zstd.
// The members with the names of the files of a capture, for example a/capture.json and
// a/response.sse, are the capture directory a. Every other member is a plain capture.
// Members may have any order. A capture is returned when its last file has been read;
// incomplete captures are returned at the end.
//
// The Open of a member that is not safe to read, for example of a link, returns the
// finding archive_member_refused. All ends with the finding archive_malformed if the
// archive cannot be read to its end, or with archive_limit. The caller closes r.
//
// Small members are kept in memory, larger ones in a temporary file without a name.
func Tar(r io.Reader) *Source { return newTar(r, defaultLimits()) }

func newTar(r io.Reader, limits storeLimits) *Source {
	kept := newStore(limits)
	s := &Source{bytes: true, close: kept.close}
	s.all = func(ctx context.Context, yield func(*Input, error) bool) {
		t := &tarReader{ctx: ctx, store: kept, yield: yield, waiting: make(map[string]*waiting)}
		err := t.read(countReader{r, s})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
	return s
}

// OpenTar is Tar for a file, or for standard input if path is "-".
func OpenTar(ctx context.Context, path string) (*Source, error) {
	r, closeFile, err := capture.OpenInput(ctx, path)
	if err != nil {
		return nil, err
	}
	s := Tar(r)
	if info, err := os.Stat(path); path != "-" && err == nil && info.Mode().IsRegular() {
		s.total.Store(info.Size())
	}
	removeFile := s.close
	s.close = func() error {
		closeFile()
		return removeFile()
	}
	return s, nil
}

// Member is a member of an archive that is not a directory.
type Member = tarball.Member

// Members returns all members of the tar archive r except directories, and does not look
// for captures. The archive may be compressed with gzip or zstd.
//
// A member that is not safe to read has the finding archive_member_refused in Refused. The
// last element is the finding archive_malformed if the archive cannot be read to its end.
func Members(r io.Reader) iter.Seq2[*Member, error] { return tarball.Each(r) }

// countReader counts what is read for Progress.
type countReader struct {
	r io.Reader
	s *Source
}

func (c countReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.s.done.Add(int64(n))
	return n, err
}

// tarReader is one reading of an archive.
type tarReader struct {
	ctx     context.Context
	store   *store
	yield   func(*Input, error) bool
	waiting map[string]*waiting // by directory
	names   int                 // bytes of the names of waiting
	count   int32               // of the directories that have waited
	passed  tarball.NameSet     // the directories with a manifest that were passed on
}

// waiting is a capture directory some of whose files have not been read. An archive can
// have many of them, so they are small.
type waiting struct {
	number int32  // in the order of the first files
	listed uint16 // the files that the manifest lists, as a bit for each fileName; 0 before the manifest
	parts  []part
}

// has reports whether a file was read.
func (w *waiting) has(file fileName) bool {
	return slices.ContainsFunc(w.parts, func(p part) bool { return p.file == file })
}

// isComplete reports whether all files that the manifest lists were read.
func (w *waiting) isComplete() bool {
	for file := range fileName(len(capture.FileNames())) {
		if w.listed&(1<<file) != 0 && !w.has(file) {
			return false
		}
	}
	return w.listed != 0
}

// errStopped means that the consumer stopped.
var errStopped = errors.New("stopped")

// read passes on the captures of the archive.
func (t *tarReader) read(r io.Reader) error {
	for m, err := range tarball.Each(r) {
		if err == nil {
			err = context.Cause(t.ctx)
		}
		if err == nil {
			err = t.member(m)
		}
		if err != nil {
			return t.explain(err)
		}
	}
	return t.finish()
}

// explain adds the captures that wait to the finding about a malformed archive.
func (t *tarReader) explain(err error) error {
	f, ok := errors.AsType[finding.Finding](err)
	if ok && f.Code == finding.ArchiveMalformed && len(t.waiting) > 0 {
		f.Message += "; the captures that were not complete before this: " + humanize.Grouped(int64(len(t.waiting)))
		return f
	}
	return err
}

// member reads the next member.
func (t *tarReader) member(m *Member) error {
	if err := m.Refused; err != nil {
		return t.fail(m.Name, err)
	}
	dir, file := slashpath.Dir(m.Name), newFileName(slashpath.Base(m.Name))
	if file != plainFile && t.passed.Has(dir) {
		return nil // the manifest does not list the file, so it is ignored as on disk
	}
	if m.Size > t.store.limits.temporary {
		return t.fail(m.Name, finding.New(finding.ArchiveLimit, "the member %s has %s, which is more than %s",
			finding.Quote(m.Name), humanize.Bytes(m.Size), humanize.Bytes(t.store.limits.temporary)))
	}
	if err := t.store.wait(t.ctx); err != nil {
		return err
	}
	size := m.Size
	if file == newFileName(capture.ManifestName) {
		size = min(size, capture.MaxManifestBytes+1) // enough to be refused
	}
	c, err := t.store.add(m, size)
	if err != nil {
		return err
	}
	if file == plainFile {
		return t.pass(m.Name, []part{{file, c}})
	}
	return t.add(dir, part{file, c})
}

// add adds a file to a capture directory. It passes on the directory if it is complete.
func (t *tarReader) add(dir string, p part) error {
	w := t.waiting[dir]
	if w == nil {
		t.names += len(dir)
		switch {
		case len(t.waiting) == maxWaiting:
			return finding.New(finding.ArchiveLimit, "more than %s captures wait for their other files", humanize.Grouped(maxWaiting))
		case t.names > maxWaitingNames:
			return finding.New(finding.ArchiveLimit, "the names of the captures that wait for their other files are longer than %s", humanize.Bytes(maxWaitingNames))
		}
		w = &waiting{number: t.count}
		t.waiting[strings.Clone(dir)] = w // not the name of the member, which is longer
		t.count++
	}
	w.parts = append(w.parts, p)
	if p.file == newFileName(capture.ManifestName) {
		text, err := io.ReadAll(t.store.newReader(p.content))
		if err != nil {
			return err
		}
		m, err := capture.DecodeManifest(text)
		if err != nil {
			return t.passDir(dir, w) // Open returns the error
		}
		for _, name := range m.Files.Names() {
			w.listed |= 1 << newFileName(name)
		}
	}
	if w.isComplete() {
		return t.passDir(dir, w)
	}
	return nil
}

// passDir passes on a capture directory with a manifest.
func (t *tarReader) passDir(dir string, w *waiting) error {
	delete(t.waiting, dir)
	t.names -= len(dir)
	t.passed.Add(dir)
	return t.pass(dir, w.parts)
}

// finish passes on the capture directories that are not complete at the end of the
// archive. A request that belongs to no capture directory is a plain file.
func (t *tarReader) finish() error {
	dirs := slices.SortedFunc(maps.Keys(t.waiting), func(a, b string) int {
		return cmp.Compare(t.waiting[a].number, t.waiting[b].number)
	})
	for _, dir := range dirs {
		w := t.waiting[dir]
		err := error(nil)
		if request := newFileName(capture.RequestName); len(w.parts) == 1 && w.parts[0].file == request {
			w.parts[0].file = plainFile
			err = t.pass(slashpath.Join(dir, capture.RequestName), w.parts)
		} else {
			err = t.pass(dir, w.parts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pass passes on a capture.
func (t *tarReader) pass(path string, parts []part) error {
	m := &member{path, t.store, parts}
	return t.send(m.newInput())
}

// fail passes on a member that cannot be opened.
func (t *tarReader) fail(name string, err error) error {
	return t.send(&Input{Path: name, Name: capture.TrimExtension(slashpath.Base(name)), RelDir: slashpath.Dir(name), err: err})
}

func (t *tarReader) send(in *Input) error {
	if !t.yield(in, nil) {
		return errStopped
	}
	return nil
}
