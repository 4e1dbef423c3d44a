package sqlstore

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// rows returns a generator of rows.
func rows() *rapid.Generator[[]Row] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Row {
		r := Row{
			Run: rapid.Int64Min(0).Draw(t, "run"), Stream: rapid.Int64Min(1).Draw(t, "stream"),
			Kind: rapid.Int64Range(kindEvent, kindEnd).Draw(t, "kind"), Type: rapid.String().Draw(t, "type"),
			Data: rapid.SliceOfN(rapid.Byte(), 0, 99).Draw(t, "data"),
		}
		if rapid.Bool().Draw(t, "arrived") {
			at := rapid.Int64().Draw(t, "at")
			r.Arrived = &at
		}
		return r
	}), 1, 9)
}

func TestChunk(t *testing.T) {
	t.Parallel()
	enc, err := compressor()
	if err != nil {
		t.Fatal(err)
	}
	dec, err := decompressor()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rows().Draw(t, "rows")
		var chunk []byte
		for i := range want {
			chunk = appendRow(chunk, &want[i])
		}
		packed := enc.EncodeAll(chunk, nil)
		cutAt := rapid.IntRange(0, len(packed)-1).Draw(t, "cut pack")
		rest, err := decompress(dec, packed[:cutAt], nil)
		if cutAt > 0 && !errors.Is(err, errChunk) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("a pack cut at %d: %v", cutAt, err)
		}
		rest, err = decompress(dec, packed, rest[:0])
		if err != nil || !bytes.Equal(rest, chunk) {
			t.Fatal(err)
		}
		var got []Row
		for len(rest) > 0 {
			var r Row
			if r, rest, err = cutRow(rest); err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		for i := range want {
			if !want[i].equal(&got[i]) || len(want) > 1 && want[i].equal(&got[(i+1)%len(got)]) != want[i].equal(&want[(i+1)%len(want)]) {
				t.Fatal("equal is wrong")
			}
		}
		// A chunk that was cut short is never taken for a whole one.
		cut := chunk[:rapid.IntRange(0, len(chunk)-1).Draw(t, "cut")]
		n := 0
		for err = nil; err == nil && len(cut) > 0; n++ {
			_, cut, err = cutRow(cut)
		}
		if err == nil && n >= len(want) || err != nil && !errors.Is(err, errChunk) {
			t.Fatalf("%d rows of %d, and %v", n, len(want), err)
		}
	})
}

func FuzzChunk(f *testing.F) {
	f.Add(appendRow(nil, &Row{Run: 1, Stream: 1, Kind: kindEvent, Type: "CUSTOM", Data: []byte("{}")}))
	f.Add([]byte{0, 1, 0x81, 0xff})
	f.Fuzz(func(t *testing.T, chunk []byte) {
		for len(chunk) > 0 {
			r, rest, err := cutRow(chunk)
			if err != nil {
				return
			}
			again, tail, err := cutRow(appendRow(nil, &r))
			if err != nil || len(tail) > 0 || !again.equal(&r) {
				t.Fatalf("%v, %v, %d", r, err, len(tail))
			}
			chunk = rest
		}
	})
}
