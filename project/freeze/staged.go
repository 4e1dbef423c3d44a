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

// staging stores frozen runs in a temporary file until the whole capture was read.
// Then it writes the files of each run.
type staging struct {
	dir     string
	created []string // directories that it created
	spool   *atomicfile.Spool
	runs    map[int]*staged
	target  *atomicfile.Directory // opened when the first run is published
}

// staged is one run: the numbers of its files in the spool, and their final name. The
// spooled record has no names and digests.
type staged struct {
	artifact, envelope, record int
	source                     record.Source
	name                       string
}

// add implements output.
func (s *staging) add(run int, out *project.Output, draft *record.Record) error {
	if s.runs == nil {
		if err := capture.CheckOutside(s.dir); err != nil {
			return err
		}
		var err error
		if s.spool, err = atomicfile.NewSpool(nearestExisting(s.dir)); err != nil {
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
	if r.artifact, err = s.spool.Add(out.Bytes); err != nil {
		return err
	}
	if r.envelope, err = s.spool.Add(out.Envelope); err != nil {
		return err
	}
	r.record, err = s.spool.Add(data)
	return err
}

// nearestExisting returns dir or, if it does not exist, its nearest existing parent.
// The directory is created only when files are published. If it were created earlier,
// another process that also creates it and has nothing to write could remove it.
func nearestExisting(dir string) string {
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

// completeRecord adds the source and the file names to an encoded record.
func completeRecord(draft []byte, source record.Source, name string) ([]byte, error) {
	r, err := record.Decode(draft)
	if err != nil {
		return nil, fmt.Errorf("staged record: %w", err)
	}
	r.Complete(source, name+record.ArtifactSuffix, name+record.EnvelopeSuffix)
	return r.Encode()
}

// drop implements output.
func (s *staging) drop(int) {}

// publish implements output. It writes the record last.
func (s *staging) publish(ctx context.Context, run int) (left []string, err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if s.target == nil {
		if s.created, err = atomicfile.MakeDir(s.dir); err != nil {
			return nil, err
		}
		if s.target, err = atomicfile.OpenDirectory(s.dir); err != nil {
			return nil, err
		}
	}
	r := s.runs[run]
	artifact, err1 := s.spool.Read(r.artifact)
	envelope, err2 := s.spool.Read(r.envelope)
	draft, err3 := s.spool.Read(r.record)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	data, err := completeRecord(draft, r.source, r.name)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, []file{
		{r.name + record.ArtifactSuffix, artifact, atomicfile.Equal},
		{r.name + record.EnvelopeSuffix, envelope, atomicfile.Equal},
		{r.name + record.Suffix, data, sameRecord}, // keep a record that differs in the tool version only
	})
}

// file is a file to be written.
type file struct {
	name string
	data []byte
	same atomicfile.SameFunc
}

// write writes all files or none. It does nothing if all of them already exist with
// the same content.
func (s *staging) write(ctx context.Context, files []file) (left []string, err error) {
	all := true
	for i := 0; all && i < len(files); i++ {
		if all, err = s.target.Has(ctx, files[i].name, files[i].data, files[i].same); err != nil {
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
		one, err := s.target.Stage(f.data)
		if err != nil {
			return nil, err
		}
		staged = append(staged, atomicfile.Named{Staged: one, Name: f.name, Same: f.same})
	}
	// The directory may have become a capture directory in the meantime.
	if err := capture.CheckOutside(s.dir); err != nil {
		return nil, err
	}
	if err := s.target.Publish(ctx, staged...); err != nil {
		return nil, err
	}
	return atomicfile.LeftoverNames(staged...), nil
}

// sync implements output.
func (s *staging) sync() error { return s.target.Sync() }

// setPaths implements output.
func (s *staging) setPaths(run int, row *Row) {
	path := func(suffix string) *string {
		path := filepath.Join(s.dir, s.runs[run].name+suffix)
		return &path
	}
	row.Artifact, row.Envelope, row.Record = path(record.ArtifactSuffix), path(record.EnvelopeSuffix), path(record.Suffix)
}

// close releases resources and removes created directories that are still empty.
func (s *staging) close() {
	s.spool.Close()
	s.target.Close()
	atomicfile.RemoveEmpty(s.created)
}

// sameRecord reports whether two record files are equal except for the tool version.
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
