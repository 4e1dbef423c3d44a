package seal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// committed returns the vectors, and a log that has the entries of their checkpoint but no seal.
func committed(t testing.TB) (*vectors, store.Log) {
	t.Helper()
	var v vectors
	if err := json.Unmarshal(testkit.Read(t, vectorsFile), &v); err != nil {
		t.Fatal(err)
	}
	log := memory.New()
	vectorEntries(t, log)
	return &v, log
}

// FuzzCheckpoint checks that only the text that the operator has signed is accepted, and that it
// always has the same verdict.
func FuzzCheckpoint(f *testing.F) {
	v, log := committed(f)
	o := vectorOperator(f)
	text, _, _ := strings.Cut(v.Checkpoint, "\n\n")
	f.Add([]byte(v.Checkpoint))
	for _, r := range v.Refused {
		f.Add([]byte(r.File))
	}
	key := store.Key{Tenant: v.Tenant, Thread: v.Thread}
	f.Fuzz(func(t *testing.T, data []byte) {
		row := o.verify(t, log, key, seal.Known{From: "it", Seals: []store.Seal{{Checkpoint: data}}})
		signed := strings.HasPrefix(string(data), text+"\n\n— ")
		switch row.Verdict {
		case seal.Unchanged:
			if !signed || row.Position != 315 || len(row.Findings) > 0 {
				t.Errorf("%+v", row)
			}
		case seal.Broken, seal.Unsealed:
			if string(data) == v.Checkpoint || len(row.Findings) == 0 {
				t.Errorf("%+v", row)
			}
		default:
			t.Errorf("%+v", row)
		}
	})
}

// FuzzProof checks that a proof that is read is written as the same bytes, and that what an
// accepted one proves is in the log.
func FuzzProof(f *testing.F) {
	v, log := committed(f)
	o := vectorOperator(f)
	key := store.Key{Tenant: v.Tenant, Thread: v.Thread}
	all := readAll(f, log, key)
	for _, p := range v.Proofs {
		f.Add([]byte(p.Proof))
	}
	for _, r := range v.Refused {
		f.Add([]byte(r.File))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := seal.DecodeProof(data)
		if err != nil {
			if p != nil {
				t.Error("a proof and an error")
			}
			return
		}
		if again, err := p.Encode(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("it is written as\n%s, %v", again, err)
		}
		if _, s, _ := o.policy.CheckProof(t.Context(), p); s.Signer == nil {
			return
		}
		for _, e := range p.Entries {
			if !bytes.Equal(seal.AppendLeaf(nil, e), seal.AppendLeaf(nil, all[e.Position-1])) {
				t.Errorf("it proves %+v", e)
			}
		}
	})
}
