package prune

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/verify"
)

// records has the paths of records by the digest of the manifest that they state.
type records map[digest.Digest][]string

// readRecords reads the records in a directory and its subdirectories. Records that cannot
// be read are no evidence of anything, so they are ignored.
func readRecords(ctx context.Context, dir string) (records, error) {
	all := make(records)
	isRecord := func(name string) bool { return strings.HasSuffix(name, record.Suffix) }
	for l, err := range dirtree.Each(ctx, dir, 0, isRecord) {
		if err != nil {
			return nil, err
		}
		for _, e := range l.Entries {
			if !e.Type().IsRegular() {
				continue
			}
			path := dirtree.Join(l.Path, e.Name())
			if r, err := record.Read(path); err == nil && r.Predicate.Capture.ManifestDigest != "" {
				sum := r.Predicate.Capture.ManifestDigest
				all[sum] = append(all[sum], path)
			}
		}
	}
	return all, nil
}

// frozen reports whether every run of a capture has an intact record. It adds the records
// to the row, and the reason if a record is missing. A record is intact if the projection
// that it names, repeated from the capture, has the same output.
func (p *pruner) frozen(row *Row, d capture.Directory, manifest digest.Digest) (bool, error) {
	var paths []string
	runOf := make(map[string]int) // by path
	for _, path := range p.records[manifest] {
		run, err := checkRecord(path, manifest)
		if err != nil {
			f, _ := finding.FromError(err)
			row.Findings = append(row.Findings, f.WithSeverity(finding.Warning))
			continue
		}
		paths, runOf[path] = append(paths, path), run
	}
	slices.SortStableFunc(paths, func(a, b string) int { return runOf[a] - runOf[b] })
	if p.settings.Unfrozen { // it may be a capture that cannot be read
		row.Records = append(row.Records, paths...)
		return false, nil
	}
	open := func() (*capture.Capture, error) {
		return capture.OpenFS(p.ctx, p.root.FS(), filepath.ToSlash(d.Rel), "")
	}
	rows, runs, err := verify.Records(p.ctx, open, paths)
	if err != nil {
		return false, err
	}
	intact := make(map[int]bool) // by run
	for _, r := range rows {
		if r.Verdict == project.Verified {
			intact[runOf[r.Record]] = true
			row.Records = append(row.Records, r.Record)
			continue
		}
		for _, f := range r.Findings {
			if f.Severity == finding.Error {
				f.Message = finding.Escape(r.Record) + ": " + f.Message
				row.Findings = append(row.Findings, f.WithSeverity(finding.Warning))
			}
		}
	}
	if len(intact) == 0 {
		row.keep(finding.NothingFrozen, "no intact record in %s was made from this capture", finding.Escape(p.settings.FrozenIn))
		return false, nil
	}
	for run := range runs {
		if !intact[run+1] {
			row.keep(finding.NothingFrozen, "run %d of %d has no intact record in %s", run+1, runs, finding.Escape(p.settings.FrozenIn))
			return false, nil
		}
	}
	return true, nil
}

// checkRecord returns the run of the record at path. The error is a finding if the record
// states another capture, or if the artifact and the envelope next to it are not those
// that it names.
func checkRecord(path string, manifest digest.Digest) (run int, err error) {
	r, err := record.Read(path)
	if err != nil {
		return 0, err
	}
	if r.Predicate.Capture.ManifestDigest != manifest {
		return 0, finding.New(finding.RecordMalformed, "%s changed while it was read", finding.Escape(path))
	}
	codes := [...]struct{ absent, differs finding.Code }{
		{finding.ArtifactAbsent, finding.ArtifactDiffers},
		{finding.EnvelopeAbsent, finding.EnvelopeDiffers},
	}
	for i, s := range r.Subject {
		if s.Name != filepath.Base(s.Name) || slices.Contains([]string{".", ".."}, s.Name) {
			return 0, finding.New(finding.RecordMalformed, "%s names a file in another directory", finding.Escape(path))
		}
		file := filepath.Join(filepath.Dir(path), s.Name)
		sum, err := digestOf(file)
		switch {
		case err != nil:
			return 0, finding.New(codes[i].absent, "%s, which %s names, cannot be read: %s", finding.Escape(file), finding.Escape(path), finding.Escape(err.Error()))
		case sum.Hex() != s.Digest.SHA256:
			return 0, finding.New(codes[i].differs, "%s does not have the digest that %s states", finding.Escape(file), finding.Escape(path))
		}
	}
	return r.Predicate.Capture.Run, nil
}

// digestOf returns the digest of a regular file. It does not follow a symbolic link.
func digestOf(path string) (digest.Digest, error) {
	switch info, err := os.Lstat(path); {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return digest.Read(f)
}
