package verify

import (
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/atomicfile"
	"github.com/p20export/p20export/project/scan"
)

// findingStore keeps findings until their rows are emitted. It keeps a limited number
// in memory and the others in a temporary file, so that any number of records can be
// verified in one reading of their capture. Several goroutines may use a findingStore.
type findingStore struct {
	mu           sync.Mutex
	limit, count int // findings in memory
	spool        *atomicfile.Spool
}

// maxFindings bounds how many findings are kept in memory.
const maxFindings = scan.MaxItems

// storedFindings is a list of findings in a findingStore.
type storedFindings struct {
	list    []finding.Finding
	piece   int   // number in the spool
	err     error // the error of add
	inSpool bool  // the list is in the spool, not in memory
}

// spooled is the encoding of a finding in the temporary file. It also has the fields
// that the JSON encoding of finding.Finding omits.
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

// add adds a list. If it fails, get returns the error.
func (s *findingStore) add(list []finding.Finding) *storedFindings {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count+len(list) <= s.limit {
		s.count += len(list)
		return &storedFindings{list: list}
	}
	one := &storedFindings{inSpool: true}
	if s.spool == nil {
		if s.spool, one.err = atomicfile.NewSpool(""); one.err != nil {
			return one
		}
	}
	encoded := make([]spooled, len(list))
	for i, f := range list {
		encoded[i] = spooled(f)
	}
	data, err := json.Marshal(encoded, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		one.piece, err = s.spool.Add(data)
	}
	one.err = err
	return one
}

// get returns a list, which stays in the store. The argument may be nil.
func (s *findingStore) get(one *storedFindings) ([]finding.Finding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case one == nil:
		return nil, nil
	case !one.inSpool || one.err != nil:
		return one.list, one.err
	}
	data, err := s.spool.Read(one.piece)
	if err != nil {
		return nil, err
	}
	var decoded []spooled
	if err := json.Unmarshal(data, &decoded, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	list := make([]finding.Finding, len(decoded))
	for i, f := range decoded {
		list[i] = finding.Finding(f)
	}
	return list, nil
}

// release removes a list from memory. The argument may be nil.
func (s *findingStore) release(one *storedFindings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one != nil {
		s.count -= len(one.list)
		one.list = nil
	}
}

// close removes the temporary file.
func (s *findingStore) close() { s.spool.Close() }
