package assay

import (
	"slices"
	"strings"
)

func manifestMutations() []mutation {
	m := func(name, code string, change func(m *object)) mutation {
		return mutation{"manifest: " + name, code, code == accepted, func(f *forge) { f.manifest = change }}
	}
	text := func(name, code string, change func(string) string) mutation {
		return mutation{"manifest: " + name, code, code == accepted, func(f *forge) { f.text = change }}
	}
	zeros := `"` + strings.Repeat("0", 64) + `"`
	ms := []mutation{
		m("schema version 2", contractVersion, func(m *object) { m.set("schema_version", "2") }),
		m("schema version 0", contractVersion, func(m *object) { m.set("schema_version", "0") }),
		m("schema version of 33 bits", contractJSON, func(m *object) { m.set("schema_version", "4294967297") }),
		m("event count less", contractGap, func(m *object) { m.set("event_count", "2") }),
		m("event count more", contractGap, func(m *object) { m.set("event_count", "4") }),
		m("event count beyond 64 bits", contractJSON, func(m *object) { m.set("event_count", "18446744073709551616") }),
		m("run id", contractRunID, func(m *object) { m.set("run_id", `"other"`) }),
		m("run root", integrityRunRoot, func(m *object) { m.set("run_root", zeros) }),
		m("run root without prefix", integrityRunRoot, func(m *object) { m.set("run_root", strings.Replace(m.get("run_root"), "sha256:", "", 1)) }),
		m("bundle id", contractBundleID, func(m *object) { m.set("bundle_id", zeros) }),
		m("run root and bundle id", integrityRunRoot, func(m *object) { m.set("bundle_id", zeros); m.set("run_root", zeros) }),
		m("producer name", accepted, func(m *object) { m.set("producer", `{"git":"sample","name":"x","version":"0.1.0"}`) }),
		m("producer version", accepted, func(m *object) { m.set("producer", `{"git":"sample","name":"assay-example","version":"x"}`) }),
		m("producer without git", accepted, func(m *object) { m.set("producer", `{"name":"assay-example","version":"0.1.0"}`) }),
		m("producer git null", accepted, func(m *object) { m.set("producer", `{"git":null,"name":"assay-example","version":"0.1.0"}`) }),
		m("producer git unknown", accepted, func(m *object) { m.set("producer", `{"git":"unknown","name":"assay-example","version":"0.1.0"}`) }),
		m("producer git a number", contractJSON, func(m *object) { m.set("producer", `{"git":1,"name":"assay-example","version":"0.1.0"}`) }),
		m("producer with more", accepted, func(m *object) { m.set("producer", `{"git":"sample","name":"assay-example","version":"0.1.0","x":1}`) }),
		m("producer without name", contractJSON, func(m *object) { m.set("producer", `{"version":"0.1.0"}`) }),
		m("producer as an array", accepted, func(m *object) { m.set("producer", `["assay-example","0.1.0","sample"]`) }),
		m("producer as an array without git", contractJSON, func(m *object) { m.set("producer", `["assay-example","0.1.0"]`) }),
		m("producer as an array with git null", accepted, func(m *object) { m.set("producer", `["assay-example","0.1.0",null]`) }),
		m("algorithms of other text", accepted, func(m *object) { m.set("algorithms", `{"canon":"x","hash":"y","root":"z"}`) }),
		m("algorithms without canon", contractJSON, func(m *object) { m.set("algorithms", `{"hash":"y","root":"z"}`) }),
		m("algorithms as an array", accepted, func(m *object) { m.set("algorithms", `["jcs-rfc8785","sha256","x"]`) }),
		m("files without events", contractMissing, func(m *object) { m.set("files", `{}`) }),
		m("files of another name", contractMissing, func(m *object) {
			m.set("files", strings.Replace(m.get("files"), "events.ndjson", "events.json", 1))
		}),
		m("files as an array", contractJSON, func(m *object) { m.set("files", `[]`) }),
		m("files with more", accepted, func(m *object) {
			m.set("files", strings.Replace(m.get("files"), "{", `{"a/b":{"bytes":1,"path":"","sha256":""},`, 1))
		}),
		m("files with more that is wrong", contractJSON, func(m *object) { m.set("files", strings.Replace(m.get("files"), "{", `{"a":{},`, 1)) }),
		m("file path", accepted, func(m *object) {
			m.set("files", strings.Replace(m.get("files"), `"path":"events.ndjson"`, `"path":"x"`, 1))
		}),
		m("file hash", integrityFileHash, func(m *object) { m.set("files", flipHash(m.get("files"))) }),
		m("file hash without prefix", accepted, func(m *object) { m.set("files", strings.Replace(m.get("files"), "sha256:", "", 1)) }),
		m("file hash with two prefixes", integrityFileHash, func(m *object) { m.set("files", strings.Replace(m.get("files"), "sha256:", "sha256:sha256:", 1)) }),
		m("file hash empty", integrityFileHash, func(m *object) { m.set("files", strings.Replace(m.get("files"), "sha256:", `","x":"`, 1)) }),
		m("file hash in upper case", integrityFileHash, func(m *object) {
			s := m.get("files")
			i := strings.Index(s, "sha256:") + 7
			m.set("files", s[:i]+strings.ToUpper(s[i:i+64])+s[i+64:])
		}),
		m("file bytes", integrityFileSize, func(m *object) { m.set("files", strings.Replace(m.get("files"), `"bytes":`, `"bytes":1`, 1)) }),
		m("file bytes negative", contractJSON, func(m *object) { m.set("files", strings.Replace(m.get("files"), `"bytes":`, `"bytes":-`, 1)) }),
		m("file as an array", accepted, func(m *object) {
			s := m.get("files")
			s = strings.NewReplacer(`{"bytes":`, "[", `,"path":"events.ndjson","sha256":`, "|", "}}", "]}").Replace(s)
			i, j := strings.Index(s, "["), strings.Index(s, "|")
			m.set("files", s[:i]+`["events.ndjson",`+s[j+1:len(s)-2]+","+s[i+1:j]+"]}")
		}),
		m("unknown field", accepted, func(m *object) { m.set("zz", "1e400") }),
		m("duplicate field", contractJSON, func(m *object) { m.add(`"run_id"`, `"run"`) }),
		m("duplicate field after unescaping", contractJSON, func(m *object) { m.add(`"run\u005fid"`, `"run"`) }),
		m("duplicate unknown field", contractJSON, func(m *object) { m.add(`"z"`, `1`); m.add(`"\u007a"`, `2`) }),
		m("order", accepted, func(m *object) { slices.Reverse(*m) }),
		m("name escaped", accepted, func(m *object) { (*m)[5].name = `"run\u005fid"` }),
		{"manifest: as an array", accepted, true, func(f *forge) {
			var parts object
			f.manifest = func(m *object) { parts = *m }
			f.text = func(string) string {
				return parts.values("schema_version", "bundle_id", "producer", "run_id", "event_count", "run_root", "algorithms", "files")
			}
		}},
		text("white space", accepted, func(s string) string { return " " + strings.ReplaceAll(s, `,"`, ",\r\n\t \"") }),
		text("line feed", accepted, func(s string) string { return s + "\n" }),
		text("mark of byte order", contractJSON, func(s string) string { return "\ufeff" + s }),
		text("no-break space", contractJSON, func(s string) string { return "\u00a0" + s }),
		text("second value", contractJSON, func(s string) string { return s + "{}" }),
		text("cut", contractJSON, func(s string) string { return s[:len(s)-1] }),
		text("empty", contractJSON, func(string) string { return "" }),
		text("null", contractJSON, func(string) string { return "null" }),
		text("string", contractJSON, func(string) string { return `"manifest"` }),
		text("bad UTF-8", contractJSON, func(s string) string { return s[:len(s)-1] + ",\"z\":\"\xff\"}" }),
		text("surrogate", contractJSON, func(s string) string { return s[:len(s)-1] + `,"z":"\ud800"}` }),
		text("trailing comma", contractJSON, func(s string) string { return s[:len(s)-1] + `,}` }),
		text("string at the limit", accepted, func(s string) string { return s[:len(s)-1] + `,"z":"` + strings.Repeat("é", maxString) + `"}` }),
		text("string past the limit", contractJSON, func(s string) string { return s[:len(s)-1] + `,"z":"` + strings.Repeat("é", maxString+1) + `"}` }),
		text("escaped string at the limit", accepted, func(s string) string {
			return s[:len(s)-1] + `,"z":"` + strings.Repeat(`\ud83d\ude00`, 700_000) + `"}`
		}),
		text("name past the limit", contractJSON, func(s string) string { return s[:len(s)-1] + `,"` + strings.Repeat("z", maxString+1) + `":1}` }),
		text("depth at the limit", accepted, func(s string) string { return s[:len(s)-1] + `,"z":` + nest(63) + `}` }),
		text("depth past the limit", limitDepth, func(s string) string { return s[:len(s)-1] + `,"z":` + nest(64) + `}` }),
		text("keys at the limit", accepted, func(s string) string { return s[:len(s)-1] + `,"z":` + keys(10_000) + `}` }),
		text("keys past the limit", contractJSON, func(s string) string { return s[:len(s)-1] + `,"z":` + keys(10_001) + `}` }),
	}
	for _, name := range []string{"algorithms", "bundle_id", "event_count", "files", "producer", "run_id", "run_root", "schema_version"} {
		ms = append(ms,
			m(name+" missing", contractJSON, func(m *object) { m.remove(name) }),
			m(name+" null", contractJSON, func(m *object) { m.set(name, "null") }),
			m(name+" true", contractJSON, func(m *object) { m.set(name, "true") }))
	}
	return ms
}
