package freeze

import (
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// memory keeps frozen runs in memory.
type memory struct {
	runs   map[int]Files // by the number of the run; complete
	drafts map[int]*record.Record
	bytes  int // bytes of the files
	limit  int // bytes; maxMemory outside tests
}

// maxMemory bounds the total size of the files of one capture's runs.
const maxMemory = 512 << 20

// add implements output.
func (m *memory) add(run int, out *project.Output, draft *record.Record) error {
	if m.runs == nil {
		m.runs, m.drafts = make(map[int]Files), make(map[int]*record.Record)
	}
	if m.bytes += len(out.Bytes) + len(out.Envelope) + draft.Size(); m.bytes > m.limit {
		return finding.New(finding.RunsTooMany, "the files of the capture's runs exceed %d bytes in total", m.limit).WithHint("freeze the capture to files")
	}
	m.runs[run], m.drafts[run] = Files{Artifact: out.Bytes, Envelope: out.Envelope}, draft
	return nil
}

// complete implements output.
func (m *memory) complete(run int, source record.Source, name string) (err error) {
	files := m.runs[run]
	files.Record, err = encodeRecord(m.drafts[run], source, name)
	m.runs[run] = files
	delete(m.drafts, run)
	return err
}

// drop implements output.
func (m *memory) drop(run int) {
	delete(m.runs, run)
	delete(m.drafts, run)
}
