package sign

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/authority"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// TestTogether lets another program sign or time-stamp a record while the authority answers.
// The slower one is refused, and the record has what the faster one wrote.
func TestTogether(t *testing.T) {
	t.Parallel()
	one, two := newKey(t, Ed25519), newKey(t, ECDSAP256)
	for _, c := range []struct {
		name            string
		before          []Signer // that have signed
		slow            []Signer // of the slower program, which asks for a time-stamp
		meanwhile       func(tsa string) *Settings
		signers, stamps int
	}{
		{"a second signature during a time-stamp", []Signer{one}, nil, func(string) *Settings { return &Settings{Signers: []Signer{two}} }, 2, 0},
		{"a time-stamp during a second signature", []Signer{one}, []Signer{two}, func(tsa string) *Settings { return &Settings{Authority: tsa} }, 1, 1},
		{"two time-stamps", []Signer{one}, nil, func(tsa string) *Settings { return &Settings{Authority: tsa} }, 1, 1},
		{"two first signatures", nil, []Signer{one}, func(string) *Settings { return &Settings{Signers: []Signer{two}} }, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "run"+record.Suffix)
			stated := testkit.Read(t, "../../examples/ag-ui-compacted-message-snapshot-evidence/frozen/finished.record.json")
			testkit.Write(t, path, stated)
			do := func(s *Settings) (row Row) {
				for row = range Records(t.Context(), []string{path}, s) {
				}
				return row
			}
			if c.before != nil {
				if row := do(&Settings{Signers: c.before}); row.Verdict != project.Written {
					t.Fatalf("%+v", row)
				}
			}
			tsa := authority.New(t)
			fast := tsa.Serve()
			slow := tsa.ServeAs(func(w http.ResponseWriter, q authority.Query) {
				if row := do(c.meanwhile(fast)); row.Verdict != project.Written {
					t.Errorf("the faster program: %+v", row)
				}
				w.Header().Set("Content-Type", authority.ReplyType)
				w.Write(tsa.Reply(q))
			})
			if row := do(&Settings{Signers: c.slow, Authority: slow}); row.Verdict != project.Refused && row.Verdict != project.Failed || !finding.Has(row.Findings, finding.OutputExists) {
				t.Errorf("the slower program: %+v", row)
			}
			files, err := Read(path, len(stated), record.ReadBounded)
			if err != nil {
				t.Fatal(err)
			}
			trust := &Trust{
				keys:        []trustedKey{{one.public, "one", period{}}, {two.public, "two", period{}}},
				authorities: []trustedAuthority{{tsa.Root.Certificate, "authority", period{}}},
			}
			s, found := (&Policy{Trust: trust}).Check(t.Context(), stated, files)
			if s.State != IsSigned || len(s.Signers) != c.signers || (s.NotLaterThan != nil) != (c.stamps > 0) {
				t.Errorf("%+v %v", s, found)
			}
		})
	}
}
