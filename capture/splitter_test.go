package capture

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/finding"
)

// result is the result of splitting an input.
type result struct {
	Frames   []seen
	Findings []string // "code@offset"
}

// split reads all frames. It copies their data, which is valid until the next call.
func split(t failer, r io.Reader, f Framing, limit int64) result {
	t.Helper()
	s := NewSplitter(r, f)
	s.limit = limit
	var got result
	for {
		frame, err := s.Next()
		if err == io.EOF {
			break
		}
		if errors.Is(err, errLater) {
			continue
		}
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		if frame.Index != len(got.Frames) {
			t.Fatalf("frame %d has index %d", len(got.Frames), frame.Index)
		}
		data := string(frame.Data)
		if frame.Problem != nil {
			if frame.Data != nil {
				t.Fatalf("frame %d has both data and a problem", frame.Index)
			}
			problem, _ := finding.FromError(frame.Problem)
			data = "!" + string(problem.Code)
		} else if frame.Data == nil {
			t.Fatalf("frame %d has neither data nor a problem", frame.Index)
		}
		got.Frames = append(got.Frames, seen{frame.Offset, frame.Bytes, frame.End, data})
	}
	if _, err := s.Next(); err != io.EOF {
		t.Fatalf("Next after io.EOF: %v", err)
	}
	for _, f := range s.Findings() {
		got.Findings = append(got.Findings, spell(f))
	}
	return got
}

