package capture

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/internal/testkit"
)

func TestImport(t *testing.T) {
	for _, in := range []string{"", twoEvents, "[1,2]", " {}\n{}", "\uFEFF \n", strings.Repeat(twoEvents, 1<<14)} {
		for how, r := range map[string]io.Reader{
			"whole": strings.NewReader(in), "half": iotest.HalfReader(strings.NewReader(in)), "error with data": iotest.DataErrReader(strings.NewReader(in)),
		} {
			dir := filepath.Join(t.TempDir(), "c")
			m, count, err := Import(t.Context(), r, dir, Settings{Tool: testTool, Arrivals: true, Labels: map[string]string{"a": "b"}})
			if err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			if m.Source.Kind != KindFile || m.End != EndEOF || m.Framing != DetectFraming([]byte(in)) || m.Files.Arrivals != nil || m.Files.Request != nil || !m.FirstByteAt.IsZero() {
				t.Errorf("%s: manifest %+v", how, m)
			}
			if diff := cmp.Diff(&File{int64(len(in)), digest.Of([]byte(in))}, m.Response()); diff != "" {
				t.Errorf("%s: response (-want +got):\n%s", how, diff)
			}
			if got := testkit.Contents(t, dir); got[m.Framing.FileName()] != in || len(got) != 2 {
				t.Errorf("%s: %d files, response of %d bytes", how, len(got), len(got[m.Framing.FileName()]))
			}
			frames, err := readAll(t, open(t, dir, ""))
			if err != io.EOF || len(frames) != count.Events() {
				t.Errorf("%s: reading it back: %d frames where %d were counted, %v", how, len(frames), count.Events(), err)
			}
		}
	}
}

func TestImportGivenFraming(t *testing.T) {
	m, _, err := Import(t.Context(), strings.NewReader("{}"), filepath.Join(t.TempDir(), "c"), Settings{Tool: testTool, Framing: SSE})
	if err != nil || m.Framing != SSE {
		t.Errorf("manifest %+v, %v", m, err)
	}
}

func TestImportOccupied(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	write(t, create(t, dir, nil), EndEOF)
	before := testkit.Contents(t, dir)
	if _, _, err := Import(t.Context(), strings.NewReader("x"), dir, Settings{Tool: testTool}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, testkit.Contents(t, dir)); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
}

func TestImportBroken(t *testing.T) {
	broken := errors.New("broken")
	parent := t.TempDir()
	m, _, err := Import(t.Context(), iotest.ErrReader(broken), filepath.Join(parent, "c"), Settings{Tool: testTool})
	if m != nil || !errors.Is(err, broken) || len(testkit.Contents(t, parent)) != 0 {
		t.Errorf("manifest %+v, error %v, left %v", m, err, testkit.Contents(t, parent))
	}
	dir := filepath.Join(parent, "d")
	m, _, err = Import(t.Context(), io.MultiReader(strings.NewReader(twoEvents), iotest.ErrReader(broken)), dir, Settings{Tool: testTool})
	if !errors.Is(err, broken) || m == nil || m.End != EndError || m.Response().Bytes != int64(len(twoEvents)) {
		t.Fatalf("manifest %+v, error %v", m, err)
	}
	if frames, err := readAll(t, open(t, dir, "")); err != io.EOF || len(frames) != 2 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
}

// Import returns when its context is done, even while the reader waits.
func TestImportCancelled(t *testing.T) {
	stopped := errors.New("stopped by the test")

	ctx, cancel := context.WithCancelCause(t.Context())
	r, w := io.Pipe() // nothing is written to it
	defer w.Close()
	cancel(stopped)
	parent := t.TempDir()
	m, _, err := Import(ctx, r, filepath.Join(parent, "c"), Settings{Tool: testTool})
	if m != nil || !errors.Is(err, stopped) || len(testkit.Contents(t, parent)) != 0 {
		t.Errorf("manifest %+v, error %v, left %v", m, err, testkit.Contents(t, parent))
	}

	ctx, cancel = context.WithCancelCause(t.Context())
	dir := filepath.Join(parent, "d")
	m, _, err = Import(ctx, &cancelling{first: twoEvents, cancel: func() { cancel(stopped) }, end: t.Context()}, dir, Settings{Tool: testTool})
	if !errors.Is(err, stopped) || m == nil {
		t.Fatalf("manifest %+v, error %v", m, err)
	}
	if m.End != EndCancelled || m.Response().Bytes != int64(len(twoEvents)) {
		t.Errorf("manifest %+v", m)
	}
	if frames, err := readAll(t, open(t, dir, "")); err != io.EOF || len(frames) != 2 {
		t.Errorf("%d frames, %v", len(frames), err)
	}
}

// cancelling is a reader that calls cancel in its second Read, which then blocks until
// the end of the test.
type cancelling struct {
	first  string
	cancel func()
	end    context.Context
}

func (c *cancelling) Read(p []byte) (int, error) {
	if c.first == "" {
		c.cancel()
		<-c.end.Done()
		return 0, io.EOF
	}
	n := copy(p, c.first)
	c.first = c.first[n:]
	return n, nil
}

// Bytes up to the limit are kept. A response that ends at the limit is complete.
func TestImportLimit(t *testing.T) {
	for limit, want := range map[int64]End{1: EndLimit, 9: EndLimit, 17: EndLimit, 18: EndEOF, 19: EndEOF, 0: EndEOF, 1 << 40: EndEOF} {
		for how, r := range map[string]io.Reader{
			"whole": strings.NewReader(twoEvents), "one byte": iotest.OneByteReader(strings.NewReader(twoEvents)), "error with data": iotest.DataErrReader(strings.NewReader(twoEvents)),
		} {
			dir := filepath.Join(t.TempDir(), "c")
			m, count, err := Import(t.Context(), r, dir, Settings{Tool: testTool, MaxBytes: limit})
			if err != nil {
				t.Fatalf("limit %d, %s: %v", limit, how, err)
			}
			kept := twoEvents
			if want == EndLimit {
				kept = twoEvents[:limit]
			}
			if m.End != want || testkit.Contents(t, dir)[m.Framing.FileName()] != kept || count.Events() != strings.Count(kept, "\n\n") {
				t.Errorf("limit %d, %s: end %s, %d events, %d bytes", limit, how, m.End, count.Events(), m.Response().Bytes)
			}
		}
	}
}

// Invalid settings are rejected before a byte is read.
func TestImportChecksFirst(t *testing.T) {
	r := strings.NewReader(twoEvents)
	parent := t.TempDir()
	m, _, err := Import(t.Context(), r, filepath.Join(parent, "c"), Settings{Tool: testTool, Labels: map[string]string{"a": "\xff"}})
	if m != nil || err == nil || r.Len() != len(twoEvents) || len(testkit.Contents(t, parent)) != 0 {
		t.Errorf("manifest %+v, error %v, %d bytes unread", m, err, r.Len())
	}
}
