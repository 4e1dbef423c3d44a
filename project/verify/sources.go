package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/internal/ordered"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// source is a capture directory or a plain file that a record may have been made from.
type source struct {
	in   *folder // a capture directory, or nil
	file *entry  // a plain file, or nil
	// manifest is the digest of capture.json. A plain file has none.
	manifest sum
	// response is the digest of the response according to the manifest.
	response sum
	// bad is the fault of the capture, if one is known.
	bad error
	// encoded means that the response has no events that can be read without decoding
	// it, or none at all.
	encoded bool
	// findings are those of a reading by check.
	findings []finding.Finding
	// inside means that the source is in the directory that is verified.
	inside bool
	// read means that the capture was read to its end.
	read bool
	// used means that a row names the source.
	used bool
}

// path returns the path of the source.
func (s *source) path() string {
	if s.in != nil {
		return s.in.path
	}
	return s.file.path()
}

// open opens the source.
func (s *source) open(ctx context.Context) (*capture.Capture, error) {
	if s.in != nil {
		return s.in.files.open(ctx, s.in.path)
	}
	return s.file.files().open(ctx, s.file.path())
}

// sum identifies a digest. It takes less memory than its text.
type sum [sha256.Size]byte

// sumOf returns the sum of a digest. Texts that are not digests have sums that no bytes
// have.
func sumOf(d digest.Digest) (s sum) {
	if parsed, err := digest.Parse(string(d)); err == nil {
		_, _ = hex.Decode(s[:], []byte(parsed.Hex()))
		return s
	}
	return sha256.Sum256([]byte("not a digest: " + d))
}

// check reads the capture, unless it was already read, and compares its files with its
// manifest.
func (s *source) check(ctx context.Context, progress scan.Progress) error {
	if !s.read && s.bad == nil {
		s.read = true
		s.findings, s.bad = s.readThrough(ctx, progress)
	}
	return s.bad
}

// progressEvery is the number of frames between two calls of a Progress.
const progressEvery = 1024

// readThrough reads the capture to its end without parsing its events. It does not decode
// a response, which can be damaged or in a format that cannot be read, and the capture
// still be intact.
func (s *source) readThrough(ctx context.Context, progress scan.Progress) ([]finding.Finding, error) {
	if s.encoded {
		return s.in.files.check(ctx, s.in.path)
	}
	c, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for n := 1; ; n++ {
		if n%progressEvery == 0 && progress != nil {
			progress(c.Bytes())
		}
		switch _, err := c.Next(); {
		case err == io.EOF:
			if progress != nil {
				progress(c.Bytes())
			}
			return c.Findings(), nil
		case err != nil:
			return nil, err
		}
	}
}

// sources is an index of the captures of several trees by the values that a record
// states. The captures of the verified tree come before the others. Captures of the
// same tree are sorted by path.
type sources struct {
	jobs        int // that read files at the same time
	directories []*source
	byManifest  map[sum][]*source
	bySize      map[int64][]*entry // the regular files

	mu         sync.Mutex           // guards the fields below, but not the groups
	plain      map[int64]*sizeGroup // files by size
	byResponse map[sum]*source      // the first directory of each; nil until it is needed
}

// sizeGroup contains the files of one size. Only one goroutine may use it at a time.
type sizeGroup struct {
	// files are those of candidateFiles. The first read groups of them were read.
	files    [][]*entry
	read     int
	byDigest map[sum][]*source
}

func newSources(jobs int) *sources {
	return &sources{
		jobs:       jobs,
		byManifest: make(map[sum][]*source),
		bySize:     make(map[int64][]*entry),
		plain:      make(map[int64]*sizeGroup),
	}
}

// add adds the captures of a tree.
func (s *sources) add(ctx context.Context, t *tree, inside bool) {
	manifests := func(yield func(*entry) bool) {
		for _, f := range t.folders {
			if m := f.regular(capture.ManifestName); m != nil && !f.removed && !yield(m) {
				return
			}
		}
	}
	for c := range ordered.Map(ctx, s.jobs, iter.Seq[*entry](manifests), func(_ int, m *entry) *source { return newSource(m) }) {
		c.inside = inside
		s.directories = append(s.directories, c)
		s.byManifest[c.manifest] = append(s.byManifest[c.manifest], c)
	}
	for e := range t.all() {
		if !e.isOutput() && !e.in.removed {
			s.addFile(e, inside)
		}
	}
}

