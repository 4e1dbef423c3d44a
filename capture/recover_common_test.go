package capture

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

var recoverTool = Tool{"p20export", "0.2.0"}

// broken is the content of an unfinished capture.
type broken struct{ claim, response, arrivals, request string }

// interrupted returns what a program leaves that is killed after some writes.
func interrupted(t *testing.T, change func(*Settings)) broken {
	t.Helper()
	dir := t.TempDir()
	s := Settings{Source: Source{Kind: KindProxy, URL: "http://h/"}, Framing: NDJSON, StartedAt: testStart, Tool: testTool, Arrivals: true, Labels: map[string]string{"a": "1"}, Request: []byte(`{"x":1}`)}
	if change != nil {
		change(&s)
	}
	w, err := CreateIn(openRoot(t, dir), "c", s)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range []string{"{}\n", `{"a"`, ":1}\n", "[]"} {
		if _, err := w.WriteArrived([]byte(p), []Arrival{{len(p), testStart.Add(time.Duration(3*i*i) * time.Microsecond)}}); err != nil {
			t.Fatal(err)
		}
	}
	files := testkit.Contents(t, filepath.Join(dir, "c"))
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	return broken{files[ClaimName], files[s.Framing.FileName()], files[ArrivalsName], files[RequestName]}
}

// lay writes the files that are not empty in the new directory name of root.
func (b broken) lay(t *testing.T, root *os.Root, name string) {
	t.Helper()
	if err := root.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{ClaimName: b.claim, "response.ndjson": b.response, ArrivalsName: b.arrivals, RequestName: b.request} {
		if content == "" {
			continue
		}
		if err := root.WriteFile(filepath.Join(name, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// expected returns the response and the arrivals that Recover must keep, and the time of
// the last byte.
func (b broken) expected() (response, arrivals string, micros int) {
	kept := 0
	for i, line := range strings.SplitAfter(b.arrivals, "\n") {
		if !strings.HasSuffix(line, "\n") || kept == len(b.response) {
			break
		}
		kept, micros = min(readEnds[i], len(b.response)), readTimes[i]
		arrivals += fmt.Sprintf("%d\t%d\n", kept, micros)
	}
	return b.response[:kept], arrivals, micros
}

// check checks the capture that Recover wrote, and that the remainder has everything.
func (b broken) check(t *testing.T, root *os.Root, name string, got *Recovered) {
	t.Helper()
	response, arrivals, micros := b.expected()
	files := testkit.Contents(t, filepath.Join(root.Name(), got.Capture))
	m, err := DecodeManifest([]byte(files[ManifestName]))
	if err != nil {
		t.Fatal(err)
	}
	delete(files, ManifestName)
	want := map[string]string{"response.ndjson": response, ArrivalsName: arrivals}
	if b.request != "" {
		want[RequestName] = b.request
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(m, got.Manifest); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if m.End != EndError || m.EndedAt.Sub(m.StartedAt) != time.Duration(micros)*time.Microsecond || m.Tool != recoverTool || m.Source.URL != "http://h/" || !m.StartedAt.Equal(testStart.Truncate(time.Microsecond)) {
		t.Errorf("manifest %+v", m)
	}
	if diff := cmp.Diff(map[string]string{"a": "1", RecoveredFrom: name}, m.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if got.Response != int64(len(response)) || got.Lost != int64(len(b.response)-len(response)) || got.Remainder != name {
		t.Errorf("%+v", got)
	}
	c, err := Open(t.Context(), filepath.Join(root.Name(), got.Capture), "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.ManifestDigest() != got.Digest {
		t.Error("another digest")
	}
	if _, err := readAll(t, c); err != io.EOF {
		t.Error(err)
	}
	for _, f := range c.Findings() {
		if f.Code != finding.CaptureCutShort && f.Code != finding.EventIncomplete {
			t.Errorf("finding %+v", f)
		}
	}
	b.checkRemainder(t, root, name)
}

// checkRemainder checks that the remainder has every byte, under names that are not those
// of a capture.
func (b broken) checkRemainder(t *testing.T, root *os.Root, name string) {
	t.Helper()
	got := make(map[string]string)
	for file, content := range testkit.Contents(t, filepath.Join(root.Name(), name)) {
		original, ok := strings.CutSuffix(file, RemainderSuffix)
		if !ok {
			t.Errorf("%s is left", file)
		}
		if content != "" {
			got[original] = content
		}
	}
	want := map[string]string{ClaimName: b.claim, "response.ndjson": b.response, ArrivalsName: b.arrivals, RequestName: b.request}
	for file, content := range want {
		if content == "" {
			delete(want, file)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("remainder (-want +got):\n%s", diff)
	}
}
