package freeze

import (
	"context"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// memory keeps frozen runs in memory.
type memory struct {
	runs map[int]Files // by the number of the run
	held int           // bytes of the files
	most int           // bytes; maxMemory outside tests
}

// maxMemory is how many bytes the files of the runs of one capture may have
// together.
const maxMemory = 512 << 20

// keep implements output.
func (m *memory) keep(run int, out *project.Output, draft *record.Record) error {
	if m.runs == nil {
		m.runs = make(map[int]Files)
	}
	data, err := draft.Encode()
	if m.held += len(out.Bytes) + len(out.Envelope) + len(data); m.held > m.most {
		return finding.New(finding.RunsTooMany, "the files of the capture's runs have more than %d bytes together", m.most).WithHint("freeze the capture into files")
	}
	m.runs[run] = Files{Artifact: out.Bytes, Envelope: out.Envelope, Record: data}
	return err
}

// complete implements output.
func (m *memory) complete(run int, source record.Source, name string) (err error) {
	files := m.runs[run]
	files.Record, err = completed(files.Record, source, name)
	m.runs[run] = files
	return err
}

// drop implements output.
func (m *memory) drop(run int) { delete(m.runs, run) }

// publish implements output.
func (m *memory) publish(context.Context, int) ([]string, error) { return nil, nil }

// sync implements output.
func (m *memory) sync() error { return nil }

// place implements output.
func (m *memory) place(int, *Row) {}
