//go:build judge

package assay

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// repeat runs a check on the given number of random cases.
func repeat(t *testing.T, cases int, check func(t *rapid.T)) {
	const each = 20 // cases in one check of rapid, which runs 100 checks
	for range max(1, cases/100/each) {
		rapid.Check(t, func(t *rapid.T) {
			for range each {
				check(t)
			}
		})
	}
}

// samples are valid bundles of different kinds: compressed, stored, with long events and
// with a long gzip header.
func samples(t *testing.T) [][]byte {
	stored := newForge()
	stored.level = 0
	long := newForge()
	for i := range long.events {
		long.events[i].set("data", fmt.Sprintf(`["%s"]`, strings.Repeat(fmt.Sprintf("a longer text %d, ", i), 2000)))
	}
	named := newForge()
	named.gzip = []byte("\x1f\x8b\x08\x1f\x00\x00\x00\x00\x02\xff\x01\x00xname\x00comment\x00")
	named.gzip = append(named.gzip, headerSum(string(named.gzip))...)
	fast := newForge()
	fast.level = 1
	all := [][]byte{newForge().bytes(), stored.bytes(), long.bytes(), named.bytes(), fast.bytes()}
	for i, data := range all {
		if _, err := Verify(bytes.NewReader(data), Options{}); err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
	}
	return all
}

// Any bytes of the file changed, removed or added.
func TestJudgeRandomBytes(t *testing.T) {
	j, all := startJudge(t), samples(t)
	repeat(t, 4000, func(t *rapid.T) {
		data := slices.Clone(all[rapid.IntRange(0, len(all)-1).Draw(t, "sample")])
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				data = slices.Delete(data, at, min(len(data), at+rapid.IntRange(1, 40).Draw(t, "n")))
			case 1:
				data = slices.Insert(data, at, rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "bytes")...)
			case 2:
				data = data[:at+1]
			default:
				data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			}
			if len(data) == 0 {
				break
			}
		}
		j.agree(t, data)
	})
}

