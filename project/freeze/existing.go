package freeze

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/scan"
	"github.com/p20export/p20export/project/sign"
)

// skip returns the rows of a capture if the files of all its runs exist, and nil if it
// must be frozen.
func (b *batch) skip(ctx context.Context, in *inputs.Input, dir string) []Row {
	e := existing{settings: b.settings.Settings, sign: b.settings.Sign, path: in.Path}
	name := in.Name
	switch {
	case b.options.NameByDigest:
		if !e.identify(ctx, in) {
			return nil
		}
		name = e.capture.Response.Hex()
	case b.settings.Name != "":
		name = b.settings.Name
	}
	path := filepath.Join(dir, name)
	several := !exists(path + record.Suffix)
	if several && !exists(path+".1"+record.Suffix) || !e.identify(ctx, in) {
		return nil
	}
	if !several {
		return e.rows(1, func(int) string { return path })
	}
	return e.rows(countRuns(ctx, in), func(run int) string { return path + "." + strconv.Itoa(run) })
}

// countRuns returns the number of runs of a capture, or 0 if it cannot be read.
func countRuns(ctx context.Context, in *inputs.Input) int {
	c, err := in.Open(ctx)
	if err != nil {
		return 0
	}
	defer c.Close()
	result, err := scan.Run(ctx, c, nil)
	if err != nil {
		return 0
	}
	return result.Runs
}

// existing compares existing files with a capture.
type existing struct {
	settings project.Settings
	sign     *sign.Settings // or nil
	path     string         // of the capture
	capture  capture.Identity
}

// identify identifies the capture, and reports whether that was possible.
func (e *existing) identify(ctx context.Context, in *inputs.Input) bool {
	if e.capture.Response != "" {
		return true
	}
	var err error
	e.capture, err = in.Identify(ctx)
	return err == nil
}

// rows returns the rows of the runs, or nil if the files of one do not exist. path
// returns the path of the files of a run without suffix.
func (e *existing) rows(runs int, path func(run int) string) []Row {
	var rows []Row
	for run := 1; run <= runs; run++ {
		if !e.has(run, path(run)) {
			return nil
		}
		row := Row{Capture: e.path, Labels: e.capture.Labels, Run: &run, Verdict: project.Skipped, CaptureDigest: &e.capture.Response}
		if e.sign != nil {
			row.Signature = new(path(run) + record.SignatureSuffix)
			if stamp := path(run) + record.TimestampSuffix; exists(stamp) {
				row.Timestamp = &stamp
			}
		}
		row.setPaths(path(run))
		rows = append(rows, row)
	}
	return rows
}

// has reports whether the files of a run exist under the names in its record, and were made
// from this capture with the same settings.
func (e *existing) has(run int, path string) bool {
	info, err := os.Lstat(path + record.Suffix)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	r, data, err := record.ReadFrom(path+record.Suffix, record.ReadBounded)
	if err != nil || r.Subject[0].Name != filepath.Base(path)+record.ArtifactSuffix || r.Subject[1].Name != filepath.Base(path)+record.EnvelopeSuffix {
		return false
	}
	of, sizes := r.Predicate.Capture, r.Predicate.Sizes
	if of.Digest != e.capture.Response || of.ManifestDigest != e.capture.Manifest || of.Run != run {
		return false
	}
	made, err := r.Settings()
	if err != nil {
		return false
	}
	if r.Predicate.Times.Source != project.OperatorTime {
		made.Operator = e.settings.Operator // it was not needed
	}
	if e.sign != nil {
		files, err := sign.Read(path+record.Suffix, len(data), record.ReadBounded)
		if err != nil || !e.sign.IsMade(data, files) {
			return false
		}
	}
	return made == e.settings && hasSize(path+record.ArtifactSuffix, sizes.ArtifactBytes) && hasSize(path+record.EnvelopeSuffix, sizes.EnvelopeBytes)
}

// exists reports whether there is a file at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// hasSize reports whether there is a regular file with the size at path.
func hasSize(path string, size int) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == int64(size)
}
