package main

import (
	"bytes"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A refusal is how a server ends that is given these flags as well.
type refusal struct {
	args   string
	status int
	want   string // in its error
}

// check runs a server, which must not create a file if the command line is wrong.
func (r refusal) check(t *testing.T, file string, server ...string) {
	t.Helper()
	var stderr bytes.Buffer
	status := run(append(server, strings.Fields(r.args)...), io.Discard, &stderr)
	if got := stderr.String(); status != r.status || !strings.Contains(got, r.want) || strings.Contains(got, "secret") {
		t.Errorf("%s: exit status %d, want %d and %s\n%s", r.args, status, r.status, r.want, got)
	}
	if _, err := os.Lstat(file); err == nil && r.status == 2 {
		t.Errorf("%s: something was created", r.args)
	}
}

// Every flag is checked before anything is created. The error names the flag and says what
// to give instead.
func TestProxyRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"cap", "dir"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", filepath.Join("cap", "capture.json")} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("dir", "link"); err != nil {
		t.Fatal(err)
	}
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer used.Close()
	busy := used.Addr().String()
	for _, test := range []refusal{
		{"extra", 2, `"extra" is not expected: proxy has only flags; give the URL of the agent with --upstream`},
		{"--upstream ftp://h", 2, `--upstream "ftp://h" must be the URL of the agent, such as http://127.0.0.1:8011/`},
		{"--upstream h:80", 2, `--upstream "h:80" must be the URL`},
		{"--upstream http://h:65536/", 2, `--upstream "http://h:65536/" must be the URL`},
		{"--upstream http://h:0/", 2, `--upstream "http://h:0/" must be the URL`},
		{"--upstream http://:80/", 2, `--upstream "http://:80/" must be the URL`},
		{"--upstream http://u:secret@h/", 2, "--upstream cannot have a user or a password; the front end sends the credentials"},
		{"--upstream http://h/?q", 2, `--upstream "http://h/?q" cannot have a query or a fragment; give only`},
		{"--upstream http://h/#f", 2, "cannot have a query or a fragment"},
		{"--listen 0.0.0.0:0", 2, `--listen "0.0.0.0:0" is not a loopback address`},
		{"--metrics 0.0.0.0:0", 2, `--metrics "0.0.0.0:0" is not a loopback address`},
		{"--metrics=", 2, `--metrics "" must be HOST:PORT, such as`},
		{"--captures=", 2, "--captures is empty; name a directory for the captures"},
		{"--captures cap", 2, "--captures cap is a capture; nothing may be written there"},
		{"--captures cap/x", 2, "--captures cap/x is inside the capture"},
		{"--captures file", 3, "cannot serve: --captures: file is not a directory\nnext: name a directory that p20export may create or write to"},
		{"--captures link", 3, "cannot serve: --captures: link is a symbolic link, not a directory"},
		{"--captures link/", 3, "is a symbolic link"},
		{"--label x", 2, `--label "x" must be KEY=VALUE`},
		{"--label recovered-from=x", 2, "--label recovered-from: p20export itself sets this label; choose another key"},
		{"--label stream=x", 2, "--label stream: p20export itself sets this label; choose another key"},
		{"--label thread=x", 2, "--label thread: p20export itself sets this label; choose another key"},
		{"--max-bytes 0", 2, `"--max-bytes" flag: must be a number of bytes, at least 1 and without a unit`},
		{"--max-bytes 64M", 2, `"--max-bytes" flag: must be a number of bytes, at least 1 and without a unit`},
		{"--queue-bytes -1", 2, `"--queue-bytes" flag: must be a number of bytes, at least 1`},
		{"--max-request-bytes x", 2, `"--max-request-bytes" flag: must be a number of bytes, at least 1`},
		{"--max-exchanges 0", 2, `"--max-exchanges" flag: must be a number of exchanges, at least 1`},
		{"--on-store-failure ignore", 2, `--on-store-failure "ignore": must be pass or fail`},
		{"--sync never", 2, `--sync "never": must be end, each, or interval= with a duration such as interval=50ms`},
		{"--sync interval=", 2, `--sync "interval=": must be`},
		{"--sync interval=0s", 2, `--sync "interval=0s": must be`},
		{"--sync interval=50", 2, `--sync "interval=50": must be`},
		{"--snapshot last", 2, "--snapshot needs --freeze OUT, which freezes the captures"},
		{"--projection folded-stream", 2, "--projection needs --freeze OUT"},
		{"--profile assay", 2, "--profile needs --freeze OUT"},
		{"--freeze=", 2, "--freeze is empty; name a directory for the frozen files"},
		{"--freeze cap", 2, "--freeze cap is a capture; nothing may be written there"},
		{"--freeze store", 2, `--freeze "store" is in --captures "store"; name a directory outside it`},
		{"--freeze store/../store/a/b", 2, `is in --captures "store"; name a directory outside it`},
		{"--captures dir --freeze link/frozen", 2, `--freeze "link/frozen" is in --captures "dir"; name a directory outside it`},
		{"--freeze file/out", 3, "cannot serve: --freeze: "},
		{"--freeze file", 2, `--freeze "file" is not a directory; name a directory`},
		{"--freeze out --projection x", 2, `projection "x" is not known; the projections are`},
		{"--freeze out --snapshot first", 2, "only the projection emitted-snapshot-text selects a snapshot"},
		{"--tls-cert file", 2, "give both --tls-cert and --tls-key, or neither"},
		{"--tls-key file", 2, "give both --tls-cert and --tls-key, or neither"},
		{"--tls-cert x --tls-key y", 3, `cannot serve: --tls-cert "x", --tls-key "y": x does not exist`},
		{"--tls-cert file --tls-key file", 3, "next: give the certificate chain and its private key as PEM files"},
		{"--drain -1s", 2, "--drain cannot be negative; 0s cuts open exchanges off at once"},
		{"--drain 5", 2, `"--drain" flag: give a unit, such as 5s`},
		{"--timeout -1s", 2, "--timeout cannot be negative; without it there is no limit"},
		{"--allow-host=", 2, `--allow-host "" must be the name or the address of a host, without a port`},
		{"--allow-host h:80", 2, `--allow-host "h:80" must be the name or the address of a host, without a port`},
		{"--log-format xml", 2, `"--log-format" flag: must be text or json`},
		{"--listen " + busy, 3, `address already in use`},
		{"--metrics " + busy, 3, `next: stop the other program, or choose another port; port 0 is a free port`},
		{"--metrics 127.0.0.1:7800 --listen 127.0.0.1:7800", 2, `--metrics "127.0.0.1:7800" is the address of --listen; give another port`},
		{"--metrics 127.0.0.1:0 --listen 127.0.0.1:0 --drain -1s", 2, "--drain cannot be negative"},
		{"--listen 192.0.2.1:0 --allow-remote", 3, "next: choose an address of this machine"},
	} {
		test.check(t, "store", "proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1", "--captures", "store")
		os.Remove("store")
	}
	// A proxy of itself.
	if err := used.Close(); err != nil {
		t.Fatal(err)
	}
	port := strings.TrimPrefix(busy, "127.0.0.1")
	for _, upstream := range []string{"http://" + busy, "http://localhost" + port, "http://LocalHost" + port, "http://localhost." + port, "http://agent.localhost" + port} {
		var stderr bytes.Buffer
		if status := run([]string{"proxy", "--listen", busy, "--upstream", upstream, "--captures", "store"}, io.Discard, &stderr); status != 2 || !strings.Contains(stderr.String(), "is the address of --listen; give the address of the agent") {
			t.Errorf("%s: exit status %d\n%s", upstream, status, stderr.String())
		}
	}
}

// Every open exchange needs files, and so does the program itself.
func TestProxyOpenFiles(t *testing.T) {
	for limit, want := range map[int64]int64{0: 0, 50: 0, 106: 1, 6099: 999, 6100: 1000, math.MaxInt64: (math.MaxInt64 - 100) / 6} {
		if got := enoughFor(limit, filesOfExchange); got != want {
			t.Errorf("%d files are enough for %d exchanges, want %d", limit, got, want)
		}
	}
}
