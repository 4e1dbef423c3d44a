package freeze

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project"
)

// staged is a frozen run on disk under temporary names. Its record is not
// complete before the capture's end: until then it lacks names and digests.
type staged struct {
	dir, name                  string
	artifact, envelope, record *atomicfile.Staged
}

// stage writes the files of one run under temporary names.
func stage(dir string, out *project.Output, record *project.Record) (_ *staged, err error) {
	s := &staged{dir: dir}
	defer func() {
		if err != nil {
			s.discard()
		}
	}()
	draft, err := record.Encode()
	if err != nil {
		return nil, err
	}
	if s.artifact, err = atomicfile.Stage(dir, out.Bytes); err != nil {
		return nil, err
	}
	if s.envelope, err = atomicfile.Stage(dir, out.Envelope); err != nil {
		return nil, err
	}
	s.record, err = atomicfile.Stage(dir, draft)
	return s, err
}

// complete fills in what is known at the capture's end.
func (s *staged) complete(source project.Source) error {
	data, err := s.record.Read()
	if err != nil {
		return err
	}
	record, err := project.DecodeRecord(data)
	if err != nil {
		return fmt.Errorf("staged record: %w", err)
	}
	record.Complete(source, s.name+artifactSuffix, s.name+envelopeSuffix)
	if data, err = record.Encode(); err != nil {
		return err
	}
	s.record.Discard()
	s.record, err = atomicfile.Stage(s.dir, data)
	return err
}

// publish names the files, the record last. When any of them is there already
// and is another, nothing is written: what this call named is taken back.
func (s *staged) publish() error {
	files := []struct {
		name string
		file *atomicfile.Staged
		same atomicfile.Same
	}{
		{s.name + artifactSuffix, s.artifact, atomicfile.Equal},
		{s.name + envelopeSuffix, s.envelope, atomicfile.Equal},
		{s.name + recordSuffix, s.record, sameRecord}, // one of another tool version stays as it is
	}
	for _, f := range files {
		if err := f.file.Compare(f.name, f.same); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var named []string
	for _, f := range files {
		made, err := f.file.Publish(f.name, f.same)
		if err != nil {
			for _, path := range named {
				_ = os.Remove(path)
			}
			return err
		}
		if made {
			named = append(named, filepath.Join(s.dir, f.name))
		}
	}
	return atomicfile.SyncDir(s.dir)
}

// sameRecord compares two record files, tool version aside.
func sameRecord(there, staged string) (bool, error) {
	if same, err := atomicfile.Equal(there, staged); same || err != nil {
		return same, err
	}
	var records [2]*project.Record
	for i, path := range []string{there, staged} {
		data, err := readBounded(path, project.MaxRecordBytes)
		if err != nil {
			return false, err
		}
		if records[i], err = project.DecodeRecord(data); err != nil {
			return false, nil
		}
	}
	return records[0].Same(records[1])
}

func (s *staged) path(suffix string) *string {
	path := filepath.Join(s.dir, s.name+suffix)
	return &path
}

func (s *staged) discard() {
	if s != nil {
		s.artifact.Discard()
		s.envelope.Discard()
		s.record.Discard()
	}
}
