package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
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

// prepareRefusals writes the files that refusals name, and returns a listener, whose
// address is in use.
func prepareRefusals(t *testing.T) net.Listener {
	t.Helper()
	for _, name := range []string{"file", "cap/capture.json"} {
		testkit.Write(t, name, strings.Repeat("x\n", 100))
	}
	used, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { used.Close() })
	return used
}

// refusals returns the refusals of every server.
func refusals(busy string) []refusal {
	return []refusal{
		{"--listen 0.0.0.0:0", 2, `--listen "0.0.0.0:0" is not a loopback address`},
		{"--metrics 0.0.0.0:0", 2, `--metrics "0.0.0.0:0" is not a loopback address`},
		{"--metrics=", 2, `--metrics "" must be HOST:PORT, such as`},
		{"--captures=", 2, "--captures is empty; name a directory for the captures"},
		{"--captures cap", 2, "--captures cap is a capture; nothing may be written there"},
		{"--captures file", 3, "cannot serve: --captures: file is not a directory\nnext: name a directory that p20export may create or write to"},
		{"--captures c --label stream=x", 2, "--label stream: p20export itself sets this label; choose another key"},
		{"--captures c --label thread=x", 2, "--label thread: p20export itself sets this label; choose another key"},
		{"--tls-cert file", 2, "give both --tls-cert and --tls-key, or neither"},
		{"--tls-key file", 2, "give both --tls-cert and --tls-key, or neither"},
		{"--tls-cert x --tls-key y", 3, `cannot serve: --tls-cert "x", --tls-key "y": x does not exist`},
		{"--tls-cert file --tls-key file", 3, "next: give the certificate chain and its private key as PEM files"},
		{"--drain 5", 2, `"--drain" flag: give a unit, such as 5s`},
		{"--allow-host=", 2, `--allow-host "" must be the name or the address of a host, without a port`},
		{"--allow-host h:80", 2, `--allow-host "h:80" must be the name or the address of a host, without a port`},
		{"--log-format xml", 2, `"--log-format" flag: must be text or json`},
		{"--listen " + busy, 3, "address already in use"},
		{"--listen 192.0.2.1:0 --allow-remote", 3, "next: choose an address of this machine"},
		{"--metrics " + busy, 3, "next: stop the other program, or choose another port; port 0 is a free port"},
		{"--metrics 127.0.0.1:7800 --listen 127.0.0.1:7800", 2, `--metrics "127.0.0.1:7800" is the address of --listen; give another port`},
		{"--metrics 127.0.0.1:0 --listen 127.0.0.1:0 --drain -1s", 2, "--drain cannot be negative"},
	}
}
