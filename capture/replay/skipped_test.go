package replay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
)

// A capture in which ids cannot be replaced is skipped, and the others in its directory are
// served. If no other is left, the first reason is the error.
func TestIDsSkipped(t *testing.T) {
	const body = "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n"
	gzip := map[string]string{"content-encoding": "gzip"}
	for name, c := range map[string]struct {
		stored
		reason string
	}{
		"an unknown coding": {stored{body: "\x00\x01", headers: map[string]string{"content-encoding": "br"}}, `it has the content coding \"br\"`},
		"a damaged coding":  {stored{body: gzipped(body)[:40], headers: gzip}, "unexpected EOF"},
		"not gzip":          {stored{body: body, headers: gzip}, "gzip: invalid header"},
		"opaque":            {stored{framing: capture.Opaque, body: "\x00"}, "it has none of the framings"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.store(t, filepath.Join(dir, "a"))
			fails(t, dir, Settings{RequestIDs: true}, ErrIDs.Error())
			good := stored{body: body, started: time.Second}
			good.store(t, filepath.Join(dir, "b"))
			url, log := serve(t, dir, Settings{RequestIDs: true})
			if got := post(t, url, `{"threadId":"T","runId":"R"}`); got.status != 200 || got.body != strings.NewReplacer(`"t"`, `"T"`, `"r"`, `"R"`).Replace(body) {
				t.Errorf("%+v", got)
			}
			if got := post(t, url, `{"threadId":"T","runId":"R"}`); got.status != 404 {
				t.Errorf("the second answer: %+v", got)
			}
			lines := log()
			if strings.Count(lines, "capture skipped") != 1 || !strings.Contains(lines, filepath.Join(dir, "a")) || !strings.Contains(lines, c.reason) {
				t.Errorf("the log is\n%s", lines)
			}
			if _, err := New(t.Context(), filepath.Join(dir, "a"), Settings{RequestIDs: true}); !errors.Is(err, ErrIDs) {
				t.Errorf("on its own: %v", err)
			}
			r, err := New(t.Context(), dir, Settings{}) // without ids, all bytes are served as they are
			if err != nil || r.Len() != 2 {
				t.Errorf("without ids: %v", err)
			}
		})
	}
}

// A changed capture is never skipped.
func TestIDsChanged(t *testing.T) {
	dir := t.TempDir()
	stored{body: "data: {}\n\n"}.store(t, filepath.Join(dir, "a"))
	stored{body: "data: {}\n\n"}.store(t, filepath.Join(dir, "b"))
	if err := os.WriteFile(filepath.Join(dir, "b", "response.sse"), []byte("data: {1\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, dir, Settings{RequestIDs: true}, "digest")
}