// addFile adds a file that may be a plain capture.
func (s *sources) addFile(e *entry, inside bool) {
	if e.regular() {
		s.bySize[e.size] = append(s.bySize[e.size], e)
		e.outside = !inside
	}
}

// newSource reads the manifest m of a capture directory. It marks the files that the
// manifest lists as accounted for. If the manifest cannot be read, newSource marks all
// files that a capture can contain. It changes no other folder than that of m.
func newSource(m *entry) *source {
	f := m.in
	f.isCapture = true
	m.accounted = true
	s := &source{in: f}
	data, err := f.files.read(m.path(), capture.MaxManifestBytes)
	s.manifest = sha256.Sum256(data)
	var manifest *capture.Manifest
	if err == nil {
		manifest, err = capture.DecodeManifest(data)
	}
	if errors.Is(err, record.ErrTooLong) {
		err = finding.New(finding.ManifestMalformed, "%s is longer than %d bytes", capture.ManifestName, capture.MaxManifestBytes)
	}
	if err != nil {
		s.bad = err
		f.markAccounted(captureFiles())
		return s
	}
	s.response = sumOf(manifest.Response().Digest)
	s.encoded = manifest.Framing == capture.Opaque || manifest.Coding() != ""
	listed := listedFiles(manifest)
	for _, name := range listed {
		if err := f.checkListed(name); s.bad == nil {
			s.bad = err
		}
	}
	f.markAccounted(listed)
	if e := f.regular(listed[0]); e != nil {
		e.listed = true
	}
	return s
}

// checkListed returns an error if a file that the manifest lists is missing or is not a
// regular file. It marks a symbolic link as accounted for.
func (f *folder) checkListed(name string) error {
	switch e := f.file(name); {
	case e == nil:
		return finding.New(finding.CaptureFileMissing, "%s, which %s lists, does not exist", name, capture.ManifestName)
	case e.mode&fs.ModeSymlink != 0:
		e.accounted = true
		return finding.New(finding.CaptureFileLink, "%s is %s", name, e.kind())
	case !e.regular():
		return finding.New(finding.CaptureFileMissing, "%s is %s", name, e.kind())
	}
	return nil
}

// captureFiles returns the names of the files that a capture directory can contain in
// addition to its manifest. The names of responses come first.
func captureFiles() []string {
	return []string{
		capture.SSE.FileName(), capture.NDJSON.FileName(), capture.JSON.FileName(), capture.Opaque.FileName(),
		capture.RequestName, capture.ArrivalsName,
	}
}

// listedFiles returns the names of the files that a manifest lists, starting with the
// response.
func listedFiles(m *capture.Manifest) []string {
	names := []string{m.Framing.FileName()}
	if m.Files.Request != nil {
		names = append(names, capture.RequestName)
	}
	if m.Files.Arrivals != nil {
		names = append(names, capture.ArrivalsName)
	}
	return names
}

// markAccounted marks regular files of the folder as accounted for.
func (f *folder) markAccounted(names []string) {
	for _, name := range names {
		if e := f.regular(name); e != nil {
			e.accounted = true
		}
	}
}

// state returns what the folder is in a store. A file that was accounted for does not make
// it an unfinished capture.
func (f *folder) state() capture.State {
	switch {
	case f.removed:
		return capture.Removed
	case f.file(capture.ManifestName) != nil:
		return capture.Closed
	}
	return capture.StateOf(f.path, func(name string) bool {
		e := f.regular(name)
		return e != nil && !e.accounted
	})
}

