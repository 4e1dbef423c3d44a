package freeze

import (
	"context"
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
		made, err := atomicfile.MakeDir(s.dir)
		s.made = made
		if err != nil {
			return err
		}
		if s.kept, err = atomicfile.NewSpool(s.dir); err != nil {
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
		if s.to, err = atomicfile.OpenDirectory(s.dir); err != nil {
			return nil, err
		}
	}
	r := s.runs[run]
	draft, err := s.kept.Read(r.record)
	if err != nil {
		return nil, err
	}
	data, err := completed(draft, r.source, r.name)
	if err != nil {
		return nil, err
	}
	var files [3]atomicfile.Named
	defer func() {
		for _, f := range files {
			f.Discard()
		}
	}()
	files[0] = atomicfile.Named{Name: r.name + record.ArtifactSuffix, Same: atomicfile.Equal}
	files[1] = atomicfile.Named{Name: r.name + record.EnvelopeSuffix, Same: atomicfile.Equal}
	files[2] = atomicfile.Named{Name: r.name + record.Suffix, Same: sameRecord} // one of another tool version stays as it is
	if files[0].Staged, err = s.copy(r.artifact); err != nil {
		return nil, err
	}
	if files[1].Staged, err = s.copy(r.envelope); err != nil {
		return nil, err
	}
	if files[2].Staged, err = s.to.Stage(data); err != nil {
		return nil, err
	}
	if err := s.to.Publish(ctx, files[:]...); err != nil {
		return nil, err
	}
	return atomicfile.Left(files[:]...), nil
}

// copy stages a file of the spool.
func (s *staging) copy(kept int) (*atomicfile.Staged, error) {
	data, err := s.kept.Read(kept)
	if err != nil {
		return nil, err
	}
	return s.to.Stage(data)
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
func sameRecord(there, staged *os.File) (bool, error) {
	if same, err := atomicfile.Equal(there, staged); same || err != nil {
		return same, err
	}
	var records [2]*record.Record
	for i, f := range []*os.File{there, staged} {
		data, err := io.ReadAll(io.NewSectionReader(f, 0, record.MaxBytes+1))
		if err != nil {
			return false, err
		}
		if records[i], err = record.Decode(data); err != nil {
			return false, nil
		}
	}
	return records[0].Same(records[1])
}
