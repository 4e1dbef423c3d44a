package capture

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
)

func TestArrivals(t *testing.T) {
	a := newArrivals(iotest.OneByteReader(strings.NewReader("5\t10\n9\t20\n12\t20\n")), 0, testStart)
	for _, c := range []struct {
		end  int64
		want time.Duration
	}{{1, 10}, {5, 10}, {6, 20}, {9, 20}, {9, 20}, {10, 20}, {12, 20}} {
		if got, err := a.at(c.end); err != nil || got.Sub(testStart) != c.want*time.Microsecond {
			t.Errorf("byte %d arrived after %s, %v; want %s µs", c.end, got.Sub(testStart), err, c.want)
		}
	}
	if got, err := a.at(13); err != nil || !got.IsZero() {
		t.Errorf("a byte past the last line arrived at %s, %v", got, err)
	}
	if err := a.finish(12); err != nil || a.problem != nil {
		t.Errorf("finish: %v, %v", err, a.problem)
	}
}

func TestArrivalsMalformed(t *testing.T) {
	const size = 7
	for name, c := range map[string]struct {
		in     string
		line   int // 0: accepted
		offset int64
	}{
		"good":               {"3\t0\n7\t9223372036854775\n", 0, 0},
		"empty":              {"", 0, 0},
		"no line feed":       {"3\t0\n7\t1", 2, 4},
		"CRLF":               {"7\t1\r\n", 1, 0},
		"header":             {"bytes\tmicros\n7\t1\n", 1, 0},
		"blank line":         {"3\t0\n\n7\t1\n", 2, 4},
		"space":              {"7 1\n", 1, 0},
		"three columns":      {"7\t1\t1\n", 1, 0},
		"one column":         {"7\n", 1, 0},
		"sign":               {"+7\t1\n", 1, 0},
		"negative":           {"7\t-1\n", 1, 0},
		"leading zero":       {"07\t1\n", 1, 0},
		"fraction":           {"7\t1.5\n", 1, 0},
		"bytes stay":         {"3\t0\n3\t1\n7\t2\n", 2, 4},
		"bytes fall":         {"3\t0\n2\t1\n7\t2\n", 2, 4},
		"no byte":            {"0\t0\n7\t1\n", 1, 0},
		"time falls":         {"3\t5\n7\t4\n", 2, 4},
		"time past 292 year": {"7\t9223372036854776\n", 1, 0},
		"past int64":         {"9223372036854775808\t1\n", 1, 0},
		"long line":          {"7\t" + strings.Repeat("1", 1<<20) + "\n", 1, 0},
		"too few bytes":      {"3\t0\n6\t1\n", 2, 8},
		"too many bytes":     {"3\t0\n8\t1\n", 2, 8},
	} {
		t.Run(name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
			} {
				a := newArrivals(r, 0, testStart)
				bytes := int64(size)
				if c.in == "" {
					bytes = 0
				}
				if err := a.finish(bytes); err != nil {
					t.Fatal(err)
				}
				switch {
				case c.line == 0 && a.problem != nil:
					t.Errorf("%s: %v", how, a.problem)
				case c.line > 0 && (a.problem == nil || a.problem.Code != finding.ArrivalsMalformed):
					t.Errorf("%s: problem %v", how, a.problem)
				case c.line > 0 && (a.problem.Line != c.line || *a.problem.Offset != c.offset):
					t.Errorf("%s: line %d at %d, want line %d at %d", how, a.problem.Line, *a.problem.Offset, c.line, c.offset)
				}
				if at, err := a.at(size); c.line > 0 && (!at.IsZero() || err != nil) {
					t.Errorf("%s: a time %s from malformed arrivals, %v", how, at, err)
				}
			}
		})
	}
}

