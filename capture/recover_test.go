package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// The times of the four reads of interrupted, in microseconds, and the sizes so far.
var (
	readTimes = []int{0, 3, 12, 27}
	readEnds  = []int{3, 7, 11, 13}
)

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

// Recover keeps exactly the bytes with a time of arrival, wherever the response and the
// arrivals were cut.
func TestRecoverCut(t *testing.T) {
	whole := interrupted(t, nil)
	root := openRoot(t, t.TempDir())
	for i := range len(whole.response) + 1 {
		for j := range len(whole.arrivals) + 1 {
			b := whole
			b.response, b.arrivals = b.response[:i], b.arrivals[:j]
			name := fmt.Sprintf("%d-%d", i, j)
			b.lay(t, root, name)
			got, err := Recover(t.Context(), root, name, recoverTool)
			if err != nil {
				t.Fatal(name, err)
			}
			if got.Capture != name+"-recovered" {
				t.Errorf("name %s", got.Capture)
			}
			b.check(t, root, name, got)
			if t.Failed() {
				t.Fatalf("response %q, arrivals %q", b.response, b.arrivals)
			}
			if err := errors.Join(root.RemoveAll(name), root.RemoveAll(got.Capture)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Without a whole claim, nothing is recovered, and nothing is touched if bytes arrived.
func TestRecoverWithoutHead(t *testing.T) {
	whole := interrupted(t, nil)
	root := openRoot(t, t.TempDir())
	claims := []string{strings.Repeat("\x00", len(whole.claim)), strings.Repeat(" ", MaxManifestBytes+1), "{}"}
	for i := range len(whole.claim) - 1 { // the last byte is a line feed
		claims = append(claims, whole.claim[:i])
	}
	for i, claim := range claims {
		b := whole
		b.claim = claim
		name := fmt.Sprint(i)
		b.lay(t, root, name)
		if claim == "" && i%2 == 0 {
			if err := root.WriteFile(filepath.Join(name, ClaimName), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := testkit.Contents(t, root.Name())
		_, err := Recover(t.Context(), root, name, recoverTool)
		f := mustFind(t, err, finding.CaptureUnfinished)
		if !strings.Contains(f.Hint, "response.ndjson") {
			t.Errorf("hint %q", f.Hint)
		}
		if diff := cmp.Diff(before, testkit.Contents(t, root.Name())); diff != "" {
			t.Fatalf("files were changed:\n%s", diff)
		}
		if err := root.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
		// If nothing arrived, the files are only set aside.
		b.response = ""
		b.lay(t, root, name)
		got, err := Recover(t.Context(), root, name, recoverTool)
		if err != nil || got.Capture != "" || got.Manifest != nil || got.Remainder != name {
			t.Fatalf("%+v, %v", got, err)
		}
		b.checkRemainder(t, root, name)
		if err := root.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	if left := testkit.Contents(t, root.Name()); len(left) != 0 {
		t.Errorf("%v left", left)
	}
}

// A capture without arrivals is kept completely.
func TestRecoverWithoutArrivals(t *testing.T) {
	b := interrupted(t, func(s *Settings) { s.Arrivals, s.Request, s.Labels = false, nil, nil })
	root := openRoot(t, t.TempDir())
	b.lay(t, root, "c")
	got, err := Recover(t.Context(), root, "c", recoverTool)
	if err != nil {
		t.Fatal(err)
	}
	m := got.Manifest
	if got.Response != 13 || got.Lost != 0 || m.Files.Arrivals != nil || m.Files.Request != nil || !m.EndedAt.Equal(m.StartedAt) || !m.FirstByteAt.IsZero() {
		t.Errorf("%+v, %+v", got, m)
	}
	testkit.RequireNames(t, filepath.Join(root.Name(), got.Capture), ManifestName, "response.ndjson")
}

// Zeros at the end of a text, which a loss of power can leave, did not arrive.
func TestRecoverZeros(t *testing.T) {
	for _, zeros := range []int{1, 7, 64 << 10, 200_000} {
		b := interrupted(t, nil)
		whole := len(b.response)
		for _, kept := range []int{0, 1, whole - 1, whole} {
			b.response = b.response[:kept] + strings.Repeat("\x00", zeros)
			root := openRoot(t, t.TempDir())
			b.lay(t, root, "c")
			got, err := Recover(t.Context(), root, "c", recoverTool)
			if err != nil {
				t.Fatal(err)
			}
			if got.Response != int64(kept) || got.Lost != int64(zeros) {
				t.Errorf("%d bytes and %d zeros: %+v", kept, zeros, got)
			}
			b = interrupted(t, nil)
		}
	}
}

// Recover never touches a capture that is being written or is finished, or anything that
// is not a capture, and follows no link.
func TestRecoverRefuses(t *testing.T) {
	root := openRoot(t, t.TempDir())
	in := func(name string) string { return filepath.Join(root.Name(), name) }
	w := createIn(t, root, "open")
	write(t, createIn(t, root, "closed"), EndEOF, "x")
	whole := interrupted(t, nil)
	whole.lay(t, root, "real")
	for _, name := range []string{"response", "arrivals", "request", "claim", "other"} {
		b := whole
		switch name {
		case "response":
			b.response = ""
		case "arrivals":
			b.arrivals = ""
		case "request":
			b.request = ""
		case "claim":
			b.claim = ""
		case "other":
			b = broken{request: "{}"}
		}
		b.lay(t, root, name)
	}
	testkit.Write(t, in("file"), "x")
	for link, to := range map[string]string{
		"link": "real", "response/response.ndjson": "../real/response.ndjson", "arrivals/arrivals.tsv": "../real/arrivals.tsv",
		"request/request.json": "../real/request.json", "claim/capture.json.tmp": "../real/capture.json.tmp",
	} {
		if err := os.Symlink(to, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	before := testkit.Contents(t, root.Name())
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	isLink := func(err error) bool {
		var f finding.Finding
		return errors.As(err, &f) && f.Code == finding.CaptureFileLink
	}
	anyError := func(err error) bool { return err != nil }
	for name, want := range map[string]func(error) bool{
		"open": is(ErrInUse), "closed": is(ErrFinished), "none": is(fs.ErrNotExist),
		"response": isLink, "arrivals": isLink, "request": isLink, "claim": isLink,
		"link": anyError, "other": anyError, "file": anyError, ".": anyError, "": anyError, "..": anyError, "real/../real": anyError,
	} {
		if got, err := Recover(t.Context(), root, name, recoverTool); got != nil || !want(err) {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
	}
	if diff := cmp.Diff(before, testkit.Contents(t, root.Name())); diff != "" {
		t.Errorf("files were changed:\n%s", diff)
	}
	write(t, w, EndEOF, "x")
}

// Recover uses a complete copy, sets an incomplete one aside, and leaves everything else
// that has the name.
func TestRecoverAgain(t *testing.T) {
	whole := interrupted(t, nil)
	root := openRoot(t, t.TempDir())
	whole.lay(t, root, "c")
	first, err := Recover(t.Context(), root, "c", recoverTool)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(t.Context(), root, "c", recoverTool); err == nil {
		t.Error("a remainder is recovered")
	}
	// The program was killed before it set anything aside.
	if err := root.RemoveAll("c"); err != nil {
		t.Fatal(err)
	}
	whole.lay(t, root, "c")
	again, err := Recover(t.Context(), root, "c", Tool{"p20export", "another"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
	whole.check(t, root, "c", again)

	// Another capture has the same name: its copy is not used.
	if err := root.RemoveAll("c"); err != nil {
		t.Fatal(err)
	}
	other := whole
	other.response = strings.Replace(other.response, "1", "2", 1)
	other.lay(t, root, "c")
	got, err := Recover(t.Context(), root, "c", recoverTool)
	if err != nil || got.Capture != "c-recovered-2" {
		t.Fatalf("%+v, %v", got, err)
	}
	other.check(t, root, "c", got)

	// Files, links, other directories, and captures that are being written are left.
	whole.lay(t, root, "d")
	if err := os.Symlink("c", filepath.Join(root.Name(), "d-recovered")); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(root.Name(), "d-recovered-2"), "x")
	w := createIn(t, root, "d-recovered-3")
	whole.lay(t, root, "d-recovered-4") // not a copy
	copied := interrupted(t, func(s *Settings) { s.Labels = map[string]string{"a": "1", RecoveredFrom: "d"} })
	copied.arrivals = ""
	copied.lay(t, root, "d-recovered-5")
	before := testkit.Contents(t, filepath.Join(root.Name(), "d-recovered-4"))
	if got, err = Recover(t.Context(), root, "d", recoverTool); err != nil || got.Capture != "d-recovered-6" {
		t.Fatalf("%+v, %v", got, err)
	}
	whole.check(t, root, "d", got)
	copied.checkRemainder(t, root, "d-recovered-5")
	if diff := cmp.Diff(before, testkit.Contents(t, filepath.Join(root.Name(), "d-recovered-4"))); diff != "" {
		t.Errorf("another capture was changed:\n%s", diff)
	}
	write(t, w, EndEOF, "x")

	// An incomplete copy of a capture that is still there is only set aside.
	whole.lay(t, root, "e")
	copied = interrupted(t, func(s *Settings) { s.Labels = map[string]string{"a": "1", RecoveredFrom: "e"} })
	copied.lay(t, root, "e-recovered")
	if got, err := Recover(t.Context(), root, "e-recovered", recoverTool); err != nil || got.Capture != "" || got.CopyOf != "e" {
		t.Errorf("%+v, %v", got, err)
	}
	copied.checkRemainder(t, root, "e-recovered")
}

// A capture that only has the label of a copy is recovered like any other.
func TestRecoverFalseCopy(t *testing.T) {
	labelled := interrupted(t, func(s *Settings) { s.Labels = map[string]string{"a": "1", RecoveredFrom: "c"} })
	for name, change := range map[string]func(original *broken){
		"without a claim":  func(original *broken) { original.claim = "" },
		"another response": func(original *broken) { original.response = strings.Replace(original.response, "1", "2", 1) },
		"fewer bytes":      func(original *broken) { original.response = original.response[:5] },
		"other times":      func(original *broken) { original.arrivals = strings.Replace(original.arrivals, "\t3\n", "\t4\n", 1) },
		"another request":  func(original *broken) { original.request = "{}" },
		"another start": func(original *broken) {
			original.claim = strings.ReplaceAll(original.claim, `"started_at": "2`, `"started_at": "1`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			original := interrupted(t, nil)
			before := original
			if change(&original); original == before {
				t.Fatal("nothing was changed")
			}
			root := openRoot(t, t.TempDir())
			original.lay(t, root, "c")
			labelled.lay(t, root, "c-recovered")
			got, err := Recover(t.Context(), root, "c-recovered", recoverTool)
			if err != nil || got.Capture != "c-recovered-recovered" || got.CopyOf != "" {
				t.Fatalf("%+v, %v", got, err)
			}
			labelled.check(t, root, "c-recovered", got)
			if original.claim == "" {
				return
			}
			if err := errors.Join(root.RemoveAll("c-recovered"), root.RemoveAll("c-recovered-recovered")); err != nil {
				t.Fatal(err)
			}
			labelled.lay(t, root, "c-recovered")
			if got, err = Recover(t.Context(), root, "c", recoverTool); err != nil || got.Capture != "c-recovered-2" {
				t.Fatalf("%+v, %v", got, err)
			}
			if got, err = Recover(t.Context(), root, "c-recovered", recoverTool); err != nil {
				t.Fatal(err)
			}
			labelled.check(t, root, "c-recovered", got)
		})
	}
}

// A claim of an older version is a complete manifest, whose first byte may be lost.
func TestRecoverCompleteClaim(t *testing.T) {
	for _, arrivals := range []bool{false, true} {
		root := openRoot(t, t.TempDir())
		w, err := CreateIn(root, "c", Settings{Source: Source{Kind: KindProxy, URL: "http://h/"}, Framing: SSE, StartedAt: testStart, Tool: testTool, Arrivals: arrivals})
		if err != nil {
			t.Fatal(err)
		}
		write(t, w, EndEOF, "data: {}\n\n")
		if err := root.Rename("c/"+ManifestName, "c/"+ClaimName); err != nil {
			t.Fatal(err)
		}
		if arrivals {
			err = root.Remove("c/" + ArrivalsName)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := Recover(t.Context(), root, "c", recoverTool)
		if err != nil || got.Capture != "c-recovered" || !got.Manifest.FirstByteAt.IsZero() || (got.Response == 0) != arrivals {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// If the files were already set aside in part, they are found.
func TestRecoverHalfSetAside(t *testing.T) {
	whole := interrupted(t, nil)
	root := openRoot(t, t.TempDir())
	whole.lay(t, root, "c")
	first, err := Recover(t.Context(), root, "c", recoverTool)
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Rename("c/capture.json.tmp"+RemainderSuffix, "c/capture.json.tmp"); err != nil {
		t.Fatal(err)
	}
	// A program was killed while it renamed a file by means of a hard link.
	if err := root.Link("c/response.ndjson"+RemainderSuffix, "c/response.ndjson"); err != nil {
		t.Fatal(err)
	}
	again, err := Recover(t.Context(), root, "c", recoverTool)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
	whole.check(t, root, "c", again)
}

// cancelledAfter is a context that is cancelled after n calls of Err.
type cancelledAfter struct {
	context.Context
	n int
}

func (c *cancelledAfter) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

// A large response is copied as a stream, and a cancelled copy leaves nothing behind.
func TestRecoverLarge(t *testing.T) {
	root := openRoot(t, t.TempDir())
	w := createIn(t, root, "c")
	p := bytes.Repeat([]byte("data: x\n\n"), 1<<20)
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	w.claim.Close() // as if the program had been killed
	before := testkit.Contents(t, root.Name())
	ctx := &cancelledAfter{context.Background(), 400}
	if _, err := Recover(ctx, root, "c", recoverTool); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, testkit.Contents(t, root.Name())); diff != "" {
		t.Error("files were changed")
	}
	got, err := Recover(t.Context(), root, "c", recoverTool)
	if err != nil || got.Response != int64(len(p)) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A capture that is held is not recovered, and one that was closed is not held.
func TestHold(t *testing.T) {
	root := openRoot(t, t.TempDir())
	w := createIn(t, root, "c")
	if _, err := Hold(root, "c"); !errors.Is(err, ErrInUse) {
		t.Errorf("while it is written: %v", err)
	}
	w.claim.Close() // as a crash does
	release, err := Hold(root, "c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(t.Context(), root, "c", testTool); !errors.Is(err, ErrInUse) {
		t.Errorf("while it is held: %v", err)
	}
	release()
	if _, err := w.Close(EndEOF); err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(root, "c"); !errors.Is(err, ErrFinished) {
		t.Errorf("when closed: %v", err)
	}
}

// Recover can find the claim of a new capture before it is locked. The capture begins
// nevertheless.
func TestRecoverNewClaim(t *testing.T) {
	root := openRoot(t, t.TempDir())
	d, err := makeDirectoryIn(root, "c")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	f, err := d.create(ClaimName)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := Recover(t.Context(), root, "c", testTool); err != nil || got.Capture != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := d.lockClaim(f); err != nil {
		t.Fatal(err)
	}
	if used, err := InUse(root, "c"); err != nil || !used {
		t.Errorf("in use: %v, %v", used, err)
	}
	testkit.RequireNames(t, filepath.Join(root.Name(), "c"), ClaimName)
}

// Captures can be created in a store that is being recovered.
func TestCreateDuringRecover(t *testing.T) {
	root := openRoot(t, t.TempDir())
	for i := range 100 {
		name := fmt.Sprint(i)
		begun, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			close(begun)
			for range 20 {
				_, _ = Recover(t.Context(), root, name, testTool)
			}
		}()
		<-begun
		w := createIn(t, root, name)
		<-done
		write(t, w, EndEOF, "data: {}\n\n")
	}
}

// A name to which nothing can be appended is shortened.
func TestRecoverLongName(t *testing.T) {
	whole := interrupted(t, nil)
	for name, want := range map[string]string{
		strings.Repeat("n", 245):      strings.Repeat("n", 245) + "-recovered",
		strings.Repeat("n", 255):      strings.Repeat("n", 245) + "-recovered",
		strings.Repeat("\u00e9", 127): strings.Repeat("\u00e9", 122) + "-recovered",
	} {
		root := openRoot(t, t.TempDir())
		whole.lay(t, root, name)
		got, err := Recover(t.Context(), root, name, recoverTool)
		if err != nil || got.Capture != want {
			t.Fatalf("%+v, %v", got, err)
		}
		whole.check(t, root, name, got)
	}
}

// A response in another framing than that of the claim is not forgotten.
func TestRecoverOtherFraming(t *testing.T) {
	whole := interrupted(t, nil)
	for _, both := range []bool{false, true} {
		root := openRoot(t, t.TempDir())
		whole.lay(t, root, "c")
		var err error
		if both {
			err = root.WriteFile("c/response.sse", []byte("data: 1"), 0o600)
		} else {
			err = root.Rename("c/response.ndjson", "c/response.sse")
		}
		if err != nil {
			t.Fatal(err)
		}
		want := int64(len(whole.response))
		if both {
			want = int64(len("data: 1"))
		}
		got, err := Recover(t.Context(), root, "c", recoverTool)
		if err != nil || got.Lost != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
}
