package freeze

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// staging stores frozen runs until the whole capture was read: the first in memory, the
// others in a temporary file.
type staging struct {
	dir   string // the directory that the files will be written to
	size  int    // bytes of the runs in memory
	spool *atomicfile.Spool
	runs  map[int]*staged
}

// maxInMemory is the number of bytes that staging keeps in memory.
const maxInMemory = 1 << 20

// staged is one run. If record is nil, the files are in the spool, where the record has
// no names and digests.
type staged struct {
	artifact, envelope []byte
	record             *record.Record
	pieces             [3]int // numbers in the spool

	source record.Source
	name   string
}

// add implements output.
func (s *staging) add(run int, out *project.Output, draft *record.Record) error {
	if s.runs == nil {
		s.runs = make(map[int]*staged)
	}
	r := new(staged)
	s.runs[run] = r
	if s.spool == nil {
		size := len(out.Bytes) + len(out.Envelope) + draft.Size()
		if s.size+size <= maxInMemory {
			s.size += size
			r.artifact, r.envelope, r.record = out.Bytes, out.Envelope, draft
			return nil
		}
	}
	return s.store(r, out, draft)
}

// store writes the files of a run to the spool.
func (s *staging) store(r *staged, out *project.Output, draft *record.Record) (err error) {
	if s.spool == nil {
		if s.spool, err = atomicfile.NewSpool(nearestExisting(s.dir)); err != nil {
			return err
		}
	}
	data, err := draft.Encode()
	if err != nil {
		return err
	}
	for i, piece := range [][]byte{out.Bytes, out.Envelope, data} {
		if r.pieces[i], err = s.spool.Add(piece); err != nil {
			return err
		}
	}
	return nil
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
	return encodeRecord(r, source, name)
}

func encodeRecord(r *record.Record, source record.Source, name string) ([]byte, error) {
	r.Complete(source, name+record.ArtifactSuffix, name+record.EnvelopeSuffix)
	return r.Encode()
}

// drop implements output. The space in the spool is released by close.
func (s *staging) drop(run int) { delete(s.runs, run) }

// take returns the files of a completed run and releases their memory.
func (s *staging) take(run int) (Files, error) {
	r := s.runs[run]
	delete(s.runs, run)
	if r.record != nil {
		data, err := encodeRecord(r.record, r.source, r.name)
		return Files{r.artifact, r.envelope, data}, err
	}
	artifact, err1 := s.spool.Read(r.pieces[0])
	envelope, err2 := s.spool.Read(r.pieces[1])
	draft, err3 := s.spool.Read(r.pieces[2])
	if err := errors.Join(err1, err2, err3); err != nil {
		return Files{}, err
	}
	data, err := completeRecord(draft, r.source, r.name)
	return Files{artifact, envelope, data}, err
}

// close removes the temporary file. Close on a nil staging does nothing.
func (s *staging) close() {
	if s != nil {
		s.spool.Close()
	}
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
