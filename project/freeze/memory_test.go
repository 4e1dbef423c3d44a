package freeze

import (
	"errors"
	"testing"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/project/sign"
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

// The backlog counts the signatures of inline rows.
func TestSignaturesAreCounted(t *testing.T) {
	path := testkit.WriteCapture(t, "one", testkit.Started, testkit.Message, testkit.Snapshot, testkit.Finished)
	key, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	freezeOne := func(signing *sign.Settings) (row Row, bytes int) {
		s := Settings{Sign: signing, onRow: func(n int) { bytes += n }}
		if err := s.Normalize(); err != nil {
			t.Fatal(err)
		}
		b := &batch{settings: s}
		in := inputs.File(path)
		defer in.Close()
		return b.freezeInline(t.Context(), in, s).rows[0], bytes
	}
	_, without := freezeOne(nil)
	row, with := freezeOne(&sign.Settings{Signers: []sign.Signer{key}})
	if row.SignatureJSON == nil || with-without != len(*row.SignatureJSON) {
		t.Errorf("%d bytes without a signature, %d with it: %+v", without, with, row)
	}
}
