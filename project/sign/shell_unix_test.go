//go:build unix

package sign

import (
	"context"
	"encoding/base64"
	"errors"
	"path/filepath"
	"syscall"
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

// TestSignerIsLeft ends the context while a signer, whose shell has started other processes,
// does not answer. They end with their input, which Start closes then.
func TestSignerIsLeft(t *testing.T) {
	t.Parallel()
	asked := filepath.Join(t.TempDir(), "asked")
	if err := syscall.Mkfifo(asked, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	go func() {
		testkit.Read(t, asked)
		cancel(stopped)
	}()
	if c, err := Start(ctx, `read -r request; echo asked > '`+asked+`'; (cat | cat) 2>&-`); err == nil {
		c.Close()
		t.Error("the signer has answered")
	}
	if context.Cause(ctx) != stopped {
		t.Error(context.Cause(ctx))
	}
}
