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

// source is a capture that a record can have been made from: a capture directory
// or a plain file.
type source struct {
	path string
	file *entry // of a plain file
	// inside says that it lies in the directory that is verified.
	inside bool
	// manifest is the digest of capture.json; a plain file has none.
	manifest digest.Digest
	// response is the digest that the manifest states of the response.
	response digest.Digest
	// bad is why it is no whole capture, as far as that is known.
	bad error
	// read says that it was read to its end, with these findings.
	read     bool
	findings []finding.Finding
	// used says that some row names it.
	used bool
}

// check reads the capture once, and holds its files against its manifest.
func (s *source) check(ctx context.Context, progress scan.Progress) error {
	if !s.read && s.bad == nil {
		s.read = true
		s.findings, s.bad = readThrough(ctx, s.path, progress)
	}
	return s.bad
}

// progressEvery is how many frames pass between two calls of a Progress.
const progressEvery = 1024

// readThrough reads a capture to its end, whatever its events are.
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

// sources are the captures of several trees, found by what a record states.
// Those of the tree that is verified come first, then by path.
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

// add takes in the captures of a tree.
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
		if !e.output() {
			s.addFile(e, inside)
		}
	}
}

// output reports whether the entry is named as one of the three files of a run.
// None of them is taken for the raw capture, even where an envelope has the same
// bytes.
func (e *entry) output() bool {
	return slices.ContainsFunc([]string{record.ArtifactSuffix, record.EnvelopeSuffix, record.Suffix}, func(suffix string) bool {
		return strings.HasSuffix(e.Name, suffix)
	})
}

// addFile takes in a file that may be a plain capture.
func (s *sources) addFile(e *entry, inside bool) {
	if e.regular() {
		s.bySize[e.Size] = append(s.bySize[e.Size], e)
		s.outside[e] = !inside
	}
}

// newSource reads the manifest of a capture directory. Its files are accounted
// for: those that the manifest lists, or all that a capture can have when it
// cannot be read.
func newSource(f *folder, m *entry) *source {
	f.isCapture = true
	m.told = true
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
		f.tell(captureFiles())
		return s
	}
	s.response = manifest.Response().Digest
	listed := listedFiles(manifest)
	for _, name := range listed {
		if err := f.lacks(name); s.bad == nil {
			s.bad = err
		}
	}
	f.tell(listed)
	if e := f.regular(listed[0]); e != nil {
		e.listed = true
	}
	return s
}

// lacks says why a file that a manifest lists cannot be read. A link in its place is
// accounted for by that.
func (f *folder) lacks(name string) error {
	switch e := f.held[name]; {
	case e == nil:
		return finding.New(finding.CaptureFileMissing, "%s, which %s lists, is not there", name, capture.ManifestName)
	case e.Mode&fs.ModeSymlink != 0:
		e.told = true
		return finding.New(finding.CaptureFileLink, "%s is %s", name, e.Kind())
	case !e.regular():
		return finding.New(finding.CaptureFileMissing, "%s is %s", name, e.Kind())
	}
	return nil
}

// captureFiles returns the names of the files that a capture directory can have
// beside its manifest, those of responses first.
func captureFiles() []string {
	return []string{
		capture.SSE.FileName(), capture.NDJSON.FileName(), capture.JSON.FileName(),
		capture.RequestName, capture.ArrivalsName,
	}
}

// listedFiles returns the names of the files a manifest lists, that of the response
// first.
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

// tell marks regular files of the folder as accounted for.
func (f *folder) tell(names []string) {
	for _, name := range names {
		if e := f.regular(name); e != nil {
			e.told = true
		}
	}
}

// unfinished reports whether the folder looks like a capture that was not
// closed: it has no manifest, and what only a capture has.
func (f *folder) unfinished() bool {
	return f.held[capture.ManifestName] == nil && capture.IsUnfinished(func(name string) bool {
		e := f.regular(name)
		return e != nil && !e.told
	})
}

// withBytes returns the plain files of that size and digest. Files of that size
// are read for it, once each, as far as it takes: those that a capture.json lists
// come after others, and those outside the directory last.
func (s *sources) withBytes(ctx context.Context, size int64, d digest.Digest) ([]*source, error) {
	for _, files := range s.loose(size) {
		for _, e := range files {
			if e.sum != "" || e.Err != nil {
				continue
			}
			sum, err := sumOf(ctx, e.Path())
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			s.summed(e, sum, err)
		}
		if found := s.plain[size][d]; len(found) > 0 {
			return found, nil
		}
	}
	return nil, nil
}

// summed takes in the digest of a file, which is a capture then, or why it could
// not be read.
func (s *sources) summed(e *entry, sum digest.Digest, err error) *source {
	group := s.plain[e.Size]
	if group == nil {
		group = make(map[digest.Digest][]*source)
		s.plain[e.Size] = group
	}
	if e.Err = err; err != nil {
		return nil
	}
	e.sum = sum
	// It has no manifest that its bytes could be compared with.
	one := &source{path: e.Path(), file: e, inside: !s.outside[e], read: true}
	group[sum] = append(group[sum], one)
	return one
}

// loose returns the files of a size, in the order in which they are looked at:
// those in the directory before others, and of each those that no capture.json
// lists before those that one does.
func (s *sources) loose(size int64) (groups [][]*entry) {
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
		// Of a directory that is a capture a file may be a stray copy.
		slices.SortStableFunc(files, func(a, b *entry) int { return a.rank() - b.rank() })
		if len(files) > 0 {
			groups = append(groups, files)
		}
	}
	return groups
}

// rank is 1 for what is in the directory of a capture, else 0.
func (e *entry) rank() int {
	if e.in != nil && e.in.isCapture {
		return 1
	}
	return 0
}

// repeats returns the capture that was used and is the same, byte for byte, as a
// plain file, or nil.
func (s *sources) repeats(e *entry) *source {
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
		return "", errors.New(path + " is no regular file any more")
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

// absent is the finding that no capture is there which a record can have been made
// from. where says where it was looked for.
func (s *sources) absent(want record.Source, where string) error {
	what := "file " + where + fmt.Sprintf(" has the %d bytes and the digest %s", want.Bytes, shown(want.Digest))
	also := ""
	if want.ManifestDigest != "" {
		what = "capture " + where + " has a capture.json with the digest " + shown(want.ManifestDigest)
		if other := s.byResponse[want.Digest]; other != nil && want.Digest != "" {
			also = "; " + finding.Escape(other.path) + " has the same response under another capture.json"
		}
	}
	return finding.New(finding.CaptureAbsent, "no %s that the record states%s", what, also).WithHint("%s", nameCapture(want))
}

// nameCapture is the next step where the capture of a record is not found.
func nameCapture(want record.Source) string {
	if want.ManifestDigest == "" {
		return fmt.Sprintf(hint.GiveFile, shown(want.Digest))
	}
	return fmt.Sprintf(hint.GiveCapture, shown(want.ManifestDigest))
}

// shown returns a digest that a record states, which may be anything.
func shown(d digest.Digest) string {
	if _, err := digest.Parse(string(d)); err != nil {
		return finding.Quote(string(d))
	}
	return string(d)
}
