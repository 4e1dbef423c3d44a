package sign

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/internal/dirtree"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// Row is the outcome of signing one record.
type Row struct {
	// Record is the path of the record.
	Record string `json:"record"`
	// Verdict is written, skipped if the record had these signatures and a token, or
	// refused or error.
	Verdict project.Verdict `json:"verdict"`
	// Signature is the path of the DSSE envelope.
	Signature *string `json:"signature"`
	// Timestamp is the path of the time-stamp response.
	Timestamp *string `json:"timestamp"`
	// KeyIDs are those of all signatures of the record, in their order.
	KeyIDs []string `json:"key_ids"`
	// NotLaterThan is the time of the token. It is not verified: no authority is trusted
	// when a record is signed.
	NotLaterThan *string           `json:"not_later_than"`
	Findings     []finding.Finding `json:"findings"`
}

// Record signs the record at a path, and adds a token if the settings name an authority. The
// files are written completely or not at all. The record is only read.
func Record(ctx context.Context, path string, s *Settings) Row {
	row := Row{Record: path, KeyIDs: []string{}, Findings: []finding.Finding{}}
	made, left, err := row.sign(ctx, path, s)
	for _, name := range left {
		row.Findings = append(row.Findings, finding.Leftover(name))
	}
	if err != nil {
		f, isVerdict := finding.FromError(err)
		row.Verdict, row.Findings = project.Failed, append(row.Findings, f)
		if isVerdict {
			row.Verdict = project.Refused
		}
		return row
	}
	row.Verdict = project.Skipped
	if made.NewEnvelope || made.NewToken {
		row.Verdict = project.Written
	}
	row.KeyIDs = append(row.KeyIDs, made.KeyIDs...)
	row.Signature = new(record.SignaturePath(path))
	if made.Token != nil {
		row.Timestamp = new(record.TimestampPath(path))
		row.NotLaterThan = new(artifact.FormatTime(ceil(made.NotLaterThan)))
	}
	return row
}

// sign makes the files and writes those that are new.
func (row *Row) sign(ctx context.Context, path string, s *Settings) (made Made, left []string, err error) {
	_, data, err := record.ReadFrom(path, record.ReadBounded)
	if err != nil {
		return made, nil, err
	}
	existing, err := Read(path, len(data), record.ReadBounded)
	if err != nil {
		return made, nil, err
	}
	if made, err = s.Make(ctx, data, existing); err != nil || !made.NewEnvelope && !made.NewToken {
		return made, nil, err
	}
	dir, err := atomicfile.OpenDirectory(filepath.Dir(path))
	if err != nil {
		return made, nil, err
	}
	defer dir.Close()
	left, err = write(ctx, dir, path, made, existing)
	return made, left, err
}

// write writes the new files of a signature.
func write(ctx context.Context, dir *atomicfile.Directory, path string, made Made, existing Files) (left []string, err error) {
	var files []atomicfile.File
	if made.NewEnvelope && existing.Envelope == nil {
		files = append(files, atomicfile.File{Name: filepath.Base(record.SignaturePath(path)), Data: made.Envelope, Same: atomicfile.Equal})
	}
	if made.NewToken {
		files = append(files, atomicfile.File{Name: filepath.Base(record.TimestampPath(path)), Data: made.Token, Same: atomicfile.Equal})
	}
	set := dir.Prepare(files...)
	if made.NewEnvelope && existing.Envelope != nil && set.Err == nil {
		if err := replace(ctx, dir, filepath.Base(record.SignaturePath(path)), made.Envelope, existing.Envelope); err != nil {
			set.Discard()
			return nil, err
		}
	}
	atomicfile.Commit(ctx, func(string) error { return nil }, set)
	return set.Left, set.Err
}

// replace replaces a DSSE envelope by one with more signatures, unless another program has
// changed it.
func replace(ctx context.Context, dir *atomicfile.Directory, name string, data, before []byte) error {
	staged, err := dir.CreateReplacement(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	defer staged.Discard()
	unchanged := func(there, _ *io.SectionReader) (bool, error) {
		now, err := io.ReadAll(there)
		return bytes.Equal(now, before), err
	}
	return dir.Replace(ctx, atomicfile.Named{Staged: staged, Name: name, Same: atomicfile.Equal}, unchanged)
}

// Find returns the paths of records, with each directory replaced by the records in it and
// below it, in the order of their paths. It does not follow symbolic links in a directory.
func Find(ctx context.Context, paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			all = append(all, path) // errors are reported when it is read
			continue
		}
		tree, err := dirtree.Walk(ctx, path, dirtree.MaxEntries)
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, e := range tree.Entries {
			_, named := e.CutSuffix(record.Suffix)
			switch {
			case e.Err != nil && (named || e.Mode.IsDir()):
				return nil, e.Err
			case named && !e.Regular():
				return nil, fmt.Errorf("%q is %s", e.Path(), e.Kind())
			case named:
				all = append(all, e.Path())
			}
		}
		if len(all) == before {
			return nil, fmt.Errorf("the directory %q contains no *%s", path, record.Suffix)
		}
	}
	return all, nil
}
