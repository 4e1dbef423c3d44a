package freeze

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// staging keeps frozen runs in a temporary file until the whole capture was read,
// and then writes the files of one run after the other.
type staging struct {
	dir  string
	made []string // directories that were not there
	kept *atomicfile.Spool
	runs map[int]*staged
	to   *atomicfile.Directory // opened for the first run that is published
}

// staged is one run: the numbers of its files in the spool, and the name they
// get. The record is a draft until the capture's end: it lacks names and digests.
type staged struct {
	artifact, envelope, record int
	source                     record.Source
	name                       string
}

// keep implements output.
func (s *staging) keep(run int, out *project.Output, draft *record.Record) error {
	if s.runs == nil {
		if err := capture.CheckOutside(s.dir); err != nil {
			return err
		}
		var err error
		if s.kept, err = atomicfile.NewSpool(existing(s.dir)); err != nil {
			return err
		}
		s.runs = make(map[int]*staged)
	}
	data, err := draft.Encode()
	if err != nil {
		return err
	}
	r := new(staged)
	s.runs[run] = r
	if r.artifact, err = s.kept.Add(out.Bytes); err != nil {
		return err
	}
	if r.envelope, err = s.kept.Add(out.Envelope); err != nil {
		return err
	}
	r.record, err = s.kept.Add(data)
	return err
}

// existing returns the directory, or the nearest above it that is there. The
// directory itself is made when something is written: another program that made it
// for nothing could remove it until then.
func existing(dir string) string {
	for {
		parent := filepath.Dir(dir)
		if _, err := os.Stat(dir); err == nil || parent == dir {
			return dir
		}
		dir = parent
	}
}

// complete implements output.
func (s *staging) complete(run int, source record.Source, name string) error {
	s.runs[run].source, s.runs[run].name = source, name
	return nil
}

// completed fills in the draft of a record.
func completed(draft []byte, source record.Source, name string) ([]byte, error) {
	r, err := record.Decode(draft)
	if err != nil {
		return nil, fmt.Errorf("staged record: %w", err)
	}
	r.Complete(source, name+record.ArtifactSuffix, name+record.EnvelopeSuffix)
	return r.Encode()
}

// drop implements output.
func (s *staging) drop(int) {}

// publish implements output. The record comes last.
func (s *staging) publish(ctx context.Context, run int) (left []string, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if s.to == nil {
		if s.made, err = atomicfile.MakeDir(s.dir); err != nil {
			return nil, err
		}
		if s.to, err = atomicfile.OpenDirectory(s.dir); err != nil {
			return nil, err
		}
	}
	r := s.runs[run]
	artifact, err1 := s.kept.Read(r.artifact)
	envelope, err2 := s.kept.Read(r.envelope)
	draft, err3 := s.kept.Read(r.record)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	data, err := completed(draft, r.source, r.name)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, []file{
		{r.name + record.ArtifactSuffix, artifact, atomicfile.Equal},
		{r.name + record.EnvelopeSuffix, envelope, atomicfile.Equal},
		{r.name + record.Suffix, data, sameRecord}, // one of another tool version stays as it is
	})
}

// file is a file that is to be written.
type file struct {
	name string
	data []byte
	same atomicfile.SameFunc
}

// write writes files, all or none, unless all are there.
func (s *staging) write(ctx context.Context, files []file) (left []string, err error) {
	all := true
	for i := 0; all && i < len(files); i++ {
		if all, err = s.to.Has(ctx, files[i].name, files[i].data, files[i].same); err != nil {
			return nil, err
		}
	}
	if all {
		return nil, nil
	}
	var staged []atomicfile.Named
	defer func() {
		for _, f := range staged {
			f.Discard()
		}
	}()
	for _, f := range files {
		one, err := s.to.Stage(f.data)
		if err != nil {
			return nil, err
		}
		staged = append(staged, atomicfile.Named{Staged: one, Name: f.name, Same: f.same})
	}
	// The directory may have become a capture while this one was read.
	if err := capture.CheckOutside(s.dir); err != nil {
		return nil, err
	}
	if err := s.to.Publish(ctx, staged...); err != nil {
		return nil, err
	}
	return atomicfile.LeftoverNames(staged...), nil
}

// sync implements output.
func (s *staging) sync() error { return s.to.Sync() }

// place implements output.
func (s *staging) place(run int, row *Row) {
	path := func(suffix string) *string {
		path := filepath.Join(s.dir, s.runs[run].name+suffix)
		return &path
	}
	row.Artifact, row.Envelope, row.Record = path(record.ArtifactSuffix), path(record.EnvelopeSuffix), path(record.Suffix)
}

// close gives back what the staging takes, and removes directories it made for
// nothing.
func (s *staging) close() {
	s.kept.Close()
	s.to.Close()
	atomicfile.RemoveEmpty(s.made) // which spares those that something was published in
}

// sameRecord compares two record files, tool version aside.
func sameRecord(there, staged *io.SectionReader) (bool, error) {
	if same, err := atomicfile.Equal(there, staged); same || err != nil {
		return same, err
	}
	var records [2]*record.Record
	for i, r := range []*io.SectionReader{there, staged} {
		data, err := io.ReadAll(io.NewSectionReader(r, 0, record.MaxBytes+1))
		if err != nil {
			return false, err
		}
		if records[i], err = record.Decode(data); err != nil {
			return false, nil
		}
	}
	return records[0].EqualExceptTool(records[1])
}