// The text of lines and manifest edited anywhere, with all hashes updated except the
// content hashes.
func TestJudgeRandomText(t *testing.T) {
	j := startJudge(t)
	pieces := rapid.OneOf(
		rapid.SampledFrom([]string{
			`"`, `\`, "{", "}", "[", "]", ",", ":", " ", "\t", "\r", "\n", "\v", "\u00a0", "\x00", "\x1f", "\x7f", "0", "1", "-", ".", "e", "E5", "00", "null", "true",
			`\u0000`, `\ud800`, `\udc00`, `\ud83d\ude00`, `\u0041`, `\/`, "\xff", "\xed\xa0\x80", "\ufeff", "é", "😀", `"type":""`, `,"subject":null`, `"z":1,`, "1e400", "[[", "]]", "{}", "[]",
		}),
		rapid.StringN(0, 3, -1),
	)
	edit := func(t *rapid.T, s string) string {
		if s == "" {
			return s
		}
		at := rapid.IntRange(0, len(s)-1).Draw(t, "at")
		end := min(len(s), at+rapid.SampledFrom([]int{0, 0, 1, 2, 5, 30}).Draw(t, "cut"))
		return s[:at] + pieces.Draw(t, "piece") + s[end:]
	}
	repeat(t, 4000, func(t *rapid.T) {
		f := newForge()
		times := rapid.IntRange(1, 2).Draw(t, "edits")
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			f.text = func(s string) string {
				for range times {
					s = edit(t, s)
				}
				return s
			}
		case 1: // the data, with an updated content hash if the data is valid JSON
			for range times {
				f.events[0].set("data", edit(t, f.events[0].get("data")))
			}
		default:
			f.lines = func(lines []string) []string {
				for range times {
					i := rapid.IntRange(0, 2).Draw(t, "line")
					lines[i] = edit(t, lines[i])
				}
				return lines
			}
		}
		j.agree(t, f.bytes())
	})
}

// Fields of events and manifest with random values and updated hashes.
func TestJudgeRandomFields(t *testing.T) {
	j := startJudge(t)
	values := rapid.SampledFrom([]string{
		"null", "true", "false", "0", "1", "2", "-0", "1.0", "1e0", "18446744073709551615", "18446744073709551616", "4294967296", `""`, `"run"`, `"run:0"`, `"a:b"`, `"1.0"`,
		`"2026-04-14T20:10:00Z"`, "[]", "{}", `["a","b","c"]`, `["a","b",null]`, `["a","b",1]`, `{"name":"a","version":"b"}`, `{"events.ndjson":["a","b",1]}`, `"urn:x"`, `"\ud800"`, `1e400`,
	})
	manifest := []string{"schema_version", "bundle_id", "producer", "run_id", "event_count", "run_root", "algorithms", "files", "other"}
	repeat(t, 4000, func(t *rapid.T) {
		f := newForge()
		change := func(o *object, names []string) {
			for range rapid.IntRange(0, 2).Draw(t, "changes") {
				name := rapid.SampledFrom(names).Draw(t, "name")
				switch rapid.IntRange(0, 5).Draw(t, "kind") {
				case 0:
					o.remove(name)
				case 1:
					o.add(fmt.Sprintf("%q", name), values.Draw(t, "value"))
				default:
					o.set(name, values.Draw(t, "value"))
				}
			}
		}
		change(&f.events[rapid.IntRange(0, 2).Draw(t, "event")], append(slices.Clone(eventFields), "other"))
		array := rapid.IntRange(0, 9).Draw(t, "array")
		var top object
		f.manifest = func(m *object) { change(m, manifest); top = *m }
		f.text = func(s string) string {
			if array == 0 {
				return top.values(manifest[:8]...)
			}
			return s
		}
		f.lines = func(lines []string) []string {
			if array == 1 {
				lines[0] = f.events[0].values(eventFields...) + "\n"
			}
			return lines
		}
		j.agree(t, f.bytes())
	})
}

// Bytes of the tar archive edited, with or without updated checksums of headers.
func TestJudgeRandomArchive(t *testing.T) {
	j := startJudge(t)
	interesting := []int{0, 1, 13, 99, 100, 124, 130, 134, 135, 136, 148, 153, 154, 155, 156, 157, 256, 257, 262, 263, 265, 344, 345, 500, 511}
	repeat(t, 4000, func(t *rapid.T) {
		f := newForge()
		f.level = rapid.SampledFrom([]int{0, 1, 9}).Draw(t, "level")
		f.members = func(ms []forgedMember) []forgedMember {
			for range rapid.IntRange(0, 2).Draw(t, "headers") {
				m := &ms[rapid.IntRange(0, len(ms)-1).Draw(t, "member")]
				at := rapid.OneOf(rapid.SampledFrom(interesting), rapid.IntRange(0, 511)).Draw(t, "at")
				change := func(h []byte) {
					h[at] = rapid.OneOf(rapid.SampledFrom([]byte("\x00 0178/.xgL\xff\x80")), rapid.Byte()).Draw(t, "byte")
				}
				if rapid.IntRange(0, 3).Draw(t, "sum") == 0 {
					change(m.header[:])
				} else {
					m.edit(change)
				}
			}
			switch rapid.IntRange(0, 7).Draw(t, "order") {
			case 0:
				slices.Reverse(ms)
			case 1:
				ms = append(ms, ms[rapid.IntRange(0, 1).Draw(t, "again")])
			case 2:
				ms = ms[:1]
			}
			return ms
		}
		f.archive = func(b []byte) []byte {
			switch rapid.IntRange(0, 5).Draw(t, "end") {
			case 0:
				b = b[:rapid.IntRange(0, len(b)).Draw(t, "cut")]
			case 1:
				b = append(b, make([]byte, rapid.IntRange(0, 1200).Draw(t, "zeros"))...)
			case 2:
				b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] ^= rapid.Byte().Draw(t, "flip")
			}
			return b
		}
		j.agree(t, f.bytes())
	})
}
