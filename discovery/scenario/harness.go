package scenario

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/p20export/p20export/discovery/analysis"
	"github.com/p20export/p20export/finding"
)

// HarnessName is the name of the file that describes a harness.
const HarnessName = "harness.json"

// Harness is a server that runs a real integration.
type Harness struct {
	Name        string               `json:"name"`
	Integration analysis.Integration `json:"integration"`
	// Command starts the server in the directory of the harness. The server must
	// print the line "listening on URL" when it accepts connections, and must exit
	// on SIGTERM.
	Command []string `json:"command"`

	dir               string
	startLimit, grace time.Duration
}

// LoadHarness reads the description of the harness in dir. It rejects unknown keys.
func LoadHarness(ctx context.Context, dir string) (*Harness, error) {
	h := Harness{dir: dir, startLimit: startLimit, grace: grace}
	path := filepath.Join(dir, HarnessName)
	if err := loadFile(ctx, path, "a harness.json", &h); err != nil {
		return nil, err
	}
	if !plainName().MatchString(h.Name) {
		return nil, fmt.Errorf("%s: invalid name %q: use lower-case letters and digits, separated by single dashes or dots", path, h.Name)
	}
	if h.Integration.Name == "" || h.Integration.Version == "" {
		return nil, fmt.Errorf("%s: the integration must have a name and a version", path)
	}
	if len(h.Command) == 0 {
		return nil, fmt.Errorf("%s: no command", path)
	}
	return &h, nil
}

const (
	// startLimit is the time for a server to accept connections. A cold start imports
	// the whole dependency tree of an integration.
	startLimit = 2 * time.Minute
	// grace is the time for a server to exit after SIGTERM before it is killed.
	grace = 10 * time.Second
)

// Server is a running harness that accepts connections at URL.
type Server struct {
	URL string

	cmd       *exec.Cmd
	cancel    context.CancelFunc
	firstLine firstLine
	ended     chan struct{}
	log       tail
}

// Start starts a harness and waits until it accepts connections. It fails if ctx is done
// before that. Afterwards the server runs until Stop, so that cancelling ctx does not cut
// off the current capture.
//
// On Unix systems, the server runs in its own process group. Ctrl-C in a terminal does not
// reach it, and Stop ends all processes of the group. If this program exits without Stop,
// even by SIGKILL, the group is killed; this needs /bin/sh. On other systems, Stop ends
// only the server process, and the server keeps running if this program is killed.
//
// Cancelling kill immediately kills everything that Stop would end.
func (h *Harness) Start(ctx, kill context.Context) (*Server, error) {
	name := h.Command[0]
	if strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		abs, err := filepath.Abs(filepath.Join(h.dir, name))
		if err != nil {
			return nil, err
		}
		name = abs
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	group, err := newGroup()
	if err != nil {
		end()
		return nil, fmt.Errorf("cannot start the shell that kills %s when this program ends: %w", h.Name, err)
	}
	s := &Server{cmd: exec.CommandContext(life, name, h.Command[1:]...), cancel: end, ended: make(chan struct{})}
	s.firstLine.line = make(chan string, 1)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = h.dir, &s.firstLine, &s.log
	s.cmd.WaitDelay = h.grace
	group.add(s.cmd)
	if err := s.cmd.Start(); err != nil {
		end()
		group.end()
		return nil, fmt.Errorf("cannot start %s; is it installed? %w", h.Name, err)
	}
	go func() {
		defer context.AfterFunc(kill, func() { _ = s.cmd.Process.Kill(); group.kill() })()
		_ = s.cmd.Wait()
		group.end()
		close(s.ended)
	}()
	if err := s.waitForURL(ctx, h.startLimit); err != nil {
		s.Stop()
		return nil, fmt.Errorf("%s: %w\n%s", h.Name, err, s.Log())
	}
	return s, nil
}

// waitForURL waits until the server prints its URL.
func (s *Server) waitForURL(ctx context.Context, limit time.Duration) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case line := <-s.firstLine.line:
		return s.setURL(line)
	case <-s.ended:
		select {
		case line := <-s.firstLine.line:
			return s.setURL(line)
		default:
			return fmt.Errorf("the server exited before it printed its URL: %s", s.cmd.ProcessState)
		}
	case <-late.C:
		return fmt.Errorf("the server did not print its URL within %s", limit)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Server) setURL(line string) error {
	at, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	u, err := url.Parse(at)
	if !ok || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf(`the first line of its output is %s, not "listening on URL"`, finding.Quote(line))
	}
	s.URL = at
	return nil
}

// Stop stops the server and waits until it has exited. It may be called more than once.
func (s *Server) Stop() {
	s.cancel()
	<-s.ended
}

// Log returns the last part of the server's standard error. It must be called after Stop.
func (s *Server) Log() string { return s.log.String() }

// firstLine is an io.Writer that sends the first line written to it, or its beginning if
// the line is longer than lineBytes. It discards everything after that.
type firstLine struct {
	buffer []byte
	done   bool
	line   chan string // of capacity 1
}

const lineBytes = 4 << 10

func (f *firstLine) Write(p []byte) (int, error) {
	if f.done {
		return len(p), nil
	}
	f.buffer = append(f.buffer, p[:min(len(p), lineBytes)]...)
	line, _, whole := bytes.Cut(f.buffer, []byte("\n"))
	if f.done = whole || len(f.buffer) >= lineBytes; f.done {
		f.line <- string(line)
	}
	return len(p), nil
}

// tail is an io.Writer that keeps the last part of what is written to it.
type tail struct{ data []byte }

const tailBytes = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - tailBytes; over > tailBytes {
		t.data = bytes.Clone(t.data[over:])
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.data) }
