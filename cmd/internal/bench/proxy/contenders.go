package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/p20export/p20export/cmd/internal/bench/processes"
)

// A contender is what is between the client and the agent.
type contender struct {
	name    string
	process *processes.Process // nil for the direct connection
	url     string
	// captures is the directory of the captures, or "".
	captures string
	results  []result
	rss      float64 // the peak memory of all its processes after the last measurement, in MiB
}

// A result is what one measurement with a contender showed.
type result struct {
	received
	cpu    float64 // user and system time of the contender in seconds
	stored float64 // seconds from the end of the last stream until everything was stored
	whole  int     // captures that have the whole stream
}

// Names of the contenders. The recorders follow, one for each --sync.
const (
	direct    = "none"
	bareProxy = "bare ReverseProxy"
	nginx     = "nginx"
)

// syncs are the values of --sync.
var syncs = []string{"end", "interval=50ms", "each"}

func recorder(sync string) string { return "p20export proxy --sync " + sync }

// largeQueue is a recorder whose queue holds everything that the throughput is measured with. It
// is measured only there.
var largeQueue = recorder(syncs[0]) + " --queue-bytes 1073741824"

func contenderNames() []string {
	names := []string{direct, bareProxy, nginx}
	for _, sync := range syncs {
		names = append(names, recorder(sync))
	}
	return append(names, largeQueue)
}

// close stops a contender. Its directory is removed, unless captures are left in it.
func (c *contender) close() error {
	err := c.process.Stop()
	if c.captures != "" {
		err = errors.Join(err, os.Remove(c.captures))
	}
	return err
}

// startAgent starts the agent.
func (s *settings) startAgent(ctx context.Context) (*processes.Process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p, address, err := processes.Start(ctx, processes.FirstLine, self, "agent")
	return p, "http://" + address, err
}

// startContender starts what is between the client and the agent. The command that is in front
// of the contender's own, if any, runs it.
func (s *settings) startContender(ctx context.Context, name, agent string, front ...string) (*contender, error) {
	c := &contender{name: name, url: agent}
	var argv []string
	find := processes.Listening
	switch name {
	case direct:
		return c, nil
	case bareProxy:
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv, find = []string{self, "bare", agent}, processes.FirstLine
	case nginx:
		p, address, err := processes.StartNginx(ctx, s.nginx, filepath.Join(s.dir, "nginx"), []string{strings.TrimPrefix(agent, "http://")}, front...)
		c.process, c.url = p, "http://"+address
		return c, err
	default:
		dir, err := os.MkdirTemp(s.dir, "captures-")
		if err != nil {
			return nil, err
		}
		c.captures = dir
		flags := strings.Fields(strings.TrimPrefix(name, "p20export proxy "))
		argv = append([]string{s.program, "proxy", "--listen", "127.0.0.1:0", "--upstream", agent, "--captures", dir, "--log-format", "json"}, flags...)
	}
	p, address, err := processes.Start(ctx, find, append(front, argv...)...)
	c.process, c.url = p, "http://"+address
	return c, err
}

// collect counts the captures that have all bytes of a stream, and removes all captures.
func (c *contender) collect(size int64) (whole int, err error) {
	paths, err := filepath.Glob(filepath.Join(c.captures, "*", "capture.json"))
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		var manifest struct {
			End   string
			Files map[string]struct{ Bytes int64 }
		}
		if err := json.Unmarshal(text, &manifest); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		if manifest.End == "eof" && manifest.Files["response.sse"].Bytes == size {
			whole++
		}
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			return 0, err
		}
	}
	return whole, nil
}
