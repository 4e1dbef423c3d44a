package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// TestSecretsInURLs gives URLs with a password, most of them malformed, to every command that
// takes one, and to some that take files. No output contains the password.
func TestSecretsInURLs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	request := filepath.Join(dir, "request.json")
	testkit.Write(t, request, `{"threadId":"t","runId":"r","messages":[]}`)
	const secret = "hunter2"
	for _, url := range []string{
		"http://ann:hunter2@127.0.0.1:port/",
		"http://ann:hunter2@ 127.0.0.1/",
		"http://ann:hunter2%zz@127.0.0.1/",
		"http://ann:hunter2/@127.0.0.1:1/",
		"http://ann:hunter2@[::1/",
		"http://ann:x?hunter2@127.0.0.1:0x1/",
		"http:/ann:hunter2@127.0.0.1/",
		"http//ann:hunter2@127.0.0.1/",
		"http:///ann:hunter2@127.0.0.1/",
		"://ann:hunter2@127.0.0.1/",
		"ann:hunter2@127.0.0.1:8000",
		"ftp://ann:hunter2@127.0.0.1/",
		"http://ann:hunter2@127.0.0.1:99999/",
		"http://ann:hunter2@127.0.0.1/\x7f",
		"http://127.0.0.1:port/?password=hunter2",
		"http://127.0.0.1:port/#hunter2",
	} {
		for _, args := range [][]string{
			{"capture", url, "--input", request, "-o", filepath.Join(dir, "out")},
			{"capture", "--from", "http://" + url, "-o", filepath.Join(dir, "out")},
			{"discover", url},
			{"proxy", "--listen", "127.0.0.1:0", "--upstream", url, "--captures", filepath.Join(dir, "captures")},
			{"proxy", url},
			{"serve", "--listen", "127.0.0.1:0", "--store", "sqlite:" + filepath.Join(dir, "log.db"), "--upstream", "a=" + url},
			{"serve", "--listen", "127.0.0.1:0", "--store", "sqlite:" + filepath.Join(dir, "log.db"), "--upstream", url},
			{"serve", "--listen", url, "--store", "sqlite:" + filepath.Join(dir, "log.db"), "--upstream", "a=http://127.0.0.1:1/"},
			{"serve", url},
			{"replay", "../../discovery/captures/adk/one-turn", "--listen", "127.0.0.1:0", "--allow-origin", url},
			{"log", "threads", "--store", url},
		} {
			var stdout, stderr bytes.Buffer
			if status := run(args, &stdout, &stderr); status == 0 || strings.Contains(stdout.String()+stderr.String(), secret) {
				t.Errorf("%q: exit status %d\n%s%s", args, status, &stdout, &stderr)
			}
		}
	}
}
