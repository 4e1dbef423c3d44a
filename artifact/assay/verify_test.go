package assay

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// codeOf returns the refusal code of a bundle, or the empty string if it is accepted.
func codeOf(t testing.TB, err error) string {
	t.Helper()
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	if err != nil {
		t.Fatalf("an error that is no refusal: %v", err)
	}
	return accepted
}

// testdata/reference.tar.gz was written by the reference's own writer
// (BundleWriter of assay-evidence 6.21.0). It has the sample event, an event with every
// optional field, and an event with unusual numbers and strings in a leap second.
func TestVerifyReference(t *testing.T) {
	data := read(t, "reference.tar.gz")
	var entries []Entry
	v, err := Verify(bytes.NewReader(data), Options{Strict: true, Entry: func(e Entry) error {
		e.Data = bytes.Clone(e.Data)
		entries = append(entries, e)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	root := "sha256:a510431064da6abe2ad027d3949cd17cbbec870ccc14885fcfd8dc91bcfdd13b"
	want := &Verified{
		Manifest: Manifest{
			SchemaVersion: 1, BundleID: root, Producer: SampleProducer(), RunID: "import-ag-ui-valid.ag-ui", EventCount: 3, RunRoot: root,
			Algorithms: Algorithms{canonAlgorithm, hashAlgorithm, rootAlgorithm},
			Files:      map[string]File{eventsName: {eventsName, v.Manifest.Files[eventsName].SHA256, uint64(v.EventsBytes)}},
		},
		Events: 3, RunRoot: root, EventsBytes: v.EventsBytes, BundleBytes: int64(len(data)),
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(entries) != 3 {
		t.Fatalf("%d entries", len(entries))
	}
	last := Entry{
		Seq: 2, ID: "import-ag-ui-valid.ag-ui:2", Type: PlaceholderType, Source: Source, Time: "2026-04-14T20:10:60.000000001Z",
		RunID: "import-ag-ui-valid.ag-ui", Producer: SampleProducer(), ContentHash: entries[2].ContentHash, Bytes: entries[2].Bytes,
		Data: []byte("{\"a\":\"\\\"\\\\\\u0007\u007f\u2028<>&😀\",\"z\":[1e+21,1e-7,0.1,9007199254740991,4500000000000000,null,true],\"😀\":0,\"\ufb33\":1}"),
	}
	if diff := cmp.Diff(last, entries[2]); diff != "" {
		t.Errorf("the last entry (-want +got):\n%s", diff)
	}
}

// Each mutation has the same verdict as with the published verifier.
func TestVerifyMutations(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, m := range mutations() {
		if seen[m.name] {
			t.Errorf("two mutations are named %q", m.name)
		}
		seen[m.name] = true
		f := newForge()
		m.change(f)
		data := f.bytes()
		v, err := Verify(bytes.NewReader(data), Options{Strict: true})
		if code := codeOf(t, err); code != m.code {
			t.Errorf("%s: %q (%v), want %q", m.name, code, err, m.code)
		} else if m.code == accepted && m.strict != (len(v.Deviations) > 0) {
			t.Errorf("%s: deviations %+v, want some: %v", m.name, v.Deviations, m.strict)
		}
	}
	if len(seen) < 500 {
		t.Errorf("%d mutations; there were more than 500", len(seen))
	}
}

func TestDeviations(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*forge)
		want   []Deviation
	}{
		{"time", func(f *forge) { f.events[1].set("time", `"2026-04-14T20:10:00.50Z"`) }, []Deviation{
			{1, "/time", "is not in UTC with Z and as few fraction digits of 0, 3, 6 or 9 as possible"},
			{2, "/time", "is before the time of the previous event"},
		}},
		{"integer", func(f *forge) { f.events[2].set("data", `{"a/b":[1,9007199254740992]}`) }, []Deviation{
			{2, "/data/a~1b/1", "is an integer beyond ±9007199254740991, which some JSON readers do not represent exactly"},
		}},
		{"unknown field", func(f *forge) { f.events[0].set("zz/z", `1`) }, []Deviation{{0, "/zz~1z", "is not a field of the format"}}},
		{"manifest", func(f *forge) {
			f.manifest = func(m *object) { m.set("producer", `{"name":"assay-example","version":"0.1.0","x":1}`) }
		}, []Deviation{
			{-1, "/producer/x", "is not a field of the format"},
			{-1, "/producer", "is not the producer of the first event"},
		}},
		{"header", func(f *forge) { f.gzip = []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03") }, []Deviation{
			{-1, "", "the gzip header differs from the expected one: no name, no time, best compression, unknown system"},
		}},
		{"padding", func(f *forge) {
			f.archive = func(b []byte) []byte { b[len(b)-1025] = 1; return b }
		}, []Deviation{{-1, "", "the padding of events.ndjson is not zero"}}},
		{"end", func(f *forge) { f.archive = func(b []byte) []byte { return b[:len(b)-512] } }, []Deviation{
			{-1, "", "the archive does not end with exactly two blocks of zeros"},
		}},
	} {
		f := newForge()
		c.change(f)
		data := f.bytes()
		v, err := Verify(bytes.NewReader(data), Options{Strict: true})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, v.Deviations); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if v, err := Verify(bytes.NewReader(data), Options{}); err != nil || v.Deviations != nil {
			t.Errorf("%s, not strict: %+v, %v", c.name, v, err)
		}
	}
}

func TestDeviationsAreBounded(t *testing.T) {
	for _, n := range []int{100, 101} {
		f := newForge()
		for i := range n {
			f.events[0].set("z"+strings.Repeat("z", i), "1")
		}
		v, err := Verify(bytes.NewReader(f.bytes()), Options{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Deviations) != 100 || v.UnlistedDeviations != n-100 {
			t.Errorf("%d: %d deviations and %d more", n, len(v.Deviations), v.UnlistedDeviations)
		}
	}
}

// limited verifies with one limit different from the default.
func limited(data []byte, set func(l *Limits)) error {
	l := DefaultLimits()
	set(&l)
	_, err := Verify(bytes.NewReader(data), Options{Limits: l})
	return err
}

func TestVerifyLimits(t *testing.T) {
	f := newForge()
	var archive []byte
	var lines []string
	manifest := ""
	f.archive = func(b []byte) []byte { archive = b; return b }
	f.lines = func(l []string) []string { lines = l; return l }
	f.text = func(s string) string { manifest = s; return s }
	data := f.bytes()
	for _, c := range []struct {
		name, code string
		n          int
		set        func(l *Limits, n int)
	}{
		{"bundle", limitBundle, len(data), func(l *Limits, n int) { l.Bundle = int64(n) }},
		{"decoded", limitDecoded, len(archive), func(l *Limits, n int) { l.Decoded = int64(n) }},
		{"manifest", limitFileSize, len(manifest), func(l *Limits, n int) { l.Manifest = int64(n) }},
		{"events", limitFileSize, len(strings.Join(lines, "")), func(l *Limits, n int) { l.Events = int64(n) }},
		{"lines", limitEvents, 3, func(l *Limits, n int) { l.Lines = n }},
		{"line", limitLine, len(lines[0]) - 1, func(l *Limits, n int) { l.Line = n }},
		{"depth", limitDepth, 3, func(l *Limits, n int) { l.Depth = n }},
	} {
		if err := limited(data, func(l *Limits) { c.set(l, c.n) }); err != nil {
			t.Errorf("%s at the limit: %v", c.name, err)
		}
		if code := codeOf(t, limited(data, func(l *Limits) { c.set(l, c.n-1) })); code != c.code {
			t.Errorf("%s past the limit: %q, want %q", c.name, code, c.code)
		}
	}
}

// A file that is too large is refused for its size, even if it has other faults.
func TestVerifyReadsToTheEnd(t *testing.T) {
	data := append([]byte("no gzip"), make([]byte, 1000)...)
	for n, want := range map[int64]string{1007: integrityTar, 1006: limitBundle} {
		if code := codeOf(t, limited(data, func(l *Limits) { l.Bundle = n })); code != want {
			t.Errorf("limit %d: %q, want %q", n, code, want)
		}
	}
}

func TestVerifyReaders(t *testing.T) {
	good := newForge().bytes()
	bad := newForge()
	bad.lines = replace(`"n":1`, `"n":2`)
	for _, data := range [][]byte{good, bad.bytes(), good[:300], nil} {
		want, wantErr := Verify(bytes.NewReader(data), Options{Strict: true})
		for name, r := range map[string]io.Reader{
			"one byte":   iotest.OneByteReader(bytes.NewReader(data)),
			"half":       iotest.HalfReader(bytes.NewReader(data)),
			"data error": iotest.DataErrReader(bytes.NewReader(data)),
		} {
			got, err := Verify(r, Options{Strict: true})
			if diff := cmp.Diff(want, got); diff != "" || codeOf(t, err) != codeOf(t, wantErr) {
				t.Errorf("%s: %v, want %v\n%s", name, err, wantErr, diff)
			}
		}
		broken := errors.New("the disk is gone")
		for _, n := range []int{0, 5, 100, len(data)} {
			n = min(n, len(data))
			_, err := Verify(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(broken)), Options{})
			if !errors.Is(err, broken) {
				t.Errorf("a failure after %d bytes: %v", n, err)
			}
		}
	}
}

func TestVerifyEntryError(t *testing.T) {
	enough, calls := errors.New("enough"), 0
	_, err := Verify(bytes.NewReader(newForge().bytes()), Options{Entry: func(e Entry) error {
		calls++
		if e.Seq == 1 {
			return enough
		}
		return nil
	}})
	if err != enough || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestRefusalNamesTheEvent(t *testing.T) {
	f := newForge()
	f.events[1].set("time", `"noon"`)
	_, err := Verify(bytes.NewReader(f.bytes()), Options{})
	want := &Refusal{"Contract", contractJSON, "Event JSON: time is not a time", 1}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := err.Error(), "Contract: Event JSON: time is not a time (ContractInvalidJson)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func BenchmarkVerify(b *testing.B) {
	var events []Event
	a := decoded(b, "valid.ag-ui.json")
	for i := range 500 {
		a.Messages[0].Content = strings.Repeat("who said what, in which run ", i%12+1)
		events = append(events, Placeholder(a))
	}
	data := bundled(b, sampleRun(), events...)
	for name, strict := range map[string]bool{"reference": false, "strict": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v, err := Verify(bytes.NewReader(data), Options{Strict: strict})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(v.EventsBytes)
			}
		})
	}
}