// rewrite replaces the content of a file of a capture and updates its entry in the
// manifest, so that only the content is wrong.
func rewrite(t *testing.T, dir, name, content string, change func(*Manifest)) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	m, err := DecodeManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Files.entries() {
		if e.name == name {
			*e.file = File{int64(len(content)), digest.Of([]byte(content))}
		}
	}
	if change != nil {
		change(m)
	}
	if b, err = m.Encode(); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{ManifestName: b, name: []byte(content)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Malformed arrivals are reported even if the digest matches, and frames have no
// arrival times.
func TestCaptureArrivalsMalformed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	m := write(t, create(t, dir, nil), EndEOF, "data: a\n\n", "data: b\n\n")
	rewrite(t, dir, ArrivalsName, "9\t5\n9\t6\n", func(m *Manifest) { m.FirstByteAt = m.StartedAt.Add(5 * time.Microsecond) })
	c := open(t, dir, "")
	frames, err := readAll(t, c)
	if err != io.EOF {
		t.Fatal(err)
	}
	want := []time.Time{m.StartedAt.Add(5 * time.Microsecond), {}}
	if diff := cmp.Diff(want, []time.Time{frames[0].Arrived, frames[1].Arrived}); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"arrivals_malformed error"}, codes(c.Findings())); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// The first arrival must be at first_byte_at, and the last not after ended_at.
func TestCaptureArrivalsOutsideManifest(t *testing.T) {
	for arrivals, line := range map[string]int{
		"9\t1000000\n18\t2000000\n":   0,
		"9\t1000000\n18\t3000000\n":   0, // ended_at
		"9\t1000000\n18\t3000001\n":   2,
		"9\t999999\n18\t2000000\n":    1,
		"9\t1000001\n18\t2000000\n":   1,
		"9\t99000000\n18\t99000000\n": 1,
	} {
		dir := filepath.Join(t.TempDir(), "c")
		write(t, create(t, dir, nil), EndEOF, "data: a\n\n", "data: b\n\n")
		rewrite(t, dir, ArrivalsName, arrivals, nil)
		c := open(t, dir, "")
		if _, err := readAll(t, c); err != io.EOF {
			t.Fatal(err)
		}
		found := c.Findings()
		if line == 0 && found == nil {
			continue
		}
		if len(found) != 1 || found[0].Code != finding.ArrivalsMalformed || found[0].Line != line {
			t.Errorf("%q: findings %v, want line %d", arrivals, found, line)
		}
	}
	// Without first_byte_at no byte arrived.
	dir := filepath.Join(t.TempDir(), "c")
	write(t, create(t, dir, nil), EndEOF, "data: a\n\n")
	rewrite(t, dir, ArrivalsName, "9\t1000000\n", func(m *Manifest) { m.FirstByteAt = time.Time{} })
	c := open(t, dir, "")
	if _, err := readAll(t, c); err != io.EOF {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"arrivals_malformed error"}, codes(c.Findings())); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// Arrivals are read in constant memory, both along with the response and ahead of it.
func TestArrivalsConstantMemory(t *testing.T) {
	r := &counting{n: 1 << 20}
	a := newArrivals(r, 0, testStart)
	allocs := testing.AllocsPerRun(1, func() {
		for end := int64(1); end <= 1<<19; end++ {
			if at, err := a.at(end); at.IsZero() || err != nil {
				t.Fatal(end, err)
			}
		}
	})
	if allocs > 1 {
		t.Errorf("%v allocations", allocs)
	}
	if err := a.finish(1 << 20); err != nil || a.problem != nil {
		t.Error(err, a.problem)
	}
}

// counting writes lines for 1, 2, 3 … n bytes.
type counting struct {
	at, n int64
	rest  []byte
	line  [maxArrivalLine]byte
}

func (c *counting) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.at == c.n {
			return 0, io.EOF
		}
		c.at++
		c.rest = arrival{c.at, c.at}.appendTo(c.line[:0])
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func TestArrivalLineLimit(t *testing.T) {
	longest := arrival{1<<63 - 1, 1<<63 - 1}.appendTo(nil)
	if len(longest) > maxArrivalLine {
		t.Errorf("the longest line has %d bytes, the limit is %d", len(longest), maxArrivalLine)
	}
	if bytes.Count(longest, []byte{'\n'}) != 1 {
		t.Errorf("line %q", longest)
	}
}
