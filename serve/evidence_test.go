package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/discovery/report"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
)

// closed passes on the captures that were closed.
type closed chan proxy.Exchange

func (closed) Begun()                    {}
func (closed) Passed(int, time.Duration) {}
func (closed) Queued(int)                {}
func (closed) StoreFailed(error)         {}
func (closed) Refused(int)               {}
func (c closed) Ended(x proxy.Exchange)  { c <- x }
func (c closed) next(t *testing.T) string {
	t.Helper()
	select {
	case x := <-c:
		if !x.Stored {
			t.Fatalf("the capture was not closed: %+v", x)
		}
		return x.Name
	case <-time.After(patience):
		t.Fatal("no capture was closed")
		return ""
	}
}

// captures returns settings with an empty directory of captures.
func captures(t *testing.T) (proxy.Settings, closed) {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	c := make(closed, 1000)
	return proxy.Settings{Captures: root, Tool: capture.Tool{Name: "test", Version: "1"}, Observer: c}, c
}

// page writes the report page of a capture.
func page(ctx context.Context, path string, w io.Writer) error {
	return report.Render(ctx, w, path, report.Settings{Tool: record.Tool{Name: "test", Version: "1"}})
}

// answers lets the agent answer its next request with a run.
func (a *agent) answers(events ...string) {
	c := a.next()
	c.accept()
	c.send(events...)
	c.end()
}

// said returns a run with a message.
func said(thread, run, text string) []string {
	return []string{
		started(thread, run), `{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`,
		fmt.Sprintf(`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":%q}`, text), `{"type":"TEXT_MESSAGE_END","messageId":"m"}`, finished(thread, run),
	}
}

// members returns the files of the captures in an archive, by their names in it.
func members(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	files := make(map[string]string)
	for m, err := range inputs.Members(bytes.NewReader(archive)) {
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(m)
		if err != nil {
			t.Fatal(err)
		}
		files[m.Name] = string(text)
	}
	return files
}

