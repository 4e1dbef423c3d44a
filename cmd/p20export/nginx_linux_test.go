//go:build postgres || browser

package main

import (
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// nginxDir returns a directory for nginx, and an address that is free.
func nginxDir(t *testing.T) (dir, address string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "p20export-nginx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer free.Close()
	return dir, free.Addr().String()
}

// adapt returns text with each key of replaced replaced by its value. If two keys match at the same
// place, the longer one is replaced. The test fails if text does not contain a key.
func adapt(t *testing.T, text string, replaced map[string]string) string {
	t.Helper()
	var pairs []string
	longest := func(a, b string) int { return len(b) - len(a) }
	for _, from := range slices.SortedFunc(maps.Keys(replaced), longest) {
		if !strings.Contains(text, from) {
			t.Fatalf("the document has no %s", from)
		}
		pairs = append(pairs, from, replaced[from])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// nginxArgs are the arguments of nginx in a directory.
func nginxArgs(dir string) []string {
	return []string{"-p", dir, "-e", dir + "/errors", "-c", dir + "/nginx.conf"}
}

// configureNginx writes the configuration of nginx, which is in an http block. Temporary files
// are in the directory, and workers have the rights of the test.
func configureNginx(t *testing.T, dir, configuration string) {
	t.Helper()
	head := "daemon off; pid " + dir + "/pid; error_log " + dir + "/errors;\n"
	if os.Geteuid() == 0 {
		head += "user root;\n"
	}
	head += "events {}\nhttp {\naccess_log off; default_type text/html;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		head += kind + "_temp_path " + dir + "/" + kind + ";\n"
	}
	testkit.Write(t, filepath.Join(dir, "nginx.conf"), head+configuration+"}\n")
}

// runNginx runs nginx with the configuration of a directory, and returns when it listens.
func runNginx(t *testing.T, program, dir, address string) {
	t.Helper()
	cmd := exec.Command(program, nginxArgs(dir)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); <-ended })
	for {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			connection.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("nginx ended:\n%s", testkit.Read(t, dir+"/errors"))
		default:
		}
	}
}
