package freeze

import (
	"errors"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// The memory for frozen runs is bounded.
func TestMemoryIsBounded(t *testing.T) {
	out := &project.Output{Bytes: make([]byte, 100), Envelope: make([]byte, 100)}
	draft := &record.Record{Type: record.StatementType}
	m := &memory{limit: 2 * (200 + draft.Size())}
	for run := 1; run <= 2; run++ {
		if err := m.add(run, out, draft); err != nil {
			t.Fatalf("run %d: %v", run, err)
		}
	}
	var f finding.Finding
	if err := m.add(3, out, draft); !errors.As(err, &f) || f.Code != finding.RunsTooMany || len(m.runs) != 2 {
		t.Errorf("past the bound: %v, %d runs", err, len(m.runs))
	}
}
