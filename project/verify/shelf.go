package verify

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project/scan"
)

// shelf keeps findings until their rows are due: in memory up to a number, past
// that in a temporary file, so that any number of records of one capture can be
// verified in one reading of it.
type shelf struct {
	most, held int // findings in memory
	spool      *atomicfile.Spool
}

// maxFindings is how many findings are kept in memory.
const maxFindings = scan.MaxItems

// shelved is a list of findings on a shelf.
type shelved struct {
	list  []finding.Finding
	piece int   // in the spool, where the list is not in memory
	err   error // why the list is lost
	away  bool  // the list is in the spool
}

// spooled is a finding as it lies in the temporary file, with what its own JSON
// leaves out.
type spooled struct {
	Code         finding.Code
	Severity     finding.Severity
	Message      string
	Hint         string
	Rule         string
	Spec         string
	Pointer      finding.Pointer
	Offset       *int64
	Line         int
	Column       int
	Excerpt      finding.Excerpt
	ResponseLine int
	EventIndex   *int
}

// put keeps a list. What goes wrong look returns.
func (s *shelf) put(list []finding.Finding) *shelved {
	if s.held+len(list) <= s.most {
		s.held += len(list)
		return &shelved{list: list}
	}
	one := &shelved{away: true}
	if s.spool == nil {
		if s.spool, one.err = atomicfile.NewSpool(""); one.err != nil {
			return one
		}
	}
	away := make([]spooled, len(list))
	for i, f := range list {
		away[i] = spooled(f)
	}
	data, err := json.Marshal(away, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		one.piece, err = s.spool.Add(data)
	}
	one.err = err
	return one
}

// look returns a list, which stays on the shelf. There may be none.
func (s *shelf) look(one *shelved) ([]finding.Finding, error) {
	switch {
	case one == nil:
		return nil, nil
	case !one.away || one.err != nil:
		return one.list, one.err
	}
	data, err := s.spool.Read(one.piece)
	if err != nil {
		return nil, err
	}
	var away []spooled
	if err := json.Unmarshal(data, &away, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	list := make([]finding.Finding, len(away))
	for i, f := range away {
		list[i] = finding.Finding(f)
	}
	return list, nil
}

// take removes a list from memory. There may be none.
func (s *shelf) take(one *shelved) {
	if one != nil {
		s.held -= len(one.list)
		one.list = nil
	}
}

// close gives back what the shelf takes.
func (s *shelf) close() { s.spool.Close() }
