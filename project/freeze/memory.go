package freeze

import (
	"context"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// memory keeps frozen runs in memory.
type memory struct {
	runs  map[int]Files // by the number of the run
	bytes int           // bytes of the files
	limit int           // bytes; maxMemory outside tests
}

// maxMemory bounds the total size of the files of one capture's runs.
const maxMemory = 512 << 20

// add implements output.
func (m *memory) add(run int, out *project.Output, draft *record.Record) error {
	if m.runs == nil {
		m.runs = make(map[int]Files)
	}
	data, err := draft.Encode()
	if m.bytes += len(out.Bytes) + len(out.Envelope) + len(data); m.bytes > m.limit {
		return finding.New(finding.RunsTooMany, "the files of the capture's runs exceed %d bytes in total", m.limit).WithHint("freeze the capture to files")
	}
	m.runs[run] = Files{Artifact: out.Bytes, Envelope: out.Envelope, Record: data}
	return err
}

// complete implements output.
func (m *memory) complete(run int, source record.Source, name string) (err error) {
	files := m.runs[run]
	files.Record, err = completeRecord(files.Record, source, name)
	m.runs[run] = files
	return err
}

// drop implements output.
func (m *memory) drop(run int) { delete(m.runs, run) }

// publish implements output.
func (m *memory) publish(context.Context, int) ([]string, error) { return nil, nil }

// sync implements output.
func (m *memory) sync() error { return nil }

// setPaths implements output.
func (m *memory) setPaths(int, *Row) {}
