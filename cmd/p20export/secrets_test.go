package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
)

// TestSecretsInURLs gives URLs with a password, most of them malformed, to every command, in the
// place of a URL, a file, a thread, a name or a number. No output contains the password.
func TestSecretsInURLs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	request := filepath.Join(dir, "request.json")
	testkit.Write(t, request, `{"threadId":"t","runId":"r","messages":[]}`)
	file := filepath.Join(dir, "kept.db")
	if err := appendEntries(file, []byte(entryLine("s1", "event", testkit.Started))); err != nil {
		t.Fatal(err)
	}
	kept := "sqlite:" + file
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
			{"capture", "http://127.0.0.1:1/", "--input", url, "-o", filepath.Join(dir, "out")},
			{"capture", "http://127.0.0.1:1/", "--input", request, "-o", url},
			{"discover", url},
			{"proxy", "--listen", "127.0.0.1:0", "--upstream", url, "--captures", filepath.Join(dir, "captures")},
			{"proxy", url},
			{"serve", "--listen", "127.0.0.1:0", "--store", "sqlite:" + filepath.Join(dir, "log.db"), "--upstream", "a=" + url},
			{"serve", "--listen", "127.0.0.1:0", "--store", "sqlite:" + filepath.Join(dir, "log.db"), "--upstream", url},
			{"serve", "--listen", url, "--store", "sqlite:" + filepath.Join(dir, "log.db"), "--upstream", "a=http://127.0.0.1:1/"},
			{"serve", url},
			{"replay", "../../discovery/captures/adk/one-turn", "--listen", "127.0.0.1:0", "--allow-origin", url},
			{"log", "threads", "--store", url},
			{"log", "threads", "--store", "sqlite://" + url},
			{"log", "threads", "--store", "sqlite:postgres://" + url},
			{"log", "threads", url, "--store", kept},
			{"log", "runs", url, "--store", kept},
			{"log", "cat", url, "--store", kept},
			{"log", "cat", "t", "--run", url, "--store", kept},
			{"log", "export", url, "-o", filepath.Join(dir, "out"), "--store", kept},
			{"log", "export", "t", "-o", url, "--store", kept},
			{"log", "export", "t", "-o", filepath.Join(dir, "out"), "--store", url},
			{"log", "import", url, "--store", kept},
			{"log", "import", committedCapture, "--store", url},
			{"log", "delete", url, "--yes", "--store", kept},
			{"log", url},
			{"lineage", url},
			{"lineage", url, "--store", kept},
			{"lineage", "t", "--store", url},
			{"replay", url, "--listen", "127.0.0.1:0"},
			{"compact", url, "-o", filepath.Join(dir, "out")},
			{"compact", committedCapture, "-o", url},
			{"verify", url},
			{"verify", request, "--capture", url},
			{"verify", request, "--record", url},
			{"inspect", url},
			{"inspect", committedCapture, url, "--format", "json"},
			{"inspect", "--from-list", url},
			{"inspect", "--from-tar", url + ".tar.gz"},
			{"inspect", url, "--from-list", request},
			{"inspect", committedCapture, "--jobs", url},
			{"lint", url},
			{"lint", "--from-list", url},
			{"lint", "--from-tar", url},
			{"lint", url, "--from-list", request},
			{"lint", url, "--jobs", "2"},
			{"report", url, "-o", filepath.Join(dir, "out.html")},
			{"report", committedCapture, "-o", url},
			{"compare", url},
			{"compare", committedCapture, "--baseline", url},
			{"compare", committedCapture, "--write-baseline", url},
			{"freeze", url, "-o", filepath.Join(dir, "out")},
			{"freeze", committedCapture, "-o", url},
			{"validate", url},
			{"diff", request, url},
			{"assay", url, "--ndjson", "--import-time", "2026-01-31T12:00:00Z"},
			{"assay", "verify", url},
			{"recover", url},
			{"prune", url, "--older-than", "1h"},
			{"explain", url},
			{"schema", url},
			{"completion", url},
			{"help", url},
			{url},
		} {
			var stdout, stderr bytes.Buffer
			if status := run(args, &stdout, &stderr); status == 0 || strings.Contains(stdout.String()+stderr.String(), secret) {
				t.Errorf("%q: exit status %d\n%s%s", args, status, &stdout, &stderr)
			}
		}
	}
}
