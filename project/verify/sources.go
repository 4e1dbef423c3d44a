package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/hint"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
)

// source is a capture directory or a plain file that a record may have been made from.
type source struct {
	path string
	file *entry // of a plain file
	// inside means that the source is in the directory that is verified.
	inside bool
	// manifest is the digest of capture.json. A plain file has none.
	manifest digest.Digest
	// response is the digest of the response according to the manifest.
	response digest.Digest
	// bad is the fault of the capture, if one is known.
	bad error
	// read means that the capture was read to its end. findings are those of the
	// reading.
	read     bool
	findings []finding.Finding
	// used means that a row names the source.
	used bool
}

// check reads the capture, unless it was already read, and compares its files with its
// manifest.
func (s *source) check(ctx context.Context, progress scan.Progress) error {
	if !s.read && s.bad == nil {
		s.read = true
		s.findings, s.bad = readThrough(ctx, s.path, progress)
	}
	return s.bad
}

// progressEvery is the number of frames between two calls of a Progress.
const progressEvery = 1024

// readThrough reads a capture to its end without parsing its events.
func readThrough(ctx context.Context, path string, progress scan.Progress) ([]finding.Finding, error) {
	c, err := capture.Open(ctx, path, "")
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
	directories []*source
	byManifest  map[digest.Digest][]*source
	byResponse  map[digest.Digest]*source // the first of each
	bySize      map[int64][]*entry        // the regular files
	plain       map[int64]map[digest.Digest][]*source
	outside     map[*entry]bool
}

func newSources() *sources {
	return &sources{
		byManifest: make(map[digest.Digest][]*source),
		byResponse: make(map[digest.Digest]*source),
		bySize:     make(map[int64][]*entry),
		plain:      make(map[int64]map[digest.Digest][]*source),
		outside:    make(map[*entry]bool),
	}
}

// add adds the captures of a tree.
func (s *sources) add(t *tree, inside bool) {
	for _, f := range t.folders {
		if m := f.regular(capture.ManifestName); m != nil {
			c := newSource(f, m)
			c.inside = inside
			s.directories = append(s.directories, c)
			s.byManifest[c.manifest] = append(s.byManifest[c.manifest], c)
			if s.byResponse[c.response] == nil {
				s.byResponse[c.response] = c
			}
		}
	}
	for _, e := range t.entries {
		if !e.isOutput() {
			s.addFile(e, inside)
		}
	}
}

// isOutput reports whether the entry is named like one of the three files of a frozen
// run. Such a file is never used as a raw capture, even if an envelope has the same
// bytes.
func (e *entry) isOutput() bool {
	return slices.ContainsFunc([]string{record.ArtifactSuffix, record.EnvelopeSuffix, record.Suffix}, func(suffix string) bool {
		return strings.HasSuffix(e.Name, suffix)
	})
}

// addFile adds a file that may be a plain capture.
func (s *sources) addFile(e *entry, inside bool) {
	if e.regular() {
		s.bySize[e.Size] = append(s.bySize[e.Size], e)
		s.outside[e] = !inside
	}
}

// newSource reads the manifest of a capture directory. It marks the files that the
// manifest lists as accounted for. If the manifest cannot be read, newSource marks all
// files that a capture can contain.
func newSource(f *folder, m *entry) *source {
	f.isCapture = true
	m.accounted = true
	s := &source{path: f.path}
	data, err := record.ReadBounded(m.Path(), capture.MaxManifestBytes)
	s.manifest = digest.Of(data)
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
	s.response = manifest.Response().Digest
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
	switch e := f.files[name]; {
	case e == nil:
		return finding.New(finding.CaptureFileMissing, "%s, which %s lists, does not exist", name, capture.ManifestName)
	case e.Mode&fs.ModeSymlink != 0:
		e.accounted = true
		return finding.New(finding.CaptureFileLink, "%s is %s", name, e.Kind())
	case !e.regular():
		return finding.New(finding.CaptureFileMissing, "%s is %s", name, e.Kind())
	}
	return nil
}

// captureFiles returns the names of the files that a capture directory can contain in
// addition to its manifest. The names of responses come first.
func captureFiles() []string {
	return []string{
		capture.SSE.FileName(), capture.NDJSON.FileName(), capture.JSON.FileName(),
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

// unfinished reports whether the folder looks like an unfinished capture: it has no
// manifest, but a file that only captures have.
func (f *folder) unfinished() bool {
	return f.files[capture.ManifestName] == nil && capture.IsUnfinished(func(name string) bool {
		e := f.regular(name)
		return e != nil && !e.accounted
	})
}

// withBytes returns the plain files with the given size and digest. It reads the groups
// of candidateFiles until a group has a match. It reads each file only once.
func (s *sources) withBytes(ctx context.Context, size int64, d digest.Digest) ([]*source, error) {
	for _, files := range s.candidateFiles(size) {
		for _, e := range files {
			if e.sum != "" || e.Err != nil {
				continue
			}
			sum, err := sumOf(ctx, e.Path())
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			s.addDigest(e, sum, err)
		}
		if found := s.plain[size][d]; len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

// addDigest sets the digest of a file and returns the file as a source. If err is not
// nil, it sets the error and returns nil.
func (s *sources) addDigest(e *entry, sum digest.Digest, err error) *source {
	group := s.plain[e.Size]
	if group == nil {
		group = make(map[digest.Digest][]*source)
		s.plain[e.Size] = group
	}
	if e.Err = err; err != nil {
		return nil
	}
	e.sum = sum
	// A plain file has no manifest that it could differ from.
	one := &source{path: e.Path(), file: e, inside: !s.outside[e], read: true}
	group[sum] = append(group[sum], one)
	return one
}

// candidateFiles returns the files of a size in groups, in the order in which they are
// tried: files in the directory before files outside of it, and in each of these,
// files that no capture.json lists before listed files.
func (s *sources) candidateFiles(size int64) (groups [][]*entry) {
	var by [4][]*entry
	for _, e := range s.bySize[size] {
		at := 0
		if s.outside[e] {
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
	for _, other := range s.plain[e.Size][e.sum] {
		if other.used && other.path != e.Path() {
			return other
		}
	}
	return nil
}

// sumOf returns the digest of a regular file's bytes.
func sumOf(ctx context.Context, path string) (digest.Digest, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New(path + " is no longer a regular file")
	}
	f, err := capture.OpenFile(ctx, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := digest.Hash()
	_, err = io.Copy(h, f)
	return digest.Sum(h), err
}

// notFound returns the finding that the capture of a record was not found. The argument
// where describes the place that was searched.
func (s *sources) notFound(want record.Source, where string) error {
	what := "file " + where + fmt.Sprintf(" has the size of %d bytes and the digest %s", want.Bytes, formatDigest(want.Digest))
	also := ""
	if want.ManifestDigest != "" {
		what = "capture " + where + " has a capture.json with the digest " + formatDigest(want.ManifestDigest)
		if other := s.byResponse[want.Digest]; other != nil && want.Digest != "" {
			also = "; " + finding.Escape(other.path) + " has the same response, but another capture.json"
		}
	}
	return finding.New(finding.CaptureAbsent, "no %s that the record states%s", what, also).WithHint("%s", captureHint(want))
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
