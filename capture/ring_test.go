package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

// useTwoProcessors makes long responses be hashed beside splitting on every machine.
func useTwoProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// manyEvents returns a response of events that uses every block several times, even if
// it is compressed.
func manyEvents(events int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range events {
		fmt.Fprintf(&b, "data: %016x%016x\n\n", random.Uint64(), random.Uint64())
	}
	return b.String()
}

// Frames, findings and the digest do not depend on who reads and who hashes the response.
func TestHashBeside(t *testing.T) {
	useTwoProcessors(t)
	check := func(t failer, in string, sizes []int, f Framing, from int64) {
		var response io.Reader
		read := func(from int64) (frames []Frame, list []finding.Finding, sum digest.Digest) {
			c, err := OpenReader(response, "stdin", f)
			if err != nil {
				t.Fatalf("%v", err)
			}
			defer c.Close()
			c.response.from = from
			frames, _ = collect(t, c.splitter)
			if _, err := c.Next(); err != io.EOF {
				t.Fatalf("Next: %v", err)
			}
			return frames, c.Findings(), c.Digest()
		}
		again := func() io.Reader { return &pieces{in: []byte(in), sizes: sizes} }
		response = again()
		wantFrames, wantFindings, want := read(1 << 40)
		for name, r := range map[string]io.Reader{"hashed": again(), "read and hashed": &contextReader{context.Background(), again()}} {
			response = r
			gotFrames, gotFindings, got := read(from)
			for i := range max(len(wantFrames), len(gotFrames)) {
				if i >= len(wantFrames) || i >= len(gotFrames) || !sameFrame(wantFrames[i], gotFrames[i]) {
					t.Fatalf("%.100q: %d frames if %s beside, %d serial; frame %d differs", in, len(gotFrames), name, len(wantFrames), i)
				}
			}
			if diff := cmp.Diff(wantFindings, gotFindings); diff != "" {
				t.Fatalf("%.100q: findings (-serial +%s beside):\n%s", in, name, diff)
			}
			if got != want || got != digest.Of([]byte(in)) {
				t.Fatalf("%.100q: digest %s if %s beside, %s serial", in, got, name, want)
			}
		}
	}
	for _, f := range []Framing{SSE, NDJSON, JSON} {
		t.Run(string(f), rapid.MakeCheck(func(t *rapid.T) {
			in := soup("data: ", "data: {}\n\n", "\r", "\n", "\n\n", "[", "]", ",", `"`, `\`, "{", "}", "\uFEFF", "x", " ", "\x00\xff").Draw(t, "in")
			sizes := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 60).Draw(t, "sizes")
			check(t, in, sizes, f, rapid.Int64Range(3, 20).Draw(t, "from"))
		}))
	}
	random := rand.New(rand.NewPCG(3, 4))
	long := manyEvents(20_000)
	for f, in := range map[Framing]string{
		SSE:    long,
		NDJSON: strings.ReplaceAll(long, "data: ", ""),
		JSON:   "[" + strings.NewReplacer("data: ", `"`, "\n\n", "\",\n").Replace(long) + "1]",
	} {
		for _, longest := range []int{1 << 10, bufferBytes, 4 * bufferBytes} {
			var sizes []int
			for range 4 * len(in) / longest {
				sizes = append(sizes, random.IntN(longest))
			}
			check(t, in, sizes, f, hashBesideFrom)
		}
	}
}

func sameFrame(a, b Frame) bool {
	same := bytes.Equal(a.Data, b.Data)
	a.Data, b.Data = nil, nil
	return same && reflect.DeepEqual(a, b)
}

// No goroutine remains after the end of a capture, however it ends. The result is the
// same as without a hasher and a filler.
func TestHasherEnds(t *testing.T) {
	useTwoProcessors(t)
	var ahead bool // whether there is a filler
	const events = 40_000
	in := manyEvents(events)
	broken, stopped := errors.New("broken"), errors.New("stopped")
	opened := func(t *testing.T, r io.Reader) *Capture {
		if ahead {
			r = &contextReader{t.Context(), r}
		}
		c, err := OpenReader(r, "stdin", SSE)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	// read reads frames up to the end or the limit.
	read := func(t *testing.T, c *Capture, limit int) (frames int, err error) {
		for range limit {
			if _, err = c.Next(); err != nil {
				return frames, err
			}
			if frames++; frames == events/2 && (c.response.todo == nil || ahead && c.response.ahead == nil) {
				t.Error("there is no hasher, or no filler")
			}
		}
		return frames, nil
	}
	const all = 1 << 30
	ends := map[string]func(t *testing.T){
		"end": func(t *testing.T) {
			c := opened(t, strings.NewReader(in))
			if n, err := read(t, c, all); err != io.EOF || n != events || c.Digest() != digest.Of([]byte(in)) {
				t.Errorf("%d frames, error %v, digest %s", n, err, c.Digest())
			}
		},
		"Close half-way": func(t *testing.T) {
			c := opened(t, strings.NewReader(in))
			if _, err := read(t, c, events-1000); err != nil {
				t.Error(err)
			}
			for range 2 {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
			if _, err := c.Next(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("Next after Close: %v", err)
			}
		},
		"Digest half-way": func(t *testing.T) {
			if ahead {
				return // the rest must not be read
			}
			c := opened(t, strings.NewReader(in))
			if _, err := read(t, c, events-1000); err != nil {
				t.Error(err)
			}
			if got := c.Digest(); got != digest.Of([]byte(in[:c.Bytes()])) {
				t.Errorf("digest %s of %d bytes", got, c.Bytes())
			}
			if n, err := read(t, c, all); err != io.EOF || n != 1000 || c.Digest() != digest.Of([]byte(in)) {
				t.Errorf("%d more frames, error %v, digest %s", n, err, c.Digest())
			}
		},
		"error of the reader": func(t *testing.T) {
			c := opened(t, io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)))
			if n, err := read(t, c, all); !errors.Is(err, broken) || n != events {
				t.Errorf("%d frames, error %v", n, err)
			}
		},
		"end of the context": func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			c := opened(t, &contextReader{ctx, strings.NewReader(in + in + in)}) // more than is read ahead
			if _, err := read(t, c, events); err != nil {
				t.Error(err)
			}
			cancel(stopped)
			if _, err := read(t, c, all); !errors.Is(err, stopped) {
				t.Errorf("error %v", err)
			}
		},
		"impossible count": func(t *testing.T) {
			c := opened(t, io.MultiReader(strings.NewReader(in), liar{}))
			if _, err := read(t, c, all); err == nil || err == io.EOF {
				t.Errorf("error %v", err)
			}
		},
	}
	for _, ahead = range []bool{false, true} {
		for name, test := range ends {
			t.Run(fmt.Sprintf("%s, ahead %t", name, ahead), func(t *testing.T) { synctest.Test(t, test) })
		}
	}
	for name, coding := range map[string]string{"directory": "", "gzip": "gzip", "zstd": "zstd"} {
		t.Run(name, func(t *testing.T) {
			stored := in
			if coding != "" {
				stored = coded(t, coding, in)
			}
			dir := filepath.Join(t.TempDir(), "c")
			write(t, create(t, dir, func(s *Settings) { s.Source.Headers = map[string]string{"content-encoding": coding} }), EndEOF, stored)
			end := func(t *testing.T, want error, code finding.Code) {
				synctest.Test(t, func(t *testing.T) {
					c, err := Open(t.Context(), dir, "")
					if err != nil {
						t.Fatal(err)
					}
					c.response.from = 1 << 10
					_, err = read(t, c, all)
					if want != nil && err != want {
						t.Errorf("error %v, want %v", err, want)
					} else if want == nil {
						mustFind(t, err, code)
					}
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			end(t, io.EOF, "")
			path := filepath.Join(dir, "response.sse")
			for _, at := range []int{len(stored) / 2, len(stored) - 1, len(stored)} {
				changed := append([]byte(stored), 0)
				changed[at]++
				if err := os.WriteFile(path, changed[:max(at+1, len(stored))], 0o666); err != nil {
					t.Fatal(err)
				}
				end(t, nil, finding.DigestMismatch)
			}
			rewrite(t, dir, "response.sse", stored[:len(stored)/2], func(m *Manifest) {
				*m.Response() = File{int64(len(stored) / 2), digest.Of([]byte(stored[:len(stored)/2]))}
			})
			if coding != "" {
				end(t, nil, finding.CodingDamaged)
			}
		})
	}
}

// slowHash waits before each Write.
type slowHash struct {
	hash.Hash
	step chan struct{}
}

func (h *slowHash) Write(p []byte) (int, error) {
	<-h.step
	return h.Hash.Write(p)
}

// The blocks of a response have at most 1 MiB, and no block is overwritten before it was
// hashed.
func TestBlocksAreBounded(t *testing.T) {
	const most = bufferBytes + (maxBlocks-1)*blockBytes
	if most > 1<<20 {
		t.Errorf("the blocks have %d bytes, more than 1 MiB", most)
	}
	useTwoProcessors(t)
	in := manyEvents(50_000)
	test := func(t *testing.T, r io.Reader, want int64) {
		c, err := OpenReader(r, "stdin", SSE)
		if err != nil {
			t.Fatal(err)
		}
		c.response.from = 3
		slow := &slowHash{c.response.hash, make(chan struct{}, 1)}
		c.response.hash = slow
		slow.step <- struct{}{}
		done := make(chan int)
		go func() {
			n := 0
			for {
				f, err := c.Next()
				if err != nil {
					done <- n
					return
				}
				if want := in[f.Offset : f.Offset+f.Bytes]; string(f.Data) != want {
					t.Errorf("frame %d is %q, want %q", n, f.Data, want)
				}
				n++
			}
		}()
		synctest.Wait() // until the splitter waits for a block
		if got := c.response.n; got != want {
			t.Errorf("%d bytes were read before the hasher hashed any, want %d", got, want)
		}
		close(slow.step)
		if n := <-done; n != 50_000 || c.Digest() != digest.Of([]byte(in)) {
			t.Errorf("%d frames, digest %s", n, c.Digest())
		}
	}
	// The first bufferBytes were hashed by Read.
	synctest.Test(t, func(t *testing.T) { test(t, strings.NewReader(in), bufferBytes+most) })
	// The first block is not filled again, because the hasher does not return it.
	synctest.Test(t, func(t *testing.T) { test(t, &contextReader{t.Context(), strings.NewReader(in)}, most) })
}
