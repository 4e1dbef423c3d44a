package seal_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/store/seal"
)

// noteSigner signs notes with the key of an operator.
type noteSigner struct {
	note.Verifier
	key *sign.PrivateKey
}

func (s noteSigner) Sign(text []byte) ([]byte, error) { return s.key.Sign(context.Background(), text) }

// sign signs any text, as a checkpoint whose origin is its first line.
func (o *operator) sign(t testing.TB, text string) string {
	t.Helper()
	return o.signAs(t, seal.OriginOf(o.Name, thread), text)
}

func (o *operator) signAs(t testing.TB, origin, text string) string {
	t.Helper()
	vkey, err := seal.VerifierKey(origin, o.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := note.Sign(&note.Note{Text: text}, noteSigner{v, o.key})
	if err != nil {
		t.Fatal(err)
	}
	return string(signed)
}

// validUntil trusts the key of the operator for a time, and others without limits.
func (o *operator) validUntil(t testing.TB, until string, others ...*sign.PrivateKey) *sign.Trust {
	t.Helper()
	text := "valid-until: " + until + "\n" + string(o.key.Public().PEM())
	for _, key := range others {
		text += "name: another\n" + string(key.Public().PEM())
	}
	file := filepath.Join(t.TempDir(), "keys.pem")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	trust, err := sign.ReadTrust(file)
	if err != nil {
		t.Fatal(err)
	}
	return trust
}
