//go:build postgres

package postgres

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
)

// newOperator returns settings to seal threads, and a policy that trusts the seals.
func newOperator(t *testing.T) (*seal.Settings, *seal.Policy) {
	t.Helper()
	key, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, key.Public().PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	trust, err := sign.ReadTrust(file)
	if err != nil {
		t.Fatal(err)
	}
	return &seal.Settings{Name: "agents.example/log", Signers: []sign.Signer{key}}, &seal.Policy{Trust: trust}
}

// verified checks that a thread is sealed up to a position and unchanged.
func verified(t *testing.T, policy *seal.Policy, log store.Log, thread string, position int64) {
	t.Helper()
	row, err := policy.Verify(t.Context(), log, store.Key{Thread: thread})
	if err != nil || row.Verdict != seal.Unchanged || row.Position != position {
		t.Errorf("thread %s: %+v, %v", thread, row, err)
	}
}
