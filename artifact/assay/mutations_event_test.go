package assay

import (
	"fmt"
	"slices"
	"strings"
)

func eventMutations() []mutation {
	ms := []mutation{
		{"nothing", accepted, false, func(*forge) {}},
		{"one event", accepted, false, func(f *forge) { f.events = f.events[:1] }},
		{"no event", contractEvent, false, func(f *forge) { f.events = nil }},
		{"data edited", integrityEventHash, false, func(f *forge) {
			f.lines = replace(`"n":1`, `"n":7`)
		}},
		{"type edited", integrityEventHash, false, func(f *forge) { f.lines = replace("example.type", "example.typo") }},
		{"content type edited", integrityEventHash, false, func(f *forge) { f.lines = replace("application/json", "application/yaml") }},
		{"subject added", integrityEventHash, false, func(f *forge) { f.lines = replace(`"type":`, `"subject":"s","type":`) }},
		{"time edited", accepted, false, func(f *forge) { f.each("time", `"2027-01-02T03:04:05.678Z"`) }},
		{"hash in upper case", integrityEventHash, false, func(f *forge) {
			f.lines = func(lines []string) []string {
				i := strings.Index(lines[0], "sha256:") + 7
				lines[0] = lines[0][:i] + strings.ToUpper(lines[0][i:i+64]) + lines[0][i+64:]
				return lines
			}
		}},
		{"hash without its prefix", integrityEventHash, false, func(f *forge) { f.lines = replace(`"assaycontenthash":"sha256:`, `"assaycontenthash":"`) }},
		{"hashes swapped", integrityEventHash, false, func(f *forge) {
			f.bytes()
			f.stale = true
			a, b := f.events[0].get("assaycontenthash"), f.events[1].get("assaycontenthash")
			f.events[0].set("assaycontenthash", b)
			f.events[1].set("assaycontenthash", a)
		}},
		{"no content hash", contractVersion, false, stale(func(e *object) { e.remove("assaycontenthash") })},
		{"content hash null", contractVersion, false, stale(func(e *object) { e.set("assaycontenthash", "null") })},
		{"content hash a number", contractJSON, false, stale(func(e *object) { e.set("assaycontenthash", "1") })},
		{"lines swapped", contractStart, false, func(f *forge) {
			f.lines = func(l []string) []string { return []string{l[1], l[0], l[2]} }
		}},
		{"line repeated", contractGap, false, func(f *forge) {
			f.lines = func(l []string) []string { return []string{l[0], l[0], l[1], l[2]} }
		}},
		{"line dropped in the middle", contractGap, false, func(f *forge) {
			f.lines = func(l []string) []string { return []string{l[0], l[2]} }
		}},
		{"line dropped at the end", contractGap, false, func(f *forge) {
			f.lines = func(l []string) []string { return l[:2] }
		}},
		{"sequence from 1", contractStart, false, func(f *forge) {
			for i := range f.events {
				f.events[i].set("assayseq", fmt.Sprint(i+1))
				f.events[i].set("id", fmt.Sprintf(`"run:%d"`, i+1))
			}
		}},
		{"sequence beyond 64 bits in the second event", contractJSON, false, func(f *forge) { f.events[1].set("assayseq", "18446744073709551616") }},
		{"sequence of 64 bits in the second event", contractGap, false, func(f *forge) { f.events[1].set("assayseq", "18446744073709551615") }},
		{"second run id", contractRunID, false, func(f *forge) {
			f.events[1].set("assayrunid", `"other"`)
			f.events[1].set("id", `"other:1"`)
		}},
		{"second source", contractEvent, false, func(f *forge) { f.events[2].set("source", `"urn:other"`) }},
		{"source without colon", contractEvent, false, func(f *forge) { f.each("source", `"source"`) }},
		{"source begins with colon", contractEvent, false, func(f *forge) { f.each("source", `":source"`) }},
		{"source is a colon and more", accepted, false, func(f *forge) { f.each("source", `"a:"`) }},
		{"source empty", contractEvent, false, func(f *forge) { f.each("source", `""`) }},
		{"id of another event", contractEvent, false, func(f *forge) { f.events[1].set("id", `"run:2"`) }},
		{"id with zero", contractEvent, false, func(f *forge) { f.events[1].set("id", `"run:01"`) }},
		{"id empty", contractEvent, false, func(f *forge) { f.events[0].set("id", `""`) }},
		{"run id with colon", contractEvent, false, func(f *forge) { f.rename("a:b") }},
		{"run id empty", accepted, true, func(f *forge) { f.rename("") }},
		{"run id with slash", accepted, true, func(f *forge) { f.rename("a/b") }},
		{"run id with two dots", accepted, true, func(f *forge) { f.rename("a..b") }},
		{"run id with control character", accepted, true, func(f *forge) { f.rename(`a\u0007b`) }},
		{"run id beyond ASCII", accepted, false, func(f *forge) { f.rename("läuft😀") }},
		event0("specversion 1.1", contractVersion, func(e *object) { e.set("specversion", `"1.1"`) }),
		event0("specversion empty", contractVersion, func(e *object) { e.set("specversion", `""`) }),
		event0("type empty", accepted, func(e *object) { e.set("type", `""`) }),
		{"type assay.unknown", accepted, false, func(f *forge) { f.each("type", `"assay.unknown"`) }},
		event0("content type text/plain", accepted, func(e *object) { e.set("datacontenttype", `"text/plain"`) }),
		event0("content type empty", accepted, func(e *object) { e.set("datacontenttype", `""`) }),
		event0("producer of the event", accepted, func(e *object) { e.set("assayproducer", `"other"`) }),
		event0("producer version of the event", accepted, func(e *object) { e.set("assayproducerversion", `"9"`) }),
		event0("git of the event", accepted, func(e *object) { e.set("assaygit", `"9"`) }),
		event0("producer empty", accepted, func(e *object) { e.set("assayproducer", `""`) }),
		event0("producer version empty", accepted, func(e *object) { e.set("assayproducerversion", `""`) }),
		event0("git empty", accepted, func(e *object) { e.set("assaygit", `""`) }),
		{"producer of a later event", accepted, false, func(f *forge) { f.events[1].set("assayproducer", `"other"`) }},
		{"pii true", accepted, false, func(f *forge) { f.each("assaypii", "true") }},
		{"secrets true", accepted, false, func(f *forge) { f.each("assaysecrets", "true") }},
		event0("unknown field", accepted, func(e *object) { e.set("zz", "1") }),
		event0("unknown field with a huge number", accepted, func(e *object) { e.set("zz", "1e400") }),
		event0("unknown field with a deep huge number", accepted, func(e *object) { e.set("zz", `{"a":[1e999]}`) }),
		event0("field in other case", contractJSON, func(e *object) { e.remove("assaygit"); e.set("AssayGit", `"sample"`) }),
		event0("digest without profile", accepted, func(e *object) { e.set("assaysemanticdigest", `"sha256:x"`) }),
		event0("profile without digest", accepted, func(e *object) { e.set("assaydigestprofile", `"p"`) }),
		{"digest and profile", accepted, false, func(f *forge) {
			f.sorted(object{{`"assaydigestprofile"`, `"p"`}, {`"assaysemanticdigest"`, `"sha256:x"`}})
		}},
		{"all optional fields", accepted, false, func(f *forge) {
			f.sorted(object{{`"assaypolicyid"`, `"p"`}, {`"subject"`, `"s"`}, {`"traceparent"`, `"t"`}, {`"tracestate"`, `"u"`}})
		}},
		event0("subject empty", accepted, func(e *object) { e.set("subject", `""`) }),
		{"times going backwards", accepted, true, func(f *forge) { f.events[2].set("time", `"2026-04-14T20:09:59Z"`) }},
		{"event as an array", accepted, true, func(f *forge) {
			f.lines = func(l []string) []string { l[0] = f.events[0].values(eventFields...) + "\n"; return l }
		}},
		{"event as an array too short", contractJSON, false, func(f *forge) {
			f.lines = func(l []string) []string { l[0] = f.events[0].values(eventFields[:20]...) + "\n"; return l }
		}},
		{"event as an array too long", contractJSON, false, func(f *forge) {
			f.lines = func(l []string) []string {
				l[0] = f.events[0].values(append(slices.Clone(eventFields), "x")...) + "\n"
				return l
			}
		}},
		{"event as an array in another order", contractJSON, false, func(f *forge) {
			f.lines = func(l []string) []string {
				names := slices.Clone(eventFields)
				slices.Reverse(names)
				l[0] = f.events[0].values(names...) + "\n"
				return l
			}
		}},
	}
	for _, name := range []string{"subject", "traceparent", "tracestate", "assaypolicyid", "assaysemanticdigest", "assaydigestprofile"} {
		ms = append(ms, event0(name+" null", accepted, func(e *object) { e.set(name, "null") }))
		ms = append(ms, event0(name+" a number", contractJSON, func(e *object) { e.set(name, "1") }))
	}
	return ms
}

var eventFields = []string{
	"specversion", "type", "source", "id", "time", "datacontenttype", "subject", "traceparent", "tracestate", "assayrunid", "assayseq",
	"assayproducer", "assayproducerversion", "assaygit", "assaypolicyid", "assaypii", "assaysecrets", "assaycontenthash",
	"assaysemanticdigest", "assaydigestprofile", "data",
}
