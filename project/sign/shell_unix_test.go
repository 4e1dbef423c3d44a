//go:build unix

package sign

import (
	"encoding/base64"
	"path/filepath"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// TestSignerCommand starts a signer whose command has quotes, a variable and a redirection.
func TestSignerCommand(t *testing.T) {
	t.Parallel()
	key, err := NewPrivateKey(Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	answer := filepath.Join(t.TempDir(), "the answer")
	testkit.Write(t, answer, "key "+base64.StdEncoding.EncodeToString(key.Public().der)+"\n")
	c, err := Start(t.Context(), `read -r request; [ "$request" = key ] && cat 3<'`+answer+`' <&3; ! read -r end`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Public().ID != key.Public().ID {
		t.Errorf("the key is %s, want %s", c.Public().ID, key.Public().ID)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
