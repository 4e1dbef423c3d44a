package freeze

import (
	"fmt"
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
	record.Complete(source, s.name+ArtifactSuffix, s.name+envelopeSuffix)
	if data, err = record.Encode(); err != nil {
		return err
	}
	s.record.Discard()
	s.record, err = atomicfile.Stage(s.dir, data)
	return err
}

// publish names the files, the record last.
func (s *staged) publish() error {
	return atomicfile.PublishAll(
		atomicfile.Named{Staged: s.artifact, Name: s.name + ArtifactSuffix, Same: atomicfile.Equal},
		atomicfile.Named{Staged: s.envelope, Name: s.name + envelopeSuffix, Same: atomicfile.Equal},
		atomicfile.Named{Staged: s.record, Name: s.name + recordSuffix, Same: sameRecord}, // one of another tool version stays as it is
	)
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
