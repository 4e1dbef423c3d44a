package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/p20export/p20export/internal/bench/page"
)

// A contender is what is between the client and the agent.
type contender struct {
	name    string
	process *process // nil for the direct connection
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

// A process is a running child.
type process struct {
	cmd *exec.Cmd
	// stored receives the time of each line of the log that says that an exchange is stored.
	stored chan time.Time
}

// start starts a child in a process group of its own, and returns it with its address, which
// the function finds in the first lines of its output. The context stops the child.
func start(ctx context.Context, find func(line string) (address string), argv ...string) (*process, string, error) {
	p := &process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), stored: make(chan time.Time, 10_000)}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = p.terminate
	p.cmd.WaitDelay = 10 * time.Second
	read, write, err := os.Pipe()
	if err != nil {
		return nil, "", err
	}
	p.cmd.Stdout, p.cmd.Stderr = write, write
	err = p.cmd.Start()
	write.Close()
	if err != nil {
		read.Close()
		return nil, "", err
	}
	address := make(chan string, 1)
	go func() {
		defer read.Close()
		var once sync.Once
		var printed strings.Builder
		for lines := bufio.NewScanner(read); lines.Scan(); {
			if found := find(lines.Text()); found != "" {
				once.Do(func() { address <- found })
			} else if strings.Contains(lines.Text(), "exchange stored") {
				p.stored <- time.Now()
			} else if printed.Len() < 4096 {
				fmt.Fprintln(&printed, lines.Text())
			}
		}
		once.Do(func() { fmt.Fprint(os.Stderr, printed.String()); close(address) })
	}()
	found, ok := <-address
	if !ok {
		return nil, "", errors.Join(fmt.Errorf("%s does not say its address", strings.Join(argv, " ")), p.cmd.Wait())
	}
	return p, found, nil
}

// close stops a contender. Its directory is removed, unless captures are left in it.
func (c *contender) close() error {
	err := c.process.stop()
	if c.captures != "" {
		err = errors.Join(err, os.Remove(c.captures))
	}
	return err
}

// terminate asks all processes of the group to end, since strace passes no signal on.
func (p *process) terminate() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }

// stop asks a child to end, and waits for it.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	if err := p.terminate(); err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", p.cmd.Path, err)
	}
	return nil
}

// firstLine takes the first line as the address.
func firstLine(line string) string { return line }

// listening finds the address in the log of p20export.
func listening(line string) string {
	var record struct{ Msg, Address string }
	if json.Unmarshal([]byte(line), &record) == nil && record.Msg == "listening" {
		return record.Address
	}
	return ""
}

// startAgent starts the agent.
func (s *settings) startAgent(ctx context.Context) (*process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p, address, err := start(ctx, firstLine, self, "agent")
	return p, "http://" + address, err
}

// startContender starts what is between the client and the agent. The command that is in front
// of the contender's own, if any, runs it.
func (s *settings) startContender(ctx context.Context, name, agent string, front ...string) (*contender, error) {
	c := &contender{name: name, url: agent}
	var argv []string
	find := listening
	switch name {
	case direct:
		return c, nil
	case bareProxy:
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv, find = []string{self, "bare", agent}, firstLine
	case nginx:
		return c, s.startNginx(ctx, c, agent, front)
	default:
		dir, err := os.MkdirTemp(s.dir, "captures-")
		if err != nil {
			return nil, err
		}
		c.captures = dir
		flags := strings.Fields(strings.TrimPrefix(name, "p20export proxy "))
		argv = append([]string{s.program, "proxy", "--listen", "127.0.0.1:0", "--upstream", agent, "--captures", dir, "--log-format", "json"}, flags...)
	}
	p, address, err := start(ctx, find, append(front, argv...)...)
	c.process, c.url = p, "http://"+address
	return c, err
}

// startNginx starts nginx on a free port, with a configuration that passes each part of a
// response on at once.
func (s *settings) startNginx(ctx context.Context, c *contender, agent string, front []string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	listener.Close()
	dir := filepath.Join(s.dir, "nginx")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	config := filepath.Join(dir, "nginx.conf")
	if err := page.WriteFile(config, fmt.Appendf(nil, `daemon off;
worker_processes auto;
pid nginx.pid;
error_log stderr notice;
events {
	worker_connections 4096;
}
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	upstream agent {
		server %s;
		keepalive 256;
	}
	server {
		listen %s;
		location / {
			proxy_pass http://agent;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering off;
		}
	}
}
`, strings.TrimPrefix(agent, "http://"), address)); err != nil {
		return err
	}
	started := func(line string) string {
		if strings.Contains(line, "start worker process ") {
			return address
		}
		return ""
	}
	c.process, address, err = start(ctx, started, append(front, s.nginx, "-p", dir, "-c", config, "-e", "stderr")...)
	c.url = "http://" + address
	return err
}

// group calls a function with the directory in /proc of each process of a contender.
func (c *contender) group(visit func(dir string) error) error {
	if c.process == nil {
		return nil
	}
	leader := strconv.Itoa(c.process.cmd.Process.Pid)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, path := range stats {
		if fields := statFields(path); len(fields) > 2 && fields[2] == leader {
			if err := visit(filepath.Dir(path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// statFields returns the fields of a stat file after the name of the program, which are state,
// parent, process group and so on (proc(5)), or nil.
func statFields(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil // the process ended
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// cpu returns the user and system time of a contender so far, in seconds.
func (c *contender) cpu() (float64, error) {
	var ticks float64
	err := c.group(func(dir string) error {
		fields := statFields(filepath.Join(dir, "stat"))
		for _, i := range []int{11, 12} { // utime and stime
			n, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return err
			}
			ticks += n
		}
		return nil
	})
	return ticks / 100, err // USER_HZ is 100 on all platforms of Go
}

// peak returns the sum of the peak memory of a contender's processes, in MiB.
func (c *contender) peak() (float64, error) {
	var kib float64
	err := c.group(func(dir string) error {
		n, err := strconv.ParseFloat(page.Find(filepath.Join(dir, "status"), `VmHWM:\s*(\d+) kB`), 64)
		kib += n
		return err
	})
	return kib / 1024, err
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