// wantFile checks the headers of a file that a browser saves.
func (a *answer) wantFile(mediaType, name string) {
	a.t.Helper()
	for header, want := range map[string]string{
		"Content-Type": mediaType, "Content-Disposition": "attachment; filename=" + name,
		"Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		if got := a.header.Get(header); got != want {
			a.t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
}

// A run that was recorded has a capture, whose archive has the files of the capture, and a
// report page, which is that of the directory. Run ids can have any characters.
func TestEvidence(t *testing.T) {
	t.Parallel()
	log, a := newMemory(t), newAgent(t)
	recorded, closed := captures(t)
	p := start(t, log, a, serve.Settings{Exchanges: recorded, Report: page})
	for _, id := range []string{"r", "../a/b", `"><script>alert(1)</script>`, "\u202eevil\u2066", "\n\r\t", "__proto__", strings.Repeat("é", 512), "r2"} {
		go func() { a.answers(said("t", id, "Hello.")...) }()
		p.post("/agents/a", fmt.Sprintf(`{"threadId":"t","runId":%q,"messages":[],"tools":[],"context":[]}`, id)).want(http.StatusOK, "RUN_FINISHED")
		name := closed.next(t)
		var doc struct {
			Runs []struct{ Position int64 }
		}
		p.get("/threads/t/runs").decode(&doc)
		path := fmt.Sprintf("?run=%d", doc.Runs[len(doc.Runs)-1].Position)

		p.get("/threads/t/facts"+path).want(http.StatusOK, `"capture":"`+name+`"`)
		answer := p.get("/threads/t/capture" + path)
		answer.wantFile("application/x-tar", name+".tar")
		want := make(map[string]string)
		for file, text := range testkit.Contents(t, filepath.Join(recorded.Captures.Name(), name)) {
			want[name+"/"+file] = text
		}
		if diff := cmp.Diff(want, members(t, []byte(answer.text()))); diff != "" || len(want) != 4 {
			t.Errorf("%q: the archive (-directory +archive):\n%s", id, diff)
		}
		answer = p.get("/threads/t/report" + path)
		answer.wantFile("text/html; charset=utf-8", name+".html")
		var html bytes.Buffer
		if err := page(t.Context(), filepath.Join(recorded.Captures.Name(), name), &html); err != nil {
			t.Fatal(err)
		}
		if text := answer.text(); text != html.String() || !strings.Contains(text, "Hello.") {
			t.Errorf("%q: the page is not that of the capture: %s", id, text)
		}
		for _, route := range []string{"capture", "report"} {
			if head := p.do(http.MethodHead, "/threads/t/"+route+path, ""); head.status != http.StatusOK || head.text() != "" || head.header.Get("Content-Disposition") == "" {
				t.Errorf("HEAD of %s: %d %v", route, head.status, head.header)
			}
		}
	}
}

// A tenant gets its own captures, even if another one has the same thread, run and request, and
// none of another tenant.
func TestEvidenceOfTenants(t *testing.T) {
	t.Parallel()
	log, a := newMemory(t), newAgent(t)
	file := filepath.Join(t.TempDir(), "tokens")
	line := func(tenant string) string {
		return fmt.Sprintf("%s sha256:%x\n", tenant, sha256.Sum256([]byte("secret-of-"+tenant)))
	}
	if err := os.WriteFile(file, []byte(line("ann")+line("bob")+line("eve")), 0o600); err != nil {
		t.Fatal(err)
	}
	recorded, closed := captures(t)
	settings := serve.Settings{Exchanges: recorded, Report: page, Guard: serve.GuardSettings{TokenFile: file}}
	p := start(t, log, a, settings)
	bearer := func(tenant string) []string { return []string{"Authorization", "Bearer secret-of-" + tenant} }
	names := make(map[string]string)
	for _, tenant := range []string{"ann", "bob"} {
		go func() { a.answers(said("t", "r", "This is of "+tenant+".")...) }()
		p.post("/agents/a", input("t", "r"), bearer(tenant)...).want(http.StatusOK, "RUN_FINISHED")
		names[tenant] = closed.next(t)
	}
	// The log of eve and that without tenants have the same entries at the same times.
	for _, tenant := range []string{"eve", ""} {
		var list []store.Entry
		for e, err := range log.Read(t.Context(), store.Key{Tenant: "bob", Thread: "t"}, 0) {
			if err != nil {
				t.Fatal(err)
			}
			entry := *e
			entry.Data = bytes.Clone(e.Data)
			list = append(list, entry)
		}
		if _, err := log.Append(t.Context(), store.Key{Tenant: tenant, Thread: "t"}, 0, list); err != nil {
			t.Fatal(err)
		}
	}
	for tenant, name := range names {
		p.get("/threads/t/facts?run=2", bearer(tenant)...).want(http.StatusOK, `"capture":"`+name+`"`)
		for _, route := range []string{"capture", "report"} {
			text := p.get("/threads/t/"+route+"?run=2", bearer(tenant)...).text()
			if strings.Count(text, "This is of "+tenant) == 0 || strings.Count(text, "This is of ") != strings.Count(text, "This is of "+tenant) {
				t.Errorf("%s of %s: %s", route, tenant, text)
			}
		}
	}
	settings.Guard = serve.GuardSettings{}
	for tenant, of := range map[string]*process{"eve": p, "": start(t, log, nil, settings)} {
		of.get("/threads/t/facts?run=2", bearer(tenant)...).want(http.StatusOK, `"capture":null`)
		for _, route := range []string{"capture", "report"} {
			of.get("/threads/t/"+route+"?run=2", bearer(tenant)...).want(http.StatusNotFound, "no_capture")
		}
	}
}

// Runs without a finished capture of their own have none, and the answer says why.
func TestNoEvidence(t *testing.T) {
	t.Parallel()
	log, a := newMemory(t), newAgent(t)
	recorded, closed := captures(t)
	p := start(t, log, a, serve.Settings{Exchanges: recorded, AllowAppend: true})
	none := func(p *process, thread string, detail string) {
		t.Helper()
		p.get("/threads/"+thread+"/facts?run=2").want(http.StatusOK, `"capture":null`)
		p.get("/threads/"+thread+"/capture?run=2").want(http.StatusNotFound, detail)
	}
	c, answer := p.begin(a, "open", "r")
	none(p, "open", "the run has not ended")
	c.send(finished("open", "r"))
	c.end()
	answer.text()
	name := closed.next(t)
	p.get("/threads/open/capture?run=2").want(http.StatusOK, "")
	p.get("/threads/open/report?run=2").want(http.StatusNotFound, "makes no report pages")
	none(start(t, log, nil, serve.Settings{}), "open", "this server has no captures")

	p.post("/threads/appended/events", batch("appended", "r", 0, started("appended", "r"), finished("appended", "r"))).want(http.StatusOK, "finished")
	none(p, "appended", "has no capture of the run")

	// Without times of arrival, nothing says which captures could be that of the run.
	timeless := []store.Entry{
		{Stream: "s", Kind: store.Input, Data: []byte(input("timeless", "r"))},
		{Stream: "s", Kind: store.Event, Data: []byte(started("timeless", "r"))},
	}
	if _, err := log.Append(t.Context(), store.Key{Thread: "timeless"}, 0, timeless); err != nil {
		t.Fatal(err)
	}
	none(p, "timeless", "does not have the times")

	// A capture of another request or of another thread, and one behind a link, are not that of
	// the run. Neither is what only has the name of one.
	root := recorded.Captures
	manifest := testkit.Read(t, filepath.Join(root.Name(), name, capture.ManifestName))
	hide := func(from, to string) {
		t.Helper()
		changed := bytes.Replace(manifest, []byte(from), []byte(to), 1)
		if bytes.Equal(changed, manifest) {
			t.Fatalf("%s is not in %s", from, manifest)
		}
		if err := root.WriteFile(filepath.Join(name, capture.ManifestName), changed, 0o600); err != nil {
			t.Fatal(err)
		}
		none(p, "open", "has no capture of the run")
	}
	request := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(input("open", "r"))))
	hide(request, "sha256:"+strings.Repeat("0", 64))
	hide(`"thread": "open"`, `"thread": "closed"`)
	hide(`"stream": "serve:`, `"stream": "serve;`)
	hide(`"labels": {`, `"labels": {"tenant": "ann",`)
	hide(`"labels"`, `"babels"`)
	if err := root.WriteFile(filepath.Join(name, capture.ManifestName), manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	p.get("/threads/open/capture?run=2").want(http.StatusOK, "")
	claim := filepath.Join(name, capture.ClaimName) // as a process that was killed leaves it
	if err := root.Rename(filepath.Join(name, capture.ManifestName), claim); err != nil {
		t.Fatal(err)
	}
	none(p, "open", "not finished yet")
	if err := root.Rename(claim, filepath.Join(name, capture.ManifestName)); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), name)
	if err := os.Rename(filepath.Join(root.Name(), name), elsewhere); err != nil {
		t.Fatal(err)
	}
	none(p, "open", "has no capture of the run")
	if err := os.Symlink(elsewhere, filepath.Join(root.Name(), name)); err != nil {
		t.Fatal(err)
	}
	none(p, "open", "has no capture of the run")
}

