package capture

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Frames do not depend on the sizes of reads, equal those of the reference, and are in
// order within the file. Contiguous data equals the bytes of the file.
func checkLaws(t *testing.T, in []byte, seed uint64, f Framing, reference []seen) {
	t.Helper()
	whole := split(t, bytes.NewReader(in), f, MaxEventBytes)
	if diff := cmp.Diff(reference, whole.Frames); diff != "" {
		t.Fatalf("%q (-reference +got):\n%s", in, diff)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	var sizes []int
	for range 2 * len(in) {
		sizes = append(sizes, random.IntN(5))
	}
	if diff := cmp.Diff(whole, split(t, &pieces{in: in, sizes: sizes, hesitant: seed%2 == 0}, f, MaxEventBytes)); diff != "" {
		t.Fatalf("%q in pieces (-whole +pieces):\n%s", in, diff)
	}
	checkLines(t, in, sizes, f)
	end := int64(0)
	for i, frame := range whole.Frames {
		if frame.Offset < end || frame.Bytes < 0 || frame.Offset+frame.Bytes > frame.End || frame.End > int64(len(in)) {
			t.Fatalf("%q: frame %d does not lie within [%d, %d]: %+v", in, i, end, len(in), frame)
		}
		end = frame.End
		there := string(in[frame.Offset : frame.Offset+frame.Bytes])
		if oneLine := f != SSE || !bytes.ContainsAny([]byte(there), "\r\n"); oneLine && there != frame.Data {
			t.Fatalf("%q: frame %d has data %q, but the file has %q", in, i, frame.Data, there)
		}
	}
}

// checkLines compares the lines of frames and findings with the number of line feeds
// before them.
func checkLines(t *testing.T, in []byte, sizes []int, f Framing) {
	t.Helper()
	at := func(what string, offset int64, line int) {
		t.Helper()
		if want := 1 + bytes.Count(in[:offset], []byte{'\n'}); line != want {
			t.Fatalf("%q: the %s at byte %d is on line %d, want %d", in, what, offset, line, want)
		}
	}
	s := NewSplitter(&pieces{in: in, sizes: sizes}, f)
	for {
		frame, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		at("frame", frame.Offset, frame.Line)
	}
	for _, found := range s.Findings() {
		at(string(found.Code), *found.Offset, found.ResponseLine)
	}
}

func FuzzSplitSSE(f *testing.F) {
	for _, s := range []string{"", "data: {}\n\n", "\uFEFFdata\r\rdata:x\r\n\r\n", ": c\ndata: a\ndata: b\n\ndata: c", "data:\r\ndata\n\r\n"} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		frames, _ := referenceSSE(in)
		checkLaws(t, in, seed, SSE, frames)
	})
}

func FuzzSplitJSON(f *testing.F) {
	for _, s := range []string{"", "[]", `[1,{"a":[2,3]} , "x\"]"]`, "\uFEFF [,]x", "[{"} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		frames, _, _ := referenceArray(in)
		checkLaws(t, in, seed, JSON, frames)
	})
}

func FuzzSplitNDJSON(f *testing.F) {
	for _, s := range []string{"", "{}\n", "\uFEFF1\r\n \n2"} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		checkLaws(t, in, seed, NDJSON, referenceNDJSON(in))
	})
}

// Encoding a decoded manifest and decoding it again returns an equal manifest.
// Encoding that again returns the same bytes.
func FuzzDecodeManifest(f *testing.F) {
	b, err := exampleManifest().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := DecodeManifest(in)
		if err != nil {
			checkMalformed(t, in, err)
			return
		}
		b, err := m.Encode()
		if err != nil {
			t.Fatalf("%q is accepted and cannot be encoded: %v", in, err)
		}
		again, err := DecodeManifest(b)
		if err != nil {
			t.Fatalf("%q is written and refused: %v", b, err)
		}
		if diff := cmp.Diff(m, again); diff != "" {
			t.Fatalf("changed by a round trip (-first +second):\n%s", diff)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(b, twice) {
			t.Fatalf("written differently the second time:\n%s\n%s", b, twice)
		}
	})
}

// Arrivals do not depend on the sizes of reads, and are in order.
func FuzzArrivals(f *testing.F) {
	f.Add([]byte("1\t0\n2\t5\n"), int64(2))
	f.Add([]byte("1\t0\n1\t5\n"), int64(1))
	f.Fuzz(func(t *testing.T, in []byte, size int64) {
		a := newArrivals(bytes.NewReader(in), int64(len(in)), exampleManifest().StartedAt)
		last := a.started
		for end := int64(1); end < 100; end++ {
			at, err := a.at(end)
			if err != nil {
				t.Fatal(err)
			}
			if at.IsZero() {
				break
			}
			if at.Before(last) {
				t.Fatalf("%q: byte %d arrived before the one before it", in, end)
			}
			last = at
		}
		if err := a.finish(size); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if a.problem == nil && a.last.bytes != size {
			t.Fatalf("%q: accepted for a response of %d bytes", in, size)
		}
	})
}
