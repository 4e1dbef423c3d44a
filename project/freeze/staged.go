package freeze

import (
	"fmt"
	"path/filepath"

	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// staging keeps frozen runs on disk, under temporary names until they are
// published. Drafts of records wait in a spool: until the capture's end they
// lack names and digests.
type staging struct {
	dir    string
	made   []string // directories that were not there
	drafts *atomicfile.Spool
	runs   map[int]*staged
}

// staged is one run on disk.
type staged struct {
	name                       string
	draft                      int // its number in the spool
	artifact, envelope, record *atomicfile.Staged
}

// keep implements output.
func (s *staging) keep(run int, out *project.Output, draft *record.Record) error {
	if s.runs == nil {
		made, err := atomicfile.MakeDir(s.dir)
		s.made = made
		if err != nil {
			return err
		}
		if s.drafts, err = atomicfile.NewSpool(s.dir); err != nil {
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
	if r.artifact, err = atomicfile.Stage(s.dir, out.Bytes); err != nil {
		return err
	}
	if r.envelope, err = atomicfile.Stage(s.dir, out.Envelope); err != nil {
		return err
	}
	r.draft, err = s.drafts.Add(data)
	return err
}

// complete implements output.
func (s *staging) complete(run int, source record.Source, name string) error {
	r := s.runs[run]
	draft, err := s.drafts.Read(r.draft)
	if err != nil {
		return err
	}
	data, err := completed(draft, source, name)
	if err != nil {
		return err
	}
	r.name = name
	r.record, err = atomicfile.Stage(s.dir, data)
	return err
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
func (s *staging) drop(run int) { s.runs[run].discard() }

// publish implements output. Of each run the record comes last.
func (s *staging) publish(runs []int) []error {
	sets := make([][]atomicfile.Named, len(runs))
	for i, run := range runs {
		r := s.runs[run]
		sets[i] = []atomicfile.Named{
			{Staged: r.artifact, Name: r.name + record.ArtifactSuffix, Same: atomicfile.Equal},
			{Staged: r.envelope, Name: r.name + record.EnvelopeSuffix, Same: atomicfile.Equal},
			{Staged: r.record, Name: r.name + record.Suffix, Same: sameRecord}, // one of another tool version stays as it is
		}
	}
	return atomicfile.PublishSets(sets)
}

// place implements output.
func (s *staging) place(run int, row *Row) {
	path := func(suffix string) *string {
		path := filepath.Join(s.dir, s.runs[run].name+suffix)
		return &path
	}
	row.Artifact, row.Envelope, row.Record = path(record.ArtifactSuffix), path(record.EnvelopeSuffix), path(record.Suffix)
}

// discard removes what was not published.
func (s *staging) discard() {
	for _, r := range s.runs {
		r.discard()
	}
	s.drafts.Close()
	atomicfile.RemoveEmpty(s.made) // which spares those that something was published in
}

func (r *staged) discard() {
	r.artifact.Discard()
	r.envelope.Discard()
	r.record.Discard()
}

// sameRecord compares two record files, tool version aside.
func sameRecord(there, staged string) (bool, error) {
	if same, err := atomicfile.Equal(there, staged); same || err != nil {
		return same, err
	}
	var records [2]*record.Record
	for i, path := range []string{there, staged} {
		data, err := record.ReadBounded(path, record.MaxBytes)
		if err != nil {
			return false, err
		}
		if records[i], err = record.Decode(data); err != nil {
			return false, nil
		}
	}
	return records[0].Same(records[1])
}
