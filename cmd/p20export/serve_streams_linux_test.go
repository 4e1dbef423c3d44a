//go:build client

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// A cutter passes connections on to a server, and cuts each after some bytes of its answer.
type cutter struct {
	net.Listener
	k *killable

	mu   sync.Mutex
	cuts int
}

func startCutter(t *testing.T, k *killable) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: listener, k: k}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.pass(t.Context(), client)
		}
	}()
	return c
}

// pass passes a connection on.
func (c *cutter) pass(ctx context.Context, client net.Conn) {
	defer client.Close()
	address, err := c.k.address(ctx)
	if err != nil {
		return
	}
	at, _ := url.Parse(address)
	server, err := net.Dial("tcp", at.Host)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	if _, err := io.CopyN(client, server, 500+rand.Int64N(30_000)); err == nil {
		c.mu.Lock()
		c.cuts++
		c.mu.Unlock()
	}
}

// TestClientStreamsCut lets the official clients of Durable Streams for TypeScript and Python
// read runs while they are appended, in both live modes, through connections that are cut, and
// from a server that is killed. Each gets every event once.
func TestClientStreamsCut(t *testing.T) {
	modules, python := os.Getenv("P20EXPORT_STREAMS"), os.Getenv("P20EXPORT_STREAMS_PYTHON")
	if modules == "" || python == "" {
		t.Fatal("P20EXPORT_STREAMS or P20EXPORT_STREAMS_PYTHON is not set: run make client")
	}
	programs, err := filepath.Abs("../../serve/testdata/streams")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "read.mjs")
	testkit.Write(t, script, string(testkit.Read(t, filepath.Join(programs, "read.mjs"))))
	if err := os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(filepath.Dir(script), "node_modules")); err != nil {
		t.Fatal(err)
	}
	k := startKillable(t, "--store", "sqlite:"+filepath.Join(t.TempDir(), "events.db"), "--allow-append", "--append-timeout", "1h") // the producer waits for the readers
	c := startCutter(t, k)
	ctx, cancel := context.WithTimeout(t.Context(), patience) // only if it hangs
	defer cancel()

	a := &appender{Rand: rand.New(rand.NewPCG(rand.Uint64(), 0)), ks: []*killable{k}, thread: "t"}
	a.events = []string{`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`}
	for n := range 400 {
		a.events = append(a.events, fmt.Sprintf(`{"type":"CUSTOM","name":%q,"value":%d}`, strings.Repeat("n", 500), n))
	}
	a.events = append(a.events, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)

	var reading sync.WaitGroup
	lines := make(chan struct{}, 1<<16)
	read := func() {
		for _, command := range [][]string{{"node", script}, {python, filepath.Join(programs, "read.py")}} {
			for _, live := range []string{"sse", "long-poll"} {
				cmd := exec.CommandContext(ctx, command[0], command[1], "http://"+c.Addr().String()+"/streams/t/r", live)
				out := &lineWriter{lines: lines}
				var stderr bytes.Buffer
				cmd.Stdout, cmd.Stderr = out, &stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				reading.Go(func() {
					err := cmd.Wait()
					if got := strings.Fields(out.text.String()); err != nil || !slices.Equal(got, a.events) {
						t.Errorf("%s, %s: %v, %d events, want %d\n%s\n%s", command[0], live, err, len(got), len(a.events), stderr.String(), strings.Join(got, "\n"))
					}
				})
			}
		}
	}
	// The run goes on as the readers do, so that they read live.
	kills, seen := 0, 0
	begun := sync.OnceFunc(read)
	a.sent = func(events int) {
		begun()
		for ; seen < 4*(events-10) && ctx.Err() == nil; seen++ {
			select {
			case <-lines:
			case <-ctx.Done():
			}
		}
		if a.IntN(20) == 0 {
			k.kill(t, syscall.SIGKILL)
			k.start(t)
			kills++
		}
	}
	if _, err := a.run(ctx); err != nil {
		t.Error(err)
	}
	reading.Wait()
	t.Logf("%d kills, %d cuts", kills, c.cuts)
	if kills < 2 || c.cuts < 20 {
		t.Error("the readers were hardly interrupted")
	}
}

// A lineWriter keeps what is written to it, and reports each line.
type lineWriter struct {
	text  bytes.Buffer // not embedded: its ReadFrom would be used in place of Write
	lines chan<- struct{}
}

func (w *lineWriter) Write(p []byte) (int, error) {
	for range bytes.Count(p, []byte("\n")) {
		w.lines <- struct{}{}
	}
	return w.text.Write(p)
}
