package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

// The times of the four reads of interrupted, in microseconds, and the sizes so far.
var (
	readTimes = []int{0, 3, 12, 27}
	readEnds  = []int{3, 7, 11, 13}
)

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
