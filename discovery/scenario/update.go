package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/atomicfile"
)

// LoadNotes reads the expectations of a harness and returns only their notes, for the
// scenarios of the list. The file need not exist.
func LoadNotes(ctx context.Context, path string, l *List) (*Suite, error) {
	var s Suite
	if err := loadFile(ctx, path, "a file of expectations", &s); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	notes := &Suite{}
	for _, scenario := range l.Scenarios {
		notes.Cases = append(notes.Cases, Case{Name: scenario.Name, Note: s.caseOf(scenario.Name).Note})
	}
	return notes, nil
}

// UpdatedSuite returns a suite with the notes of the plan and the observed results of all
// other scenarios. The error names a scenario without a result.
func (p *Plan) UpdatedSuite(rows []Row) (*Suite, error) {
	s := &Suite{}
	for _, scenario := range p.Scenarios {
		one := Case{Name: scenario.Name, Note: p.Suite.caseOf(scenario.Name).Note}
		for _, row := range rows {
			if row.Scenario == scenario.Name {
				one.Expect = row.Observed
			}
		}
		if one.Note == "" && one.Expect == nil {
			return nil, fmt.Errorf("scenario %q has no complete capture", scenario.Name)
		}
		s.Cases = append(s.Cases, one)
	}
	return s, nil
}

// Write writes the suite to a file, replacing its contents.
func (s *Suite) Write(path string) error {
	data, err := s.Encode()
	if err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	if err := capture.CheckOutside(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.ReplaceFile(path, data)
}
