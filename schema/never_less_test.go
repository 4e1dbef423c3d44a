package schema_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/schema"
	"github.com/p20export/p20export/schema/schematest"
)

// odd generates strings that almost break the rules, or break them.
func odd() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "é", "🙂", " ", "\t", "\n", "\x1c", "\u0085", "\u00a0", "\u2028", "\u3000", "\u200b", "\ufeff", "\x00", "\x1b", "\x7f", "\u009f",
		":", "//", "://", "Z", "0", "@", ".", "[", "]", "%", "-", "_", "www.", "a.b", "localhost", "1.2.3.4", "::1", "mailto", "ſms", "/", "?", "#", "\U0010ffff", "\ufffd", "\ue000", "\\", "\"", "<",
	})
	long := rapid.Custom(func(t *rapid.T) string {
		limit := rapid.SampledFrom([]int{48, 60, 96, 128, 200, 256, 400, 1024, 262_144}).Draw(t, "limit")
		pad := rapid.SampledFrom([]string{"", " ", "\u2003\n", strings.Repeat("\t", 30)})
		middle := strings.Repeat(rapid.SampledFrom([]string{"a", "é", "🙂"}).Draw(t, "of"), limit-rapid.IntRange(-1, 2).Draw(t, "less"))
		return pad.Draw(t, "before") + middle + pad.Draw(t, "after")
	})
	pieces := rapid.Map(rapid.SliceOfN(piece, 1, 6), func(all []string) string { return strings.Join(all, "") })
	return rapid.OneOf(pieces, rapid.StringOfN(rapid.Rune(), 0, 12, -1), long,
		rapid.SampledFrom([]string{"", "RUN_FINISHED", "RUN_ERROR", "user", "tool", "v1"}))
}

// instant generates strings that may be timestamps.
func instant() *rapid.Generator[string] {
	part := func(all ...string) *rapid.Generator[string] { return rapid.SampledFrom(all) }
	return rapid.Custom(func(t *rapid.T) string {
		return part("2026", "2024", "0001", "9999", "0000", "1900", "2000").Draw(t, "year") + "-" +
			part("01", "02", "04", "12", "00", "13").Draw(t, "month") + "-" + part("01", "28", "29", "30", "31", "00").Draw(t, "day") +
			part("T", "t", " ").Draw(t, "T") + part("00", "12", "23", "24").Draw(t, "hour") + ":" + part("00", "59", "60").Draw(t, "minute") + ":" +
			part("00", "59", "60").Draw(t, "second") + part("", ".5", ".000000", ".1234567", ".").Draw(t, "fraction") +
			part("Z", "z", "+00:00", "-23:59", "+24:00", "").Draw(t, "zone")
	})
}

// count returns the number of values in a JSON value, including itself.
func count(value any) int {
	n := 1
	switch v := value.(type) {
	case object:
		for _, e := range v {
			n += count(e)
		}
	case []any:
		for _, e := range v {
			n += count(e)
		}
	}
	return n
}

// changed returns a JSON value with one part changed.
func changed(t *rapid.T, value any) any {
	var parts []int // rapid.IntRange would draw the first ones too often
	for i := range count(value) {
		parts = append(parts, i)
	}
	part := rapid.SampledFrom(parts).Draw(t, "part")
	return change(t, value, &part)
}

// change changes the value with the number part, counting down.
func change(t *rapid.T, value any, part *int) any {
	here := *part == 0
	*part--
	switch v := value.(type) {
	case object:
		made := maps.Clone(v)
		switch keys := slices.Sorted(maps.Keys(v)); {
		case !here:
			for _, key := range keys {
				made[key] = change(t, v[key], part)
			}
			return made
		case len(keys) > 0 && rapid.Bool().Draw(t, "drop"):
			delete(made, rapid.SampledFrom(keys).Draw(t, "dropped"))
			return made
		case rapid.Bool().Draw(t, "add"):
			made[rapid.SampledFrom([]string{"x", "state", "", "error_code", "finished_at", "name", "response.json", "threadId", "labels"}).Draw(t, "key")] = odd().Draw(t, "added")
			return made
		}
	case []any:
		made := slices.Clone(v)
		if !here {
			for i, e := range v {
				made[i] = change(t, e, part)
			}
			return made
		}
		if i := len(v) - 1; i >= 0 && rapid.Bool().Draw(t, "drop") {
			return made[:i]
		} else if i >= 0 && rapid.Bool().Draw(t, "double") {
			return append(made, v[i])
		}
	}
	if !here {
		return value
	}
	return rapid.OneOf(
		rapid.Map(odd(), func(s string) any { return s }),
		rapid.Map(instant(), func(s string) any { return s }),
		rapid.SampledFrom([]any{nil, true, json.Number("0"), json.Number("-1"), json.Number("1e2"), json.Number("1.0"), json.Number("999"), json.Number("9223372036854775808"), []any{}, object{}}),
	).Draw(t, "value")
}

