package discovery

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// HarnessName is the file that describes a harness, in its directory.
const HarnessName = "harness.json"

// Harness is a server that runs a real integration.
type Harness struct {
	Name        string      `json:"name"`
	Integration Integration `json:"integration"`
	// Command starts the server in the harness's directory. Once it accepts
	// connections it prints one line, "listening on URL"; SIGTERM ends it.
	Command []string `json:"command"`

	dir string
}

// Integration is the package whose endpoint the harness runs.
type Integration struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// String is the name and the version.
func (i Integration) String() string { return strings.TrimSpace(i.Name + " " + i.Version) }

// LoadHarness reads a harness's description strictly.
func LoadHarness(dir string) (*Harness, error) {
	h := Harness{dir: dir}
	path := filepath.Join(dir, HarnessName)
	if err := load(path, &h); err != nil {
		return nil, err
	}
	if !plainName.MatchString(h.Name) {
		return nil, fmt.Errorf("%s: name %q is not plain: lower-case letters, digits and single dashes or dots", path, h.Name)
	}
	if len(h.Command) == 0 {
		return nil, fmt.Errorf("%s: no command", path)
	}
	return &h, nil
}

const (
	// startLimit is how long a server may take to accept connections: a cold
	// start imports an integration's whole dependency tree.
	startLimit = 2 * time.Minute
	// grace is how long it may take to end after SIGTERM before it is killed.
	grace = 10 * time.Second
)

// Server is a harness that accepts connections at URL.
type Server struct {
	URL string

	cmd *exec.Cmd
	end context.CancelCauseFunc
	log tail
}

// Start starts a harness and waits until it accepts connections. The server
// ends with the context, and with Stop at the latest.
func (h *Harness) Start(ctx context.Context) (*Server, error) {
	name := h.Command[0]
	if strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		abs, err := filepath.Abs(filepath.Join(h.dir, name))
		if err != nil {
			return nil, err
		}
		name = abs
	}
	ctx, end := context.WithCancelCause(ctx)
	s := &Server{cmd: exec.CommandContext(ctx, name, h.Command[1:]...), end: end}
	s.cmd.Dir, s.cmd.Stderr = h.dir, &s.log
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = grace
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		end(err)
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		end(err)
		return nil, fmt.Errorf("harness %s does not start; is it installed? %w", h.Name, err)
	}
	late := time.AfterFunc(startLimit, func() { end(fmt.Errorf("it did not say so within %s", startLimit)) })
	defer late.Stop()
	reader := bufio.NewReader(io.LimitReader(out, tailBytes))
	line, err := reader.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		cause := context.Cause(ctx)
		s.Stop()
		return nil, fmt.Errorf("harness %s does not say where it listens: %w\n%s", h.Name, cmp.Or(cause, err, errNotListening), s.Log())
	}
	s.URL = url
	go io.Copy(io.Discard, out) // lest a server that goes on printing waits for a reader
	return s, nil
}

var errNotListening = errors.New(`the first line of its output is not "listening on URL"`)

// Stop ends the server and waits for its end.
func (s *Server) Stop() {
	s.end(context.Canceled)
	_ = s.cmd.Wait()
}

// Log returns the end of what the server wrote to its standard error. It is
// complete after Stop.
func (s *Server) Log() string { return s.log.String() }

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

const tailBytes = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailBytes; over > tailBytes {
		t.kept = bytes.Clone(t.kept[over:])
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.kept) }