// A capture that cannot be read is not sent, and the answer does not name its files.
func TestDamagedEvidence(t *testing.T) {
	t.Parallel()
	log, a := newMemory(t), newAgent(t)
	recorded, closed := captures(t)
	p := start(t, log, a, serve.Settings{Exchanges: recorded, Report: func(_ context.Context, path string, w io.Writer) error {
		_, _ = io.WriteString(w, "half a page")
		return fmt.Errorf("%s cannot be read", path)
	}})
	go func() { a.answers(said("t", "r", strings.Repeat("Hello. ", 100_000))...) }()
	p.post("/agents/a", input("t", "r")).want(http.StatusOK, "RUN_FINISHED")
	name := closed.next(t)
	answer := p.get("/threads/t/report?run=2")
	if text := answer.text(); answer.status != http.StatusServiceUnavailable || !strings.Contains(text, "capture_failed") || strings.Contains(text, name) || answer.header.Get("Content-Disposition") != "" {
		t.Errorf("the report: %d %v %s", answer.status, answer.header, text)
	}
	for _, damage := range []func(path string) error{
		func(path string) error { return os.Truncate(path, 100) },
		os.Remove,
	} {
		if err := damage(filepath.Join(recorded.Captures.Name(), name, capture.SSE.FileName())); err != nil {
			t.Fatal(err)
		}
		answer = p.get("/threads/t/capture?run=2")
		if text := answer.text(); answer.status != http.StatusServiceUnavailable || !strings.Contains(text, "capture_failed") || strings.Contains(text, name) || answer.header.Get("Content-Disposition") != "" {
			t.Errorf("the archive: %d %v %s", answer.status, answer.header, text)
		}
	}
	if err := os.RemoveAll(recorded.Captures.Name()); err != nil {
		t.Fatal(err)
	}
	p.get("/threads/t/facts?run=2").want(http.StatusOK, `"capture":null`)
}