// neverLess changes valid values at random and checks that the schema accepts every value
// that accepts returns true for. About one changed value in eight is accepted.
func neverLess(t *testing.T, name string, good []any, accepts func(value any, data []byte) bool) {
	t.Helper()
	check := func(t rapid.TB, value any) (taken bool) {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if !accepts(value, data) {
			return false
		}
		if err := schematest.Check(name, data); err != nil {
			t.Fatalf("%s refuses what the program accepts: %v\n%.2000s", name, err, data)
		}
		return true
	}
	for _, value := range good {
		if !check(t, value) {
			t.Fatalf("the program refuses %v", value)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom(good).Draw(t, "good")
		for range rapid.IntRange(1, 2).Draw(t, "changes") {
			value = changed(t, value)
		}
		check(t, value)
	})
}

func TestNeverLessArtifact(t *testing.T) {
	for _, p := range artifact.Profiles() {
		t.Run(string(p), func(t *testing.T) {
			neverLess(t, schemaOf(p), []any{finished(), failed()}, func(_ any, data []byte) bool {
				a, _ := artifact.Decode(data, p)
				return a != nil
			})
		})
	}
}

// TestNeverLessStrings replaces only strings, with odd ones, so that most artifacts are
// accepted.
func TestNeverLessStrings(t *testing.T) {
	for _, p := range artifact.Profiles() {
		t.Run(string(p), func(t *testing.T) { neverLessStrings(t, p) })
	}
}

func neverLessStrings(t *testing.T, p artifact.Profile) {
	rapid.Check(t, func(t *rapid.T) {
		o := failed()
		for range rapid.IntRange(1, 2).Draw(t, "places") {
			if rapid.Bool().Draw(t, "a time") {
				set(o, rapid.SampledFrom([]string{"started_at", "finished_at"}).Draw(t, "key"), instant().Draw(t, "time"))
			} else {
				set(o, rapid.SampledFrom(texts).Draw(t, "text").pointer, odd().Draw(t, "odd"))
			}
		}
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if a, _ := artifact.Decode(data, p); a == nil {
			return
		}
		if err := schematest.Check(schemaOf(p), data); err != nil {
			t.Fatalf("%v\n%.2000s", err, data)
		}
	})
}

// FuzzNeverLess checks on any bytes that schemas accept everything that decoders accept.
func FuzzNeverLess(f *testing.F) {
	for _, o := range []object{finished(), failed(), manifest()} {
		data, err := json.Marshal(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(linesOf(f, bounded()))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range artifact.Profiles() {
			if a, _ := artifact.Decode(data, p); a != nil {
				if err := schematest.Check(schemaOf(p), data); err != nil {
					t.Errorf("%s: %v\n%q", p, err, data)
				}
			}
		}
		if _, err := capture.DecodeManifest(data); err == nil {
			if err := schematest.Check(schema.Capture, data); err != nil {
				t.Errorf("%v\n%q", err, data)
			}
		}
		if capture.DetectFraming(data) == capture.NDJSON && isBounded(t, data) {
			if err := schematest.CheckLines(schema.Envelope, withoutBlankLines(data)); err != nil {
				t.Errorf("%v\n%q", err, data)
			}
		}
	})
}

func TestNeverLessEnvelope(t *testing.T) {
	other := bounded()
	other[2] = object{"type": "RUN_ERROR", "message": "boom", "code": nil}
	neverLess(t, schema.Envelope, []any{bounded(), other}, func(value any, _ []byte) bool {
		events, ok := value.([]any)
		return ok && isBounded(t, linesOf(t, events))
	})
}

func TestNeverLessCapture(t *testing.T) {
	bare := manifest()
	for _, key := range []string{"first_byte_at", "labels"} {
		delete(bare, key)
	}
	bare["source"] = object{"kind": "file"}
	neverLess(t, schema.Capture, []any{manifest(), bare}, func(_ any, data []byte) bool {
		_, err := capture.DecodeManifest(data)
		return err == nil
	})
}

// TestNeverLessURL tests URLs in a manifest.
func TestNeverLessURL(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"http:", "x+1:", "1:", "//", "/", "host", "@", ":", "?", "#", "%40", "user", "[::1]", "é", "🙂", "."}), 0, 7).Draw(t, "pieces")
		m := manifest()
		m["source"].(object)["url"] = strings.Join(pieces, "")
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := capture.DecodeManifest(data); err != nil {
			return
		}
		if err := schematest.Check(schema.Capture, data); err != nil {
			t.Fatalf("%q: %v", strings.Join(pieces, ""), err)
		}
	})
}

// linesOf returns events with one per line.
func linesOf(t interface{ Fatal(...any) }, events []any) []byte {
	var b bytes.Buffer
	for _, e := range events {
		if err := json.NewEncoder(&b).Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func withoutBlankLines(data []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) > 0 {
			kept = append(kept, line...)
		}
	}
	return kept
}

// isBounded reports whether the program accepts lines as a bounded envelope.
func isBounded(t interface{ Fatal(...any) }, data []byte) bool {
	findings := envelopeFindings(t, bytes.NewReader(data))
	return !finding.Failed(findings)
}

func envelopeFindings(t interface{ Fatal(...any) }, r io.Reader) []finding.Finding {
	splitter := capture.NewSplitter(r, capture.NDJSON)
	findings, err := envelope.Check(splitter)
	if err != nil {
		t.Fatal(err)
	}
	return append(findings, splitter.Findings()...)
}
