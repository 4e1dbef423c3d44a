package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/page"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
	"github.com/p20export/p20export/cmd/internal/bench/traffic"
)

// agentName is the name of the agent in the server.
const agentName = "bench"

// startAgent starts the agent.
func startAgent(ctx context.Context) (*processes.Process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p, address, err := processes.Start(ctx, processes.FirstLine, self, "agent")
	return p, "http://" + address, err
}

// startServe starts p20export serve on a log.
func (s *settings) startServe(ctx context.Context, l *logs.Log, agent string) (*processes.Process, string, error) {
	address := l.Address
	if l.Name == logs.SQLite {
		address = "sqlite:" + address
	}
	p, listening, err := processes.Start(ctx, processes.Listening, s.program, "serve", "--listen", "127.0.0.1:0", "--store", address,
		"--upstream", agentName+"="+agent, "--log-format", "json", "--max-readers", strconv.Itoa(s.readers+100))
	return p, "http://" + listening, err
}

// A crowd are running readers.
type crowd struct {
	cmd    *exec.Cmd
	output *bufio.Reader
	errors bytes.Buffer
}

// startReaders starts readers, and returns when all have joined.
func startReaders(ctx context.Context, args ...string) (*crowd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &crowd{cmd: exec.CommandContext(ctx, self, append([]string{"readers"}, args...)...)}
	c.cmd.Stderr = &c.errors
	output, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.output = bufio.NewReader(output)
	if _, err := c.output.ReadString('\n'); err != nil {
		_ = c.cmd.Wait()
		return nil, fmt.Errorf("the readers: %w\n%s", err, c.errors.Bytes())
	}
	return c, nil
}

// wait returns what the readers report at the end.
func (c *crowd) wait() (r reading, err error) {
	problem := json.NewDecoder(c.output).Decode(&r)
	if err := c.cmd.Wait(); err != nil {
		return r, fmt.Errorf("the readers: %w\n%s", err, c.errors.Bytes())
	}
	return r, problem
}

// kill ends the readers.
func (c *crowd) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// read starts readers and waits for them.
func read(ctx context.Context, args ...string) (reading, error) {
	c, err := startReaders(ctx, args...)
	if err != nil {
		return reading{}, err
	}
	return c.wait()
}

// readRun starts a run and reads its response.
func readRun(ctx context.Context, url, thread, run string, p traffic.Plan, args ...string) (reading, error) {
	body, err := p.Request(thread, run)
	if err != nil {
		return reading{}, err
	}
	return read(ctx, append([]string{"-url", url, "-body", string(body)}, args...)...)
}

// A measurement measures a log with a server, and returns a row of a table.
type measurement func(ctx context.Context, l *logs.Log, p *processes.Process, url string) (row string, err error)

// onEachLog measures each log once, with a server on it and an agent. It returns a table that
// begins with head.
func (s *settings) onEachLog(ctx context.Context, head string, measure measurement) (string, error) {
	for _, name := range s.logs {
		row, err := s.onLog(ctx, name, measure)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		head += row
	}
	return head + fmt.Sprintf("\nMeasured once, on %s.\n", page.Today()), nil
}

// onLog measures a log with a server on it and an agent.
func (s *settings) onLog(ctx context.Context, name string, measure measurement) (row string, err error) {
	l, err := s.place.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, l.CloseAndRemove()) }()
	agent, upstream, err := startAgent(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	p, url, err := s.startServe(ctx, l, upstream)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	return measure(ctx, l, p, url)
}
