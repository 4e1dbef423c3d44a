package sign

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/authority"
)

// world has those who sign in the tests. ann, bob and carl are trusted, and so is the
// authority; eve and the stranger are not. The records are only bytes: Check knows no more.
type world struct {
	record, other       []byte
	ann, bob, carl, eve *PrivateKey
	authority, stranger *authority.Authority
	t                   testing.TB
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{record: []byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[1, 2]}` + "\n"), other: []byte(`{"subject":[3]}` + "\n"), t: t}
	w.ann, w.bob, w.carl, w.eve = newKey(t, Ed25519), newKey(t, ECDSAP256), newKey(t, Ed25519), newKey(t, Ed25519)
	w.authority, w.stranger = authority.New(t), authority.New(t)
	return w
}

func newKey(t testing.TB, kind KeyType) *PrivateKey {
	t.Helper()
	key, err := NewPrivateKey(kind)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign returns an envelope with a payload of the type of records.
func (w *world) sign(payload []byte, by ...Signer) []byte {
	w.t.Helper()
	return w.signAs(PayloadType, payload, by...)
}

func (w *world) signAs(payloadType string, payload []byte, by ...Signer) []byte {
	w.t.Helper()
	data, err := Sign(w.t.Context(), payloadType, payload, by...)
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

// trusted is a block of a trust file.
type trusted struct {
	name, notes string
	block       []byte
}

// everyone returns the trust in ann, bob, carl and the authority.
func (w *world) everyone() []trusted {
	return []trusted{
		{"ann", "", w.ann.Public().PEM()},
		{"bob", "", w.bob.Public().PEM()},
		{"carl", "", w.carl.Public().PEM()},
		{"authority", "", w.authority.Root.PEM()},
	}
}

// trust reads a trust file with the blocks.
func (w *world) trust(blocks ...trusted) (*Trust, error) {
	w.t.Helper()
	var b bytes.Buffer
	for _, one := range blocks {
		fmt.Fprintf(&b, "name: %s\n%s%s", one.name, one.notes, one.block)
	}
	path := filepath.Join(w.t.TempDir(), "trust.pem")
	testkit.Write(w.t, path, b.Bytes())
	return ReadTrust(path)
}

// from and until are lines of trust files.
func from(t time.Time) string  { return "valid-from: " + t.UTC().Format(time.RFC3339) + "\n" }
func until(t time.Time) string { return "valid-until: " + t.UTC().Format(time.RFC3339) + "\n" }

// encode64 returns standard base64.
func encode64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