func spell(f finding.Finding) string {
	at := int64(-1)
	if f.Offset != nil {
		at = *f.Offset
	}
	return string(f.Code) + "@" + itoa(at)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// failer is implemented by testing.T, testing.F and rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

var errLater = errors.New("later")

// pieces is a reader that returns its input in pieces of the given sizes, repeating the
// last size. If hesitant, it returns an error between pieces.
type pieces struct {
	in       []byte
	sizes    []int
	hesitant bool
	paused   bool
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.hesitant && !p.paused {
		p.paused = true
		return 0, errLater
	}
	p.paused = false
	if len(p.in) == 0 {
		return 0, io.EOF
	}
	n := len(p.in)
	if len(p.sizes) > 0 {
		n = min(n, p.sizes[0])
		p.sizes = p.sizes[1:]
	}
	n = copy(b, p.in[:n])
	p.in = p.in[n:]
	return n, nil
}

// readers returns readers of the same bytes that behave differently.
func readers(in []byte) map[string]io.Reader {
	all := map[string]io.Reader{
		"one byte":          iotest.OneByteReader(bytes.NewReader(in)),
		"half":              iotest.HalfReader(bytes.NewReader(in)),
		"error with data":   iotest.DataErrReader(bytes.NewReader(in)),
		"one byte hesitant": &pieces{in: in, sizes: slices.Repeat([]int{1}, len(in)), hesitant: true},
		"empty reads":       &pieces{in: in, sizes: slices.Repeat([]int{0, 1, 0, 0, 2}, len(in))},
	}
	for cut := 1; cut < min(len(in), 200); cut++ {
		all["cut at "+itoa(int64(cut))] = &pieces{in: in, sizes: []int{cut}}
	}
	return all
}

// sameEverywhere checks that every reader has the same result, and returns it.
func sameEverywhere(t *testing.T, in string, f Framing) result {
	t.Helper()
	want := split(t, strings.NewReader(in), f, MaxEventBytes)
	for name, r := range readers([]byte(in)) {
		if diff := cmp.Diff(want, split(t, r, f, MaxEventBytes)); diff != "" {
			t.Errorf("%q through %s (-whole +%s):\n%s", in, name, name, diff)
		}
	}
	return want
}

func TestSplitSSE(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     result
	}{
		{"nothing", "", result{}},
		{"one event", "data: {}\n\n", result{Frames: []seen{{6, 2, 10, "{}"}}}},
		{"no space", "data:{}\n\n", result{Frames: []seen{{5, 2, 9, "{}"}}}},
		{"only one space is removed", "data:  x\n\n", result{Frames: []seen{{6, 2, 10, " x"}}}},
		{"a tab is not removed", "data:\tx\n\n", result{Frames: []seen{{5, 2, 9, "\tx"}}}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", result{Frames: []seen{{6, 1, 10, "a"}, {17, 1, 21, "b"}}}},
		{"CR", "data: a\r\rdata: b\r\r", result{Frames: []seen{{6, 1, 9, "a"}, {15, 1, 18, "b"}}}},
		{"mixed ends", "data: a\rdata: b\ndata: c\r\n\rdata: d\n\r", result{Frames: []seen{{6, 17, 26, "a\nb\nc"}, {32, 1, 35, "d"}}}},
		{"CR LF LF is two ends", "data: a\r\n\n", result{Frames: []seen{{6, 1, 10, "a"}}}},
		{"LF CR LF is two ends", "data: a\n\r\ndata: b\n\n", result{Frames: []seen{{6, 1, 9, "a"}, {16, 1, 19, "b"}}}},
		{"CR CR LF is two ends", "data: a\r\r\n", result{Frames: []seen{{6, 1, 9, "a"}}}},
		{"several lines", "data: a\ndata: b\n\n", result{Frames: []seen{{6, 9, 17, "a\nb"}}}},
		{"empty lines of data", "data\ndata\n\n", result{Frames: []seen{{4, 5, 11, "\n"}}}},
		{"data without colon", "data\n\n", result{Frames: []seen{{4, 0, 6, ""}}}},
		{"empty data", "data:\n\n", result{Frames: []seen{{5, 0, 7, ""}}}},
		{"empty data with space", "data: \n\n", result{Frames: []seen{{6, 0, 8, ""}}}},
		{"empty data, then some", "data:\ndata: x\n\n", result{Frames: []seen{{5, 8, 15, "\nx"}}}},
		{"no data", "event: e\nid: 1\nretry: 3\n\n", result{}},
		{"other fields around", "event: e\nid: 1\ndata: x\nretry: 3\n\n", result{Frames: []seen{{21, 1, 33, "x"}}}},
		{"comments", ": ping\n\n:data: no\ndata: x\n: y\n\n", result{Frames: []seen{{24, 1, 31, "x"}}}},
		{"fields alike", "dat: 1\ndata2: 2\nDATA: 3\n data: 4\ndata : 5\n\n", result{}},
		{"colons in the value", "data: a:b: c\n\n", result{Frames: []seen{{6, 6, 14, "a:b: c"}}}},
		{"blank lines between", "\n\n\r\n\rdata: x\n\n\n\n", result{Frames: []seen{{11, 1, 14, "x"}}}},
		{"NUL is a byte like others", "data: a\x00b\n\n", result{Frames: []seen{{6, 3, 11, "a\x00b"}}}},
		{"byte order mark", "\uFEFFdata: x\n\n", result{Frames: []seen{{9, 1, 12, "x"}}}},
		{"only one byte order mark", "\uFEFF\uFEFFdata: x\n\n", result{}},
		{"byte order mark within", "data: x\n\n\uFEFFdata: y\n\n", result{Frames: []seen{{6, 1, 9, "x"}}}},
		{"half a byte order mark", "\xEF\xBBdata: x\n\n", result{}},
		{"byte order mark alone", "\uFEFF", result{}},
		{"unfinished: no blank line", "data: x\n\ndata: y\n", result{Frames: []seen{{6, 1, 9, "x"}}, Findings: []string{"event_incomplete@15"}}},
		{"unfinished: no line end", "data: x", result{Findings: []string{"event_incomplete@6"}}},
		{"unfinished: no value", "data: x\n\ndata:", result{Frames: []seen{{6, 1, 9, "x"}}, Findings: []string{"event_incomplete@14"}}},
		{"unfinished: name alone", "data", result{Findings: []string{"event_incomplete@4"}}},
		{"unfinished: half a name", "dat", result{}},
		{"unfinished: no data", "event: e\n", result{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, sameEverywhere(t, c.in, SSE)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.in, diff)
			}
		})
	}
}

