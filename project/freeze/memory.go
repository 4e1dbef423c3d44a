package freeze

import (
	"slices"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// memory keeps frozen runs in memory.
type memory struct {
	runs  []keptRun // in the order of their numbers
	bytes int       // bytes of the files
	limit int       // bytes; maxMemory outside tests
}

// keptRun is a frozen run. Its record is complete when there is no draft.
type keptRun struct {
	number int
	files  Files
	draft  *record.Record
}

// maxMemory bounds the total size of the files of one capture's runs.
const maxMemory = 512 << 20

// add implements output.
func (m *memory) add(run int, out *project.Output, draft *record.Record) error {
	if m.bytes += len(out.Bytes) + len(out.Envelope) + draft.Size(); m.bytes > m.limit {
		return finding.New(finding.RunsTooMany, "the files of the capture's runs exceed %d bytes in total", m.limit).WithHint("freeze the capture to files")
	}
	m.runs = append(m.runs, keptRun{run, Files{Artifact: out.Bytes, Envelope: out.Envelope}, draft})
	return nil
}

// run returns a run that was added.
func (m *memory) run(number int) *keptRun {
	i, _ := slices.BinarySearchFunc(m.runs, number, func(r keptRun, number int) int { return r.number - number })
	return &m.runs[i]
}

// complete implements output.
func (m *memory) complete(run int, source record.Source, name string) (err error) {
	r := m.run(run)
	r.files.Record, err = encodeRecord(r.draft, source, name)
	r.draft = nil
	return err
}

// drop implements output.
func (m *memory) drop(run int) { *m.run(run) = keptRun{number: run} }
