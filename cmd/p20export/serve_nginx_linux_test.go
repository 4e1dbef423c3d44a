//go:build postgres

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/internal/testkit"
)

// TestPostgresServeNginx deploys the example resumable-chat: two servers with the flags of its
// document and one PostgreSQL log, behind a real nginx with the configuration of the document.
// Events pass at once, a thread can be read at both servers, and nobody can choose a tenant.
func TestPostgresServeNginx(t *testing.T) {
	database, err := url.Parse(os.Getenv("P20EXPORT_POSTGRES"))
	nginx := os.Getenv("P20EXPORT_NGINX")
	if err != nil || database.Host == "" || nginx == "" {
		t.Fatalf("P20EXPORT_POSTGRES or P20EXPORT_NGINX is not set (%v); run make postgres", err)
	}
	database.RawQuery = fmt.Sprint("search_path=nginx", time.Now().UnixNano())
	a := newAgent(t)
	doc := "../../examples/resumable-chat/README.md"
	var servers []string
	for i, block := range []int{0, 0} {
		line := strings.TrimSpace(strings.ReplaceAll(blocks(t, doc, "```sh serve")[block].text, "\\\n", ""))
		args := strings.Fields(line)[1:]
		for flag, value := range map[string]string{
			"--store": database.String(), "--listen": "127.0.0.1:0", "--metrics": "127.0.0.1:0",
			"--upstream": "guide=" + a.URL, "--captures": filepath.Join(t.TempDir(), fmt.Sprint("captures", i)),
		} {
			args[slices.Index(args, flag)+1] = value
		}
		// The password is in PGPASSFILE.
		at := slices.Index(args, "--password-file")
		s, address := startServer(t, slices.Delete(args, at, at+2)...)
		servers = append(servers, strings.TrimPrefix(address, "http://"))
		t.Cleanup(func() {
			s.stop(t)
		})
	}
	front := startNginx(t, nginx, blocks(t, doc, "```nginx")[0].text, servers)

	front.want(http.StatusUnauthorized, "", http.MethodGet, "/threads", "")
	front.want(http.StatusOK, "the page", http.MethodGet, "/", "alice")
	front.want(http.StatusOK, `{"threads":[],"next":null}`, http.MethodGet, "/threads", "alice")

	// The first event arrives while the agent has not sent the others, and is not its own.
	const thread = "/threads/a%2F..%2Fb"
	response := front.do(http.MethodPost, "/agents/guide", "alice", `{"threadId":"a/../b","runId":"r"}`)
	body := bufio.NewReader(response.Body)
	if line := nextData(t, body); response.StatusCode != http.StatusOK || line != testkit.Started {
		t.Fatalf("status %d: %s", response.StatusCode, line)
	}
	// nginx sends every other request to the other server.
	readers := []*bufio.Reader{body}
	for range 4 {
		r := front.do(http.MethodGet, thread+"/events", "alice", "")
		reader := bufio.NewReader(r.Body)
		if line := nextData(t, reader); line != testkit.Started {
			t.Errorf("a reader gets %s", line)
		}
		readers = append(readers, reader)
	}
	for range 2 {
		front.want(http.StatusOK, `"thread_id":"a/../b"`, http.MethodGet, "/threads", "alice")
		front.want(http.StatusConflict, `"code":"thread_busy"`, http.MethodPost, "/agents/guide", "alice", `{"threadId":"a/../b","runId":"other"}`)
		// The header of a client does not count.
		front.want(http.StatusOK, `{"threads":[],"next":null}`, http.MethodGet, "/threads", "bob", "", "P20export-Tenant", "alice")
		front.want(http.StatusNotFound, `"code":"unknown_thread"`, http.MethodGet, thread+"/runs", "bob", "", "P20export-Tenant", "alice")
	}
	close(a.release)
	for _, reader := range readers {
		if got := []string{nextData(t, reader), nextData(t, reader)}; !slices.Equal(got, []string{testkit.Snapshot, testkit.Finished}) {
			t.Errorf("the rest is %q", got)
		}
	}
	for range 2 {
		front.want(http.StatusOK, testkit.Finished, http.MethodPost, thread+"/connect", "alice", `{"threadId":"a/../b","runId":"any"}`)
	}
	// A page of another origin cannot use the password that the browser knows.
	front.want(http.StatusForbidden, "", http.MethodPost, "/agents/guide", "alice", `{"threadId":"t","runId":"r"}`, "Origin", "https://evil.example")
	front.want(http.StatusOK, "", http.MethodPost, "/agents/guide", "alice", `{"threadId":"t","runId":"r"}`, "Origin", "https://chat.example")
}

// nextData returns the data of the next event.
func nextData(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("no further event: %v", err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return strings.TrimSuffix(data, "\n")
		}
	}
}

// front is nginx before the servers.
type front struct {
	t      *testing.T
	client *http.Client
}

// startNginx starts nginx with a configuration of the document, in which addresses and paths
// are replaced.
func startNginx(t *testing.T, program, configuration string, servers []string) *front {
	t.Helper()
	dir, address := nginxDir(t)
	writeCertificate(t, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err := os.Mkdir(filepath.Join(dir, "page"), 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(dir, "page/index.html"), "the page")
	testkit.Write(t, filepath.Join(dir, "users"), "alice:{PLAIN}secret\nbob:{PLAIN}secret\n")
	configureNginx(t, dir, adapt(t, configuration, map[string]string{
		"server 127.0.0.1:8080;": "server " + servers[0] + ";", "server 127.0.0.1:8081;": "server " + servers[1] + ";",
		"listen 443": "listen " + address, "/etc/nginx/users": dir + "/users", "/var/www/resumable-chat": dir + "/page",
		"/etc/ssl/chat.example.pem": dir + "/cert.pem", "/etc/ssl/private/chat.example.key": dir + "/key.pem",
	}))
	runNginx(t, program, dir, address)
	return &front{t, clientOf(t, dir, address)}
}

// do sends a request as a user. The headers are pairs of names and values.
func (f *front) do(method, path, user, body string, headers ...string) *http.Response {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, "https://chat.example"+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if user != "" {
		r.SetBasicAuth(user, "secret")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := f.client.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { response.Body.Close() })
	return response
}

// want checks the status of a response, and that its body has a text.
func (f *front) want(status int, part, method, path, user string, rest ...string) {
	f.t.Helper()
	body := ""
	if len(rest) > 0 {
		body, rest = rest[0], rest[1:]
	}
	response := f.do(method, path, user, body, rest...)
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || !strings.Contains(string(text), part) {
		f.t.Errorf("%s %s of %s: status %d, %v\n%s", method, path, user, response.StatusCode, err, text)
	}
}

// clientOf returns a client of the server at an address, which has the certificate in cert.pem of
// the directory, under any name.
func clientOf(t *testing.T, dir, address string) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(testkit.Read(t, filepath.Join(dir, "cert.pem")))
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