func TestSplitNDJSON(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []seen
	}{
		{"nothing", "", nil},
		{"lines", "{}\n[1]\n", []seen{{0, 2, 3, "{}"}, {3, 3, 7, "[1]"}}},
		{"no last line feed", "1\n2", []seen{{0, 1, 2, "1"}, {2, 1, 3, "2"}}},
		{"blank lines", "\n \t\r\n1\n\n", []seen{{5, 1, 7, "1"}}},
		{"white space around", " \t1 2\t \r\n", []seen{{2, 3, 9, "1 2"}}},
		{"CR alone ends no line", "1\r2\n", []seen{{0, 3, 4, "1\r2"}}},
		{"byte order mark", "\uFEFF1\n", []seen{{3, 1, 5, "1"}}},
		{"white space at the end", "1 \n \n", []seen{{0, 1, 3, "1"}}},
		{"other spaces are data", "\u00a01\v\n", []seen{{0, 4, 5, "\u00a01\v"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(result{Frames: c.want}, sameEverywhere(t, c.in, NDJSON)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.in, diff)
			}
		})
	}
}

func TestSplitArray(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     result
	}{
		{"nothing", "", result{Findings: []string{"array_malformed@0"}}},
		{"white space", " \n", result{Findings: []string{"array_malformed@2"}}},
		{"no array", `{"a":1}`, result{Findings: []string{"array_malformed@0"}}},
		{"empty", " [ ] \n", result{}},
		{"elements", `[1,{"a":[2,3]} , "x"]`, result{Frames: []seen{{1, 1, 3, "1"}, {3, 11, 16, `{"a":[2,3]}`}, {17, 3, 21, `"x"`}}}},
		{"delimiters in strings", `["a,]}[{\"\\",2]`, result{Frames: []seen{{1, 12, 14, `"a,]}[{\"\\"`}, {14, 1, 16, "2"}}}},
		{"nested strings", `[{"k":"]"},[","]]`, result{Frames: []seen{{1, 9, 11, `{"k":"]"}`}, {11, 5, 17, `[","]`}}}},
		{"lines", "[\n  1,\n  2\n]\n", result{Frames: []seen{{4, 1, 6, "1"}, {9, 1, 12, "2"}}}},
		{"empty elements", "[,]", result{Frames: []seen{{1, 0, 2, ""}, {2, 0, 3, ""}}, Findings: []string{"array_malformed@1"}}},
		{"leading comma", "[ ,1]", result{Frames: []seen{{2, 0, 3, ""}, {3, 1, 5, "1"}}, Findings: []string{"array_malformed@2"}}},
		{"double comma", "[1,\n,2]", result{Frames: []seen{{1, 1, 3, "1"}, {4, 0, 5, ""}, {5, 1, 7, "2"}}, Findings: []string{"array_malformed@4"}}},
		{"trailing comma", "[1, ]", result{Frames: []seen{{1, 1, 3, "1"}, {4, 0, 5, ""}}, Findings: []string{"array_malformed@4"}}},
		{"only the first empty element is named", "[,,]x", result{Frames: []seen{{1, 0, 2, ""}, {2, 0, 3, ""}, {3, 0, 4, ""}}, Findings: []string{"array_malformed@1", "array_malformed@4"}}},
		{"not closed", "[1, {", result{Frames: []seen{{1, 1, 3, "1"}}, Findings: []string{"event_incomplete@4"}}},
		{"not closed after an element", "[1", result{Findings: []string{"event_incomplete@1"}}},
		{"not closed after a comma", "[1, ", result{Frames: []seen{{1, 1, 3, "1"}}, Findings: []string{"event_incomplete@4"}}},
		{"only opened", "[", result{Findings: []string{"event_incomplete@1"}}},
		{"not closed within a string", `["]`, result{Findings: []string{"event_incomplete@1"}}},
		{"bytes after", "[1] 2 3", result{Frames: []seen{{1, 1, 3, "1"}}, Findings: []string{"array_malformed@4"}}},
		{"a second array", "[][]", result{Findings: []string{"array_malformed@2"}}},
		{"wrong brace", "[}]", result{Frames: []seen{{1, 1, 3, "}"}}}},
		{"wrong pair", "[{],1]", result{Frames: []seen{{1, 2, 4, "{]"}, {4, 1, 6, "1"}}}},
		{"byte order mark", "\uFEFF[1]", result{Frames: []seen{{4, 1, 6, "1"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, sameEverywhere(t, c.in, JSON)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.in, diff)
			}
		})
	}
}

