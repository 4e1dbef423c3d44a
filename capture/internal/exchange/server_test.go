package exchange

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// failing is a listener that fails to accept a number of connections, and then ends.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left--; f.left < 0 {
		return nil, net.ErrClosed
	}
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
}

func (f *failing) Close() error { return nil }

// A server that cannot accept connections says so, but not for each attempt.
func TestAcceptFailures(t *testing.T) {
	var text bytes.Buffer
	server := NewServer(http.NotFoundHandler(), slog.New(slog.NewTextHandler(&text, nil)))
	if err := server.Serve(&failing{left: 5}); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if got := text.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `level=WARN msg="connections cannot be accepted" error="accept tcp: accept4: too many open files`) {
		t.Errorf("the log is\n%s", got)
	}
}

// After a while, the warning is repeated.
func TestAcceptFailuresLater(t *testing.T) {
	var text bytes.Buffer
	l := &errorLog{log: slog.New(slog.NewTextHandler(&text, nil))}
	for range 3 {
		l.Write([]byte("http: Accept error: x\n"))
		l.warned = l.warned.Add(-warnInterval / 2)
	}
	if got := strings.Count(text.String(), "WARN"); got != 2 {
		t.Errorf("%d warnings, want 2:\n%s", got, text.String())
	}
}
