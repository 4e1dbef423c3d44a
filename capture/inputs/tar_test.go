package inputs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/ordered"
	"github.com/p20export/p20export/internal/testkit"
)

// entry is a member of an archive, a link if it has a target.
type entry struct{ name, content, target string }

// archived returns an archive.
func archived(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Size: int64(len(e.content)), Linkname: e.target}
		if e.target != "" {
			h.Typeflag = tar.TypeSymlink
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// captured returns the files of a capture directory as members of dir, sorted by name.
func captured(t testing.TB, dir string) (entries []entry) {
	t.Helper()
	files := testkit.Contents(t, "../../discovery/captures/adk/one-turn")
	for name, content := range files {
		entries = append(entries, entry{name: path.Join(dir, name), content: content})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	if len(entries) != 4 {
		t.Fatalf("%d files", len(entries))
	}
	return entries
}

var run = testkit.SSE(testkit.Started, testkit.Finished)

func checkTar(t *testing.T, name string, archive []byte, want ...string) {
	t.Helper()
	got, err := outline(t, Tar(bytes.NewReader(archive)))
	if err != nil {
		got = append(got, "error: "+message(err))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Members in capture directories are one capture, in any order; the others are captures
// themselves. Files that a manifest does not list are ignored.
func TestTar(t *testing.T) {
	one, two := captured(t, "captures/one.v1"), captured(t, "captures/one.v1/two")
	const first, second = "captures/one.v1 as one.v1 in captures", "captures/one.v1/two as two in captures/one.v1"
	plain := []entry{{name: "run.v2.sse", content: run}, {name: "a/b/run", content: run}, {name: "captures/one.v1/notes.txt", content: run}}
	const notes = "captures/one.v1/notes.txt as notes in captures/one.v1"
	checkTar(t, "one after the other", archived(t, slices.Concat(plain[:1], one, plain[1:2], two, plain[2:])...),
		"run.v2.sse as run.v2 in .", first, "a/b/run as run in a/b", second, notes)
	interleaved := []entry{one[3], two[3], one[0], two[0], plain[2], two[1], two[2], one[2], one[1]}
	checkTar(t, "interleaved", archived(t, interleaved...), notes, second, first)
	checkTar(t, "with unlisted files", archived(t, append(one, entry{name: "captures/one.v1/response.json", content: "[]"}, entry{name: "captures/one.v1/capture.json.tmp"})...), first)
	checkTar(t, "the root", archived(t, captured(t, ".")...), ". as capture in .")
	checkTar(t, "nothing", archived(t))
}

// Captures that are not complete at the end, and damaged ones, have the errors that they
// have on disk.
func TestTarIncomplete(t *testing.T) {
	one := captured(t, "c")
	for _, entries := range [][]entry{
		one[:1], one[1:2], one[2:3], one[3:], one[:3], one[1:],
		{{name: "c/capture.json.tmp"}},
		{{name: "c/capture.json", content: "{}"}, {name: "c/response.sse", content: run}},
		{{name: "c/response.sse", content: run}, {name: "c/capture.json", content: strings.Repeat(" ", capture.MaxManifestBytes+1)}},
		{{name: "c/capture.json", content: strings.Repeat(" ", 3<<20)}, {name: "c/request.json"}},
		append(slices.Clone(one[:3]), entry{name: "c/response.sse", content: "changed"}),
	} {
		dir := t.TempDir()
		for _, e := range entries {
			testkit.Write(t, filepath.Join(dir, e.name), e.content)
		}
		want := "c as c in ."
		if c, err := capture.Open(t.Context(), filepath.Join(dir, "c"), ""); err != nil {
			want += ": " + message(err)
		} else {
			c.Close()
		}
		if len(entries) == 1 && entries[0].name == "c/request.json" {
			want = "c/request.json as request in c" // no capture on disk
		}
		checkTar(t, fmt.Sprint(len(entries), " ", entries[0].name), archived(t, entries...), want)
	}
}

// Refused members are captures that cannot be opened. The rest of the archive is read.
func TestTarRefused(t *testing.T) {
	one := captured(t, "c")
	one[3] = entry{name: "c/response.sse", target: "/etc/passwd"}
	checkTar(t, "refused", archived(t, append(one, entry{name: "../up.sse", content: run}, entry{name: "a.sse", content: run}, entry{name: "./a.sse"})...),
		`c/response.sse as response in c: the member "c/response.sse" is a symbolic link, which is not followed`,
		`../up.sse as up in ..: the member "../up.sse" has a name with the element ..`,
		"a.sse as a in .",
		`./a.sse as a in .: the member "./a.sse" has the name of an earlier member`,
		"c as c in .: response.sse is missing, but listed in capture.json")
}

// The captures before the place where an archive ends are passed on.
func TestTarTruncated(t *testing.T) {
	archive := archived(t, append([]entry{{name: "a.sse", content: run}}, captured(t, "c")...)...)
	checkTar(t, "truncated", archive[:len(archive)-1024-512],
		"a.sse as a in .", "error: the archive is damaged: it ends too early; the captures that were not complete before this: 1")
	checkTar(t, "not an archive", []byte(strings.Repeat(run, 10)), "error: the file is not a tar archive")
	for in, err := range Tar(bytes.NewReader(archive[:100])).All(t.Context()) {
		if f, isVerdict := finding.FromError(err); in != nil || f.Code != finding.ArchiveMalformed || f.Hint == "" || !isVerdict {
			t.Errorf("%v, %v", in, err)
		}
	}
}

// contents reads all frames of an input twice.
func contents(t testing.TB, ctx context.Context, in *Input) string {
	t.Helper()
	read := func() string {
		c, err := in.Open(ctx)
		if err != nil {
			return message(err)
		}
		defer c.Close()
		var b strings.Builder
		request, err := c.Request()
		fmt.Fprintf(&b, "%s %s %s %s %v\n", c.Name(), c.Framing(), c.ManifestDigest(), request, err)
		for {
			f, err := c.Next()
			if err != nil {
				fmt.Fprintf(&b, "%s %v %s", message(err), c.Findings(), c.Digest())
				return b.String()
			}
			fmt.Fprintf(&b, "%d %s %s\n", f.Offset, f.Arrived, f.Data)
		}
	}
	all := read()
	if all != read() {
		t.Errorf("the second reading of %s differs", in.Path)
	}
	return all
}

// Captures of an archive have the contents that they have on disk, in memory and in the
// temporary file, while other jobs read others. Their space is used again.
func TestTarContents(t *testing.T) {
	root := os.DirFS("../../discovery/captures")
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.AddFS(root); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("data: {\"type\":\"CUSTOM\",\"name\":\"n\",\"value\":1}\n\n", 50_000) // more than a MiB
	if err := w.WriteHeader(&tar.Header{Name: "large.sse", Typeflag: tar.TypeReg, Size: int64(len(large))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, large); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, limits := range []storeLimits{defaultLimits(), {inMemory: 100_000, ahead: 100_000, temporary: 8 << 20}, {ahead: 1, temporary: 8 << 20}} {
		s := newTar(bytes.NewReader(archive.Bytes()), limits)
		inputs := func(yield func(*Input) bool) {
			for in, err := range s.All(t.Context()) {
				if err != nil {
					t.Error(err)
				} else if !yield(in) {
					return
				}
			}
		}
		captures, plain := 0, 0
		for line := range ordered.Map(t.Context(), 3, inputs, func(_ int, in *Input) string {
			defer in.Close()
			got := contents(t, t.Context(), in)
			if in.Path == "large.sse" {
				if n := strings.Count(got, `"CUSTOM"`); n != 50_000 {
					t.Errorf("%d events of a large member", n)
				}
				return "plain"
			}
			on := File(filepath.Join("../../discovery/captures", in.Path))
			if want := contents(t, t.Context(), on); got != want {
				t.Errorf("%s: %s", in.Path, cmp.Diff(want, got))
			}
			if _, err := os.Stat(filepath.Join(on.Path, capture.ManifestName)); err == nil {
				return "capture"
			}
			return "plain"
		}) {
			if line == "capture" {
				captures++
			} else {
				plain++
			}
		}
		all, err := filepath.Glob("../../discovery/captures/*/*/" + capture.ManifestName)
		if err != nil || captures != len(all) || plain == 0 {
			t.Errorf("%d captures of %d, %d plain files, %v", captures, len(all), plain, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// All waits while the inputs that are not closed need too much temporary space, and
// returns when the context is done.
func TestTarWaits(t *testing.T) {
	archive := archived(t, entry{name: "a", content: strings.Repeat("a", 1000)}, entry{name: "b", content: "b"}, entry{name: "c", content: "c"})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newTar(bytes.NewReader(archive), storeLimits{ahead: 999, temporary: 10_000})
		passed := make(chan *Input)
		go func() {
			defer close(passed)
			for in, err := range s.All(ctx) {
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				passed <- in
			}
		}()
		a := <-passed
		synctest.Wait()
		select {
		case <-passed:
			t.Error("b was read before a was closed")
		default:
		}
		a.Close()
		a.Close()
		b := <-passed
		b.Close()
		<-passed
		cancel()
		if in, ok := <-passed; ok && in != nil {
			t.Errorf("%s after the end", in.Path)
		}
	})
	s := newTar(bytes.NewReader(archive), storeLimits{ahead: 1, temporary: 10_000})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range s.All(ctx) {
		if cancel(); err != nil && err != context.Canceled {
			t.Errorf("cancelled: %v", err)
		}
	}
}

// Too large members are refused, and too many captures that wait are an error.
func TestTarLimits(t *testing.T) {
	waiting := []entry{{name: "c/response.sse", content: strings.Repeat("x", 600)}, {name: "d/response.sse", content: strings.Repeat("x", 600)}}
	for name, test := range map[string]struct {
		entries []entry
		want    []string
	}{
		"a member":   {[]entry{{name: "a", content: strings.Repeat("x", 1001)}, {name: "b", content: "x"}}, []string{`a as a in .: the member "a" has 1,001 bytes, which is more than 1,000 bytes`, "b as b in ."}},
		"waiting":    {waiting, []string{"error: the captures that wait for their other files need more temporary space than 1,000 bytes"}},
		"within one": {waiting[:1], []string{`c as c in .: the directory "c" has no capture.json, so the capture was not finished`}},
	} {
		s := newTar(bytes.NewReader(archived(t, test.entries...)), storeLimits{ahead: 1 << 20, temporary: 1000})
		got, err := outline(t, s)
		if err != nil {
			got = append(got, "error: "+message(err))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Captures that wait are limited by their number and by the bytes of their names, but not
// the captures that are complete.
func TestTarWaiting(t *testing.T) {
	long := strings.Repeat(strings.Repeat("d", 200)+"/", 20)
	for _, test := range []struct {
		dir      string
		n        int
		complete bool
		want     string
	}{
		{"", maxWaiting + 1, false, "more than 100,000 captures wait for their other files"},
		{long, 5000, false, "the names of the captures that wait for their other files are longer than 16,777,216 bytes"},
		{long, 5000, true, ""},
	} {
		archive := generated(func(w *tar.Writer) error {
			for i := range test.n {
				dir := fmt.Sprintf("%s%06d/", test.dir, i)
				header := tar.Header{Name: dir + capture.RequestName, Typeflag: tar.TypeReg}
				if test.complete {
					header.Name = dir + capture.ManifestName
				}
				if err := w.WriteHeader(&header); err != nil {
					return err
				}
			}
			return nil
		})
		defer archive.Close()
		s := Tar(archive)
		n, failed := 0, error(nil)
		for in, err := range s.All(t.Context()) {
			if failed = err; err == nil {
				in.Close()
				n++
			}
		}
		why, _ := errors.AsType[finding.Finding](failed)
		if why.Message != test.want || why.Code != finding.ArchiveLimit && failed != nil || failed == nil && n != test.n {
			t.Errorf("%d directories, complete: %v: %d captures and then %v", test.n, test.complete, n, failed)
		}
	}
}

// A directory for temporary files that cannot be used is named in the error.
func TestTarTemporary(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	_, err := outline(t, newTar(bytes.NewReader(archived(t, entry{name: "a", content: run})), storeLimits{ahead: 1, temporary: 1000}))
	if err == nil || !strings.Contains(err.Error(), "the directory for temporary files") {
		t.Errorf("the error is %v", err)
	}
}

// The progress of a file is known in bytes, also of a compressed one.
func TestOpenTar(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(archived(t, entry{name: "run.sse", content: run})); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a.tar.gz")
	testkit.Write(t, name, packed.Bytes())
	s, err := OpenTar(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := outline(t, s)
	if len(got) != 1 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if done, total := s.Progress(); done != total || total != int64(packed.Len()) || !s.InBytes() {
		t.Errorf("progress %d of %d", done, total)
	}
	if _, err := OpenTar(t.Context(), name+".missing"); err == nil {
		t.Error("a missing archive is opened")
	}
}

// generated is an archive whose members are generated while it is read.
func generated(write func(w *tar.Writer) error) io.ReadCloser {
	r, pipe := io.Pipe()
	go func() {
		w := tar.NewWriter(pipe)
		err := write(w)
		if err == nil {
			err = w.Close()
		}
		pipe.CloseWithError(err)
	}()
	return r
}

// heap returns the bytes of live objects.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Sources of 100,000 captures need far less than 64 MiB. So do 20,000 capture directories
// whose first files come before the second ones.
func TestSourceMemory(t *testing.T) {
	const many = 100_000
	one := captured(t, "")
	add := func(w *tar.Writer, name, content string) error {
		err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Size: int64(len(content))})
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		return err
	}
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	testkit.Write(t, list, strings.Repeat("run.sse\n", many))
	for i := range many / 50 {
		if err := os.MkdirAll(filepath.Join(dir, "tree", fmt.Sprintf("directory-%06d", i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Write(t, filepath.Join(dir, "tree", "zzz", capture.ManifestName), "{}")
	for name, test := range map[string]struct {
		open  func() (*Source, error)
		limit int64
		want  int
	}{
		"plain members": {func() (*Source, error) {
			return Tar(generated(func(w *tar.Writer) error {
				for i := range many {
					if err := add(w, fmt.Sprintf("captures/number-%06d.sse", i), run); err != nil {
						return err
					}
				}
				return nil
			})), nil
		}, 6 << 20, many},
		"interleaved directories": {func() (*Source, error) {
			return Tar(generated(func(w *tar.Writer) error {
				for _, file := range one {
					for i := range many / 5 {
						if err := add(w, fmt.Sprintf("captures/number-%06d/%s", i, file.name), file.content); err != nil {
							return err
						}
					}
				}
				return nil
			})), nil
		}, 10 << 20, many / 5},
		"list":      {func() (*Source, error) { return OpenList(t.Context(), list) }, 2 << 20, many},
		"directory": {func() (*Source, error) { return Paths(t.Context(), []string{filepath.Join(dir, "tree")}) }, 1 << 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			before, most := heap(), int64(0)
			s, err := test.open()
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for in, err := range s.All(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				in.Close()
				if n++; n%(test.want/4+1) == 1 {
					most = max(most, heap()-before)
				}
			}
			if n != test.want || most > test.limit {
				t.Errorf("%d captures need %d bytes", n, most)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