// withBytes returns the plain files with the given size and digest. It reads the groups
// of candidateFiles until a group has a match. It reads each file only once.
func (s *sources) withBytes(ctx context.Context, size int64, want sum) ([]*source, error) {
	group := s.group(size)
	for i, files := range group.files {
		if i == group.read {
			if err := s.readFiles(ctx, group, files); err != nil {
				return nil, err
			}
			group.read++
		}
		if found := group.byDigest[want]; len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

// readFiles reads the files of a group that have not been read.
func (s *sources) readFiles(ctx context.Context, group *sizeGroup, files []*entry) error {
	type result struct {
		file *entry
		sum  digest.Digest
		err  error
	}
	unread := func(yield func(*entry) bool) {
		for _, e := range files {
			if e.more == nil && (ctx.Err() != nil || !yield(e)) {
				return
			}
		}
	}
	read := func(_ int, e *entry) result {
		sum, err := e.files().digest(ctx, e.path())
		return result{e, sum, err}
	}
	for r := range ordered.Map(ctx, s.jobs, unread, read) {
		if ctx.Err() == nil {
			group.add(r.file, r.sum, r.err)
		}
	}
	return context.Cause(ctx)
}

// group returns the files of a size.
func (s *sources) group(size int64) *sizeGroup {
	s.mu.Lock()
	defer s.mu.Unlock()
	group := s.plain[size]
	if group == nil {
		group = &sizeGroup{files: candidateFiles(s.bySize[size]), byDigest: make(map[sum][]*source)}
		s.plain[size] = group
	}
	return group
}

// add sets the digest of a file and returns the file as a source. If err is not nil, it
// sets the error and returns nil.
func (g *sizeGroup) add(e *entry, d digest.Digest, err error) *source {
	if err != nil {
		e.more = &details{err: err}
		return nil
	}
	e.more = &details{sum: sumOf(d)}
	// A plain file has no manifest that it could differ from.
	one := &source{file: e, inside: !e.outside, read: true}
	g.byDigest[e.more.sum] = append(g.byDigest[e.more.sum], one)
	return one
}

// candidateFiles returns files of one size in groups, in the order in which they are
// tried: files in the directory before files outside of it, and in each of these,
// files that no capture.json lists before listed files.
func candidateFiles(all []*entry) (groups [][]*entry) {
	var by [4][]*entry
	for _, e := range all {
		at := 0
		if e.outside {
			at = 2
		}
		if e.listed {
			at++
		}
		by[at] = append(by[at], e)
	}
	for _, files := range by {
		// A file in a capture directory may be a stray copy.
		slices.SortStableFunc(files, func(a, b *entry) int { return a.rank() - b.rank() })
		if len(files) > 0 {
			groups = append(groups, files)
		}
	}
	return groups
}

// rank returns 1 for a file in a capture directory, and 0 otherwise.
func (e *entry) rank() int {
	if e.in != nil && e.in.isCapture {
		return 1
	}
	return 0
}

// usedCopy returns a used capture with the same bytes as a plain file, or nil.
func (s *sources) usedCopy(e *entry) *source {
	if e.more == nil || e.more.err != nil {
		return nil
	}
	for _, other := range s.group(e.size).byDigest[e.more.sum] {
		if other.used && other.path() != e.path() {
			return other
		}
	}
	return nil
}

// notFound returns the finding that the capture of a record was not found. The argument
// where describes the place that was searched.
func (s *sources) notFound(want record.Source, where string) error {
	what := "file " + where + fmt.Sprintf(" has the size of %d bytes and the digest %s", want.Bytes, formatDigest(want.Digest))
	also := ""
	if want.ManifestDigest != "" {
		what = "capture " + where + " has a capture.json with the digest " + formatDigest(want.ManifestDigest)
		if other := s.withResponse(sumOf(want.Digest)); other != nil && want.Digest != "" {
			also = "; " + finding.Escape(other.path()) + " has the same response, but another capture.json"
		}
	}
	return finding.New(finding.CaptureAbsent, "no %s that the record states%s", what, also).WithHint("%s", captureHint(want))
}

// withResponse returns the first capture directory with a response, or nil.
func (s *sources) withResponse(response sum) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byResponse == nil {
		s.byResponse = make(map[sum]*source)
		for _, c := range s.directories {
			if s.byResponse[c.response] == nil {
				s.byResponse[c.response] = c
			}
		}
	}
	return s.byResponse[response]
}

// captureHint returns the hint for a capture that was not found.
func captureHint(want record.Source) string {
	if want.ManifestDigest == "" {
		return fmt.Sprintf(hint.GiveFile, formatDigest(want.Digest))
	}
	return fmt.Sprintf(hint.GiveCapture, formatDigest(want.ManifestDigest))
}

// formatDigest returns the digest that a record states, quoted if it is invalid.
func formatDigest(d digest.Digest) string {
	if _, err := digest.Parse(string(d)); err != nil {
		return finding.Quote(string(d))
	}
	return string(d)
}
