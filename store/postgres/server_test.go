//go:build postgres

package postgres

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// server is a PostgreSQL server that server.sh runs.
type server struct {
	// url has no password; the server's password file is a parameter.
	url string
	dir string
}

// shared returns the server of all tests that do not stop theirs.
func shared(t testing.TB) server {
	t.Helper()
	return server{
		url: variable(t, "P20EXPORT_POSTGRES") + "?passfile=" + url.QueryEscape(variable(t, "PGPASSFILE")),
		dir: filepath.Join(variable(t, "P20EXPORT_POSTGRES_SERVERS"), "main"),
	}
}

func variable(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set; run make postgres", name)
	}
	return value
}

var started atomic.Int64

// newServer starts another server, which is removed after the test.
func newServer(t testing.TB) server {
	t.Helper()
	s := server{dir: filepath.Join(variable(t, "P20EXPORT_POSTGRES_SERVERS"), fmt.Sprintf("%d-%d", os.Getpid(), started.Add(1)))}
	t.Cleanup(func() { s.control(t, "remove") })
	s.url = s.start(t)
	return s
}

// start starts the server, and returns its URL.
func (s server) start(t testing.TB) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(s.control(t, "start")), "\n")
	if len(lines) != 2 {
		t.Fatalf("server.sh start printed %q", lines)
	}
	return lines[0] + "?passfile=" + url.QueryEscape(lines[1])
}

// control runs a command of server.sh, and returns its output.
func (s server) control(t testing.TB, command string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("./server.sh", append([]string{command, s.dir}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("server.sh %s: %v\n%s", command, err, stderr.String())
	}
	return string(out)
}

var schemas atomic.Int64

// schema returns the URL of a log of the server that does not exist yet.
func (s server) schema() string {
	return s.url + fmt.Sprintf("&search_path=log_%d_%d", os.Getpid(), schemas.Add(1))
}

// connect connects to a database without the package.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// run executes SQL that returns no rows.
func run(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
