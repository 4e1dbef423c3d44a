//go:build judge

package assay

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"

	"github.com/p20export/p20export/digest"
)

// Limits that mutations of a small bundle do not reach, at n and n+1.

func TestJudgeLargeFile(t *testing.T) {
	j := startJudge(t)
	limit := int(DefaultLimits().Bundle)
	for _, size := range []int{limit, limit + 1} {
		f := newForge()
		f.level = 0
		f.archive = func(b []byte) []byte { return append(b, make([]byte, limit-len(b)-30_000)...) }
		room := size - len(f.bytes())
		f.gzip = []byte("\x1f\x8b\x08\x10\x00\x00\x00\x00\x02\xff" + strings.Repeat("c", room-1) + "\x00")
		data := f.bytes()
		if len(data) != size {
			t.Fatalf("the bundle has %d bytes, want %d", len(data), size)
		}
		expect(t, j, data, size == limit, limitBundle)
		data[0]++ // the other fault is not reported
		want := integrityTar
		if size > limit {
			want = limitBundle
		}
		expect(t, j, data, false, want)
	}
}

// expect checks that both verdicts equal the expected one.
func expect(t *testing.T, j *judge, data []byte, accept bool, code string) {
	t.Helper()
	want := "accepted "
	if !accept {
		want = "refused " + refuse(code, "").Class + " " + code + " "
	}
	if theirs := j.agree(t, data); !strings.HasPrefix(theirs, want) {
		t.Errorf("the judge: %.300s\n     want: %s", theirs, want)
	}
}

func TestJudgeLargeArchive(t *testing.T) {
	j := startJudge(t)
	limit := int(DefaultLimits().Decoded)
	f := newForge()
	var archive []byte
	f.archive = func(b []byte) []byte { archive = b; return b }
	f.bytes()
	for _, size := range []int{limit, limit + 1} {
		data := zeroPadded(archive, size)
		expect(t, j, data, size == limit, limitDecoded)
	}
}

// zeroPadded returns a gzip stream of the archive padded with zeros to size bytes.
func zeroPadded(archive []byte, size int) []byte {
	const piece = 1 << 20
	n := size - len(archive)
	rest, pieces := n%piece, n/piece
	sum := crc32.Update(crc32.ChecksumIEEE(archive), crc32.IEEETable, make([]byte, rest))
	for range pieces {
		sum = crc32.Update(sum, crc32.IEEETable, make([]byte, piece))
	}
	return slices.Concat([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"),
		deflatedPiece(append(slices.Clone(archive), make([]byte, rest)...)),
		bytes.Repeat(deflatedPiece(make([]byte, piece)), pieces),
		[]byte("\x01\x00\x00\xff\xff"), little(sum), little(uint32(size)))
}

// deflatedPiece returns deflate blocks to which others can be appended.
func deflatedPiece(data []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		panic(err)
	}
	w.Write(data)
	w.Flush()
	return b.Bytes()
}

func TestJudgeLargeEvents(t *testing.T) {
	j := startJudge(t)
	limit := DefaultLimits().Lines
	for _, n := range []int{limit, limit + 1} {
		f := newForge()
		f.level = flate.BestSpeed
		f.events = f.events[:1]
		f.bytes()
		pieces := strings.NewReplacer(`"assayseq":0`, `"assayseq":N`, `"run:0"`, `"run:N"`).Replace(f.events[0].String())
		hash := strings.Trim(f.events[0].get("assaycontenthash"), `"`) + "\n"
		f.lines = func([]string) []string {
			lines := make([]string, n)
			for i := range lines {
				lines[i] = strings.ReplaceAll(pieces, ":N", fmt.Sprintf(":%d", i)) + "\n"
			}
			return lines
		}
		f.manifest = func(m *object) {
			root := strconv.Quote(string(digest.Of([]byte(strings.Repeat(hash, n)))))
			m.set("event_count", strconv.Itoa(n))
			m.set("run_root", root)
			m.set("bundle_id", root)
		}
		expect(t, j, f.bytes(), n == limit, limitEvents)
	}
}