// soup draws random pieces of text that are significant for a framing.
func soup(tokens ...string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 40).Draw(t, "tokens"), "")
	})
}

// chunked draws a reader that returns in in pieces.
func chunked(t *rapid.T, in string) io.Reader {
	return &pieces{
		in:       []byte(in),
		sizes:    rapid.SliceOfN(rapid.IntRange(0, 9), 0, 40).Draw(t, "sizes"),
		hesitant: rapid.Bool().Draw(t, "hesitant"),
	}
}

func TestSplitAgreesWithReference(t *testing.T) {
	t.Run("sse", rapid.MakeCheck(func(t *rapid.T) {
		in := soup("data", "data:", "data: ", "d", ":", " ", "\r", "\n", "\r\n", "\n\n", "\uFEFF", "x", "{}", ": c", "event: e", "\x00").Draw(t, "in")
		var want result
		frames, incomplete := referenceSSE([]byte(in))
		want.Frames = frames
		if incomplete >= 0 {
			want.Findings = []string{"event_incomplete@" + itoa(incomplete)}
		}
		if diff := cmp.Diff(want, split(t, chunked(t, in), SSE, MaxEventBytes)); diff != "" {
			t.Fatalf("%q (-reference +got):\n%s", in, diff)
		}
	}))
	t.Run("ndjson", rapid.MakeCheck(func(t *rapid.T) {
		in := soup("1", "{}", " ", "\t", "\r", "\n", "\uFEFF", "\n\n").Draw(t, "in")
		want := result{Frames: referenceNDJSON([]byte(in))}
		if diff := cmp.Diff(want, split(t, chunked(t, in), NDJSON, MaxEventBytes)); diff != "" {
			t.Fatalf("%q (-reference +got):\n%s", in, diff)
		}
	}))
	t.Run("json", rapid.MakeCheck(func(t *rapid.T) {
		in := rapid.SampledFrom([]string{"[", "", "\uFEFF["}).Draw(t, "start") +
			soup("1", "{", "}", "[", "]", ",", `"`, `\`, `\"`, " ", "\n").Draw(t, "in")
		var want result
		frames, malformed, incomplete := referenceArray([]byte(in))
		want.Frames = frames
		if i := slices.IndexFunc(frames, func(f seen) bool { return f.Data == "" }); i >= 0 {
			want.Findings = []string{"array_malformed@" + itoa(frames[i].Offset)}
		}
		if malformed >= 0 {
			want.Findings = append(want.Findings, "array_malformed@"+itoa(malformed))
		}
		if incomplete >= 0 {
			want.Findings = append(want.Findings, "event_incomplete@"+itoa(min(incomplete, int64(len(in)))))
		}
		if diff := cmp.Diff(want, split(t, chunked(t, in), JSON, MaxEventBytes)); diff != "" {
			t.Fatalf("%q (-reference +got):\n%s", in, diff)
		}
	}))
}

// An event at the limit is stored. An event one byte longer is not, and does not affect
// the next one.
func TestSplitLimit(t *testing.T) {
	const limit = 10
	big := strings.Repeat("x", 3*bufferBytes)
	for _, c := range []struct {
		name    string
		framing Framing
		in      string
		want    []seen
	}{
		{"sse", SSE, "data: 0123456789\n\ndata: 0123456789a\n\ndata: 1\n\n",
			[]seen{{6, 10, 18, "0123456789"}, {24, 11, 37, "!event_too_large"}, {43, 1, 46, "1"}}},
		{"sse lines", SSE, "data: 0123\ndata: 56789\n\ndata: 0123\ndata: 56789a\n\n",
			[]seen{{6, 16, 24, "0123\n56789"}, {30, 17, 49, "!event_too_large"}}},
		{"sse past the buffer", SSE, "data: " + big + "\n\ndata: 1\n\n",
			[]seen{{6, 3 * bufferBytes, 3*bufferBytes + 8, "!event_too_large"}, {3*bufferBytes + 14, 1, 3*bufferBytes + 17, "1"}}},
		{"ndjson", NDJSON, "0123456789  \n0123456789a\n1",
			[]seen{{0, 10, 13, "0123456789"}, {13, 11, 25, "!event_too_large"}, {25, 1, 26, "1"}}},
		{"ndjson inner space", NDJSON, "012345678  x\n", []seen{{0, 12, 13, "!event_too_large"}}},
		{"json", JSON, "[0123456789  ,0123456789a,1]",
			[]seen{{1, 10, 14, "0123456789"}, {14, 11, 26, "!event_too_large"}, {26, 1, 28, "1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := result{Frames: c.want}
			if diff := cmp.Diff(want, split(t, strings.NewReader(c.in), c.framing, limit)); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, split(t, iotest.OneByteReader(strings.NewReader(c.in)), c.framing, limit)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

// Events much longer than the buffer are complete, wherever they begin in the buffer.
func TestSplitLongEvents(t *testing.T) {
	for _, size := range []int{bufferBytes - 20, bufferBytes - 6, bufferBytes - 1, bufferBytes, bufferBytes + 1, 5*bufferBytes + 3} {
		payload := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		for _, c := range []struct {
			framing Framing
			in      string
		}{
			{SSE, strings.Repeat("data: "+payload+"\n\n", 3)},
			{NDJSON, strings.Repeat(payload+"\n", 3)},
			{JSON, "[" + strings.Repeat(`"`+payload+`",`, 2) + `"` + payload + `"]`},
		} {
			got := split(t, strings.NewReader(c.in), c.framing, MaxEventBytes)
			if len(got.Frames) != 3 || got.Findings != nil {
				t.Fatalf("%s of %d bytes: %d frames, findings %v", c.framing, size, len(got.Frames), got.Findings)
			}
			for _, f := range got.Frames {
				if f.Data != c.in[f.Offset:f.Offset+f.Bytes] || !strings.Contains(f.Data, payload) {
					t.Errorf("%s of %d bytes: the data at %d is not what lies there", c.framing, size, f.Offset)
				}
			}
		}
	}
}

// A CR at the end of the bytes read so far dispatches its event at once.
func TestSplitDoesNotWaitBehindCR(t *testing.T) {
	r := &pieces{in: []byte("data: a\r\n\r\ndata: b\r\r"), sizes: []int{10, 10}, hesitant: true}
	s := NewSplitter(r, SSE)
	var waits []int
	frames := 0
	for {
		_, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			waits = append(waits, frames)
			continue
		}
		frames++
	}
	// There is one event after the first piece, and two after the second.
	if want := []int{0, 1, 2}; !slices.Equal(waits[:3], want) {
		t.Errorf("frames seen at each wait: %v, want %v", waits, want)
	}
}

func TestSplitErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, f := range []Framing{SSE, NDJSON, JSON} {
		s := NewSplitter(io.MultiReader(strings.NewReader("["), iotest.ErrReader(broken)), f)
		for range 2 {
			if _, err := s.Next(); !errors.Is(err, broken) {
				t.Errorf("%s: error %v, want the reader's", f, err)
			}
		}
		if got := s.Findings(); got != nil {
			t.Errorf("%s: findings %v before the end", f, got)
		}
		s = NewSplitter(&pieces{in: []byte("x"), sizes: slices.Repeat([]int{0}, 1000)}, f)
		if _, err := s.Next(); err != io.ErrNoProgress {
			t.Errorf("%s: error %v of a reader that never reads, want io.ErrNoProgress", f, err)
		}
		if _, err := NewSplitter(liar{}, f).Next(); err == nil || err == io.EOF {
			t.Errorf("%s: error %v of a reader with impossible counts", f, err)
		}
	}
}

type liar struct{}

func (liar) Read(p []byte) (int, error) { return len(p) + 1, nil }
