package sign

import (
	"bufio"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/p20export/p20export/finding"
)

// Public returns the public key.
func (k *PrivateKey) Public() *PublicKey { return k.public }

// Sign implements Signer.
func (k *PrivateKey) Sign(_ context.Context, message []byte) ([]byte, error) {
	if k.public.Type == Ed25519 {
		return k.signer.Sign(rand.Reader, message, crypto.Hash(0))
	}
	sum := sha256.Sum256(message)
	return k.signer.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// Command is a program that has a key and signs with it. It is asked by lines on its
// standard input, and answers each with a line on its standard output:
//
//	key                    key BASE64          the public key, a DER SubjectPublicKeyInfo
//	sign BASE64            signature BASE64    the signature of the message
//
// Instead of an answer, it can write "error" and a text. At the end of its input, it ends.
type Command struct {
	public *PublicKey
	mu     sync.Mutex // one question at a time
	cmd    *exec.Cmd
	in     io.WriteCloser
	pipe   io.Closer // of out
	out    *bufio.Reader
	failed error // after which nothing is asked
}

// maxAnswer bounds a line of a signer.
const maxAnswer = 64 << 10

// Start lets a shell (sh, or cmd.exe on Windows) start the command of a signer, and asks for
// its key. Its standard error is that of this program. The shell is killed when ctx ends.
// Close must be called.
func Start(ctx context.Context, command string) (*Command, error) {
	if strings.TrimSpace(command) == "" {
		return nil, errors.New("the command of the signer is empty")
	}
	c := &Command{cmd: shell(ctx, command)}
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, signerFailed("it cannot be started: %v", err)
	}
	c.in, c.pipe, c.out = in, out, bufio.NewReaderSize(out, maxAnswer)
	der, err := c.ask(ctx, "key", "key")
	if err == nil {
		var key any
		if key, err = x509.ParsePKIXPublicKey(der); err == nil {
			c.public, err = NewPublicKey(key)
		}
		if err != nil {
			err = signerFailed("its key: %v", err)
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func signerFailed(format string, args ...any) error {
	return finding.New(finding.SignerFailed, "the signer failed: %s", finding.Printable(fmt.Sprintf(format, args...)))
}

// Public implements Signer.
func (c *Command) Public() *PublicKey { return c.public }

// Sign implements Signer.
func (c *Command) Sign(ctx context.Context, message []byte) ([]byte, error) {
	return c.ask(ctx, "sign "+base64.StdEncoding.EncodeToString(message), "signature")
}

// ask writes a line and returns the decoded value of the answer, which must begin with the
// given word. After an answer that is not one of the protocol, or the end of ctx, nothing is
// asked any more; "error" answers only the one question.
func (c *Command) ask(ctx context.Context, line, word string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return nil, c.failed
	}
	// A process that the shell has started can live longer than the shell, and keeps its
	// ends of the pipes.
	stop := context.AfterFunc(ctx, func() {
		c.cmd.Process.Kill()
		c.in.Close()
		c.pipe.Close()
	})
	first, rest, err := c.exchange(line)
	if !stop() {
		c.failed = context.Cause(ctx)
		return nil, c.failed
	}
	if err == nil && first == "error" {
		return nil, signerFailed("%s", rest)
	}
	var value []byte
	if err == nil {
		if value, err = base64.StdEncoding.Strict().DecodeString(rest); first != word || err != nil {
			err = signerFailed("want %q and base64 as its answer", word)
		}
	}
	c.failed = err
	return value, err
}

// exchange writes a line and returns the first word of the answer, and the rest.
func (c *Command) exchange(line string) (first, rest string, _ error) {
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		return "", "", signerFailed("it does not read its input: %v", err)
	}
	answer, err := c.out.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", "", signerFailed("its answer has more than %d bytes", maxAnswer)
	case err != nil:
		return "", "", signerFailed("it ended without an answer")
	}
	first, rest, _ = strings.Cut(strings.TrimRight(string(answer), "\r\n"), " ")
	return first, rest, nil
}

// closeGrace is the time that a signer has to end after the end of its input.
const closeGrace = 5 * time.Second

// Close ends the input of the signer, and waits until it has ended. A signer that does not
// end is killed.
func (c *Command) Close() error {
	c.in.Close()
	defer time.AfterFunc(closeGrace, func() { c.cmd.Process.Kill() }).Stop()
	if err := c.cmd.Wait(); err != nil && c.failed == nil {
		return signerFailed("it ended with: %v", err)
	}
	return nil
}
