package transfer_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/digest"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// export returns a thread in the portable form.
func export(t testing.TB, log store.Log, key store.Key, after int64) string {
	t.Helper()
	var out bytes.Buffer
	row := transfer.Export(t.Context(), log, key, &out, after)
	if row.Verdict != project.Written || *row.Bytes != int64(out.Len()) {
		t.Fatal(show(row))
	}
	return out.String()
}

// file writes text to a file and returns its path.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// roundTrip exports every thread of a log and imports it into another one.
func roundTrip(t testing.TB, log store.Log) {
	t.Helper()
	for th, err := range log.Threads(t.Context(), store.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		text := export(t, log, th.Key, 0)
		again := newLog()
		path := file(t, "thread.ndjson", text)
		if appended, _ := mustImport(t, again, path, transfer.ImportSettings{Tenant: th.Tenant}); appended != th.Last {
			t.Errorf("thread %q: %d of %d entries were appended", th.Thread, appended, th.Last)
		}
		if want, got := threadOf(t, log, th.Key), threadOf(t, again, th.Key); got != want {
			t.Errorf("thread %q: %s", th.Thread, cmp.Diff(want, got))
		}
		if export(t, again, th.Key, 0) != text {
			t.Errorf("thread %q: the second export differs", th.Thread)
		}
		if appended, found := mustImport(t, again, path, transfer.ImportSettings{Tenant: th.Tenant}); appended != 0 || found != th.Last {
			t.Errorf("thread %q: the second import has appended %d entries", th.Thread, appended)
		}
	}
}

// data generates the data of entries: JSON in every notation, text and other bytes.
func data() *rapid.Generator[[]byte] {
	texts := rapid.SampledFrom([]string{
		"", " ", "null", "0", "-1.50e+9", `"\ud800"`, `"\ud83d\ude00"`, `"\u2028"`, "\u2028", "\ufeff{}", `{"a":1,"a":2}`, `{ "a" : [ 1 , 2 ] }`, ` {}`, "{}\n", "{\n}", "[1,\r2]",
		`{"a":1}x`, "\x00", "a\tb", "\xff", "[", `1,"x":2`, `"` + strings.Repeat("é", 50) + `"`, delta(1), "eof",
		strings.Repeat("[", 9999) + strings.Repeat("]", 9999), strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	})
	return rapid.OneOf(rapid.Map(texts, func(s string) []byte { return []byte(s) }), rapid.SliceOf(rapid.Byte()),
		rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }))
}

// id generates ids that a log accepts.
func id() *rapid.Generator[string] {
	return rapid.StringN(1, 20, 100).Filter(func(s string) bool { return !strings.Contains(s, "\x00") })
}

// Importing an export restores every entry, and packing changes nothing.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		log := newLog()
		key := store.Key{Tenant: rapid.SampledFrom([]string{"", "a"}).Draw(r, "tenant"), Thread: id().Draw(r, "thread")}
		streams := rapid.SliceOfNDistinct(id(), 1, 4, rapid.ID[string]).Draw(r, "streams")
		ended := make(map[string]bool)
		var list []store.Entry
		for range rapid.IntRange(1, 30).Draw(r, "entries") {
			e := store.Entry{Stream: rapid.SampledFrom(streams).Draw(r, "stream"), Data: data().Draw(r, "data")}
			e.Kind = rapid.SampledFrom([]store.Kind{store.Event, store.Event, store.Event, store.Input, store.Closing, store.End}).Draw(r, "kind")
			if ended[e.Stream] {
				continue
			}
			ended[e.Stream] = e.Kind == store.End
			if rapid.Bool().Draw(r, "timed") {
				e.Arrived = time.UnixMicro(rapid.Int64Range(-1e15, 1e16).Draw(r, "arrived")).UTC()
			}
			list = append(list, e)
		}
		if _, err := log.Append(t.Context(), key, 0, list); err != nil {
			r.Fatal(err)
		}
		if rapid.Bool().Draw(r, "packed") {
			if _, err := log.Pack(t.Context(), key); err != nil {
				r.Fatal(err)
			}
		}
		roundTrip(t, log)
	})
}

// sample returns a log with a thread "t" of several streams.
func sample(t testing.TB) store.Log {
	log := newLog()
	mustImport(t, log, recording{name: "one", request: input("t", "1")}.write(t, run("t", "1", 3)...), transfer.ImportSettings{})
	mustImport(t, log, recording{name: "two"}.write(t, append([]string{"no JSON"}, run("t", "2", 1)...)...), transfer.ImportSettings{})
	return log
}

// withTail returns lines with the last line that belongs to them.
func withTail(lines []string) string {
	text := strings.Join(lines, "")
	return text + fmt.Sprintf("{\"entries\":%d,\"digest\":\"%s\"}\n", len(lines)-1, digest.Of([]byte(text)))
}

// No change of an export is accepted, whether its digest fits or not.
func TestHostileExports(t *testing.T) {
	text := export(t, sample(t), store.Key{Thread: "t"}, 0)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	lines, last := lines[:len(lines)-1], lines[len(lines)-1]+"\n"
	if withTail(lines) != text || len(lines) != 13 {
		t.Fatalf("the export is\n%s", text)
	}
	for i := len(`{"schema":"p20export.log.v1"`); i < len(text); i += 7 {
		refused(t, newLog(), file(t, "cut", text[:i]), transfer.ImportSettings{}, finding.LogFileMalformed)
	}
	for name, changed := range map[string]string{
		"something follows":       text + "\n",
		"two files":               text + text,
		"no entries":              lines[0],
		"another digest":          strings.Join(lines, "") + strings.Replace(last, "sha256:", "sha256:0", 1),
		"another count":           strings.Join(lines, "") + strings.Replace(last, `:12,`, `:11,`, 1),
		"a line is missing":       strings.Join(lines[:5], "") + strings.Join(lines[6:], "") + last,
		"no head":                 strings.Join(lines[1:], "") + last,
		"two ends":                text + last,
		"white space in tail":     strings.Join(lines, "") + strings.Replace(last, ":12", ": 12", 1),
		"unknown key in tail":     strings.Join(lines, "") + strings.Replace(last, "}", `,"x":1}`, 1),
		"another byte of data":    strings.Replace(text, "no JSON", "no json", 1),
		"no line feed in the end": strings.TrimSuffix(text, "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.HasPrefix(changed, `{"schema"`) {
				return
			}
			row := refused(t, newLog(), file(t, "changed", changed), transfer.ImportSettings{}, finding.LogFileMalformed)
			if row.Form != transfer.FormLog || len(row.Findings) != 1 || row.Findings[0].Line == 0 {
				t.Error(show(row))
			}
		})
	}
	for name, change := range map[string]func([]string) []string{
		"reordered":          func(l []string) []string { l[3], l[4] = l[4], l[3]; return l },
		"repeated":           func(l []string) []string { l[3] = l[2]; return l },
		"left out":           func(l []string) []string { return append(l[:3], l[4:]...) },
		"duplicate key":      replace(2, `{"position":2,`, `{"position":2,"position":2,`),
		"unknown key":        replace(2, `"kind":"event"`, `"kind":"event","x":1`),
		"other order":        replace(2, `"position":2,"stream":"one"`, `"stream":"one","position":2`),
		"white space":        replace(2, `"kind":"event"`, `"kind": "event"`),
		"escape":             replace(2, `"kind":"event"`, `"kind":"\u0065vent"`),
		"upper case":         replace(2, `"kind":"event"`, `"Kind":"event"`),
		"CRLF":               replace(2, "}\n", "}\r\n"),
		"blank line":         func(l []string) []string { l[2] += "\n"; return l },
		"unknown kind":       replace(2, `"kind":"event"`, `"kind":"other"`),
		"no kind":            replace(2, `"kind":"event",`, ``),
		"number as text":     replace(2, `"position":2`, `"position":"2"`),
		"float":              replace(2, `"position":2`, `"position":2.0`),
		"negative":           replace(2, `"position":2`, `"position":-2`),
		"time":               replace(1, `000006Z"`, `000006+00:00"`),
		"JSON as text":       replace(2, `"json":{"type":"RUN_STARTED","threadId":"t","runId":"1"}`, `"text":"{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"1\"}"`),
		"text as Base64":     replace(8, `"text":"no JSON"`, `"base64":"bm8gSlNPTg=="`),
		"text as JSON":       replace(8, `"text":"no JSON"`, `"json":no JSON`),
		"two forms":          replace(8, `"text":"no JSON"`, `"text":"no JSON","base64":""`),
		"null":               replace(8, `"text":"no JSON"`, `"text":null`),
		"no data":            replace(8, `,"text":"no JSON"`, ``),
		"bad Base64":         replace(8, `"text":"no JSON"`, `"base64":"%"`),
		"loose Base64":       replace(8, `"text":"no JSON"`, `"base64":"/x=="`),
		"Base64 line breaks": replace(8, `"text":"no JSON"`, `"base64":"/w\n=="`),
		"invalid UTF-8":      replace(8, "no JSON", "\xff"),
		"array":              func(l []string) []string { l[2] = "[]\n"; return l },
		"after":              replace(0, `"after":0`, `"after":1`),
		"large after":        replace(0, `"after":0`, `"after":9223372036854775807`),
		"negative after":     replace(0, `"after":0`, `"after":-1`),
		"key in the head":    replace(0, `"after":0`, `"after":0,"x":0`),
		"schema":             replace(0, `log.v1"`, `log.v1","schema":"p20export.log.v2"`),
		"after the end":      func(l []string) []string { return append(l, strings.Replace(l[2], `"position":2`, `"position":13`, 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			changed := withTail(change(append([]string(nil), lines...)))
			if changed == text {
				t.Fatal("nothing was changed")
			}
			row := transfer.Import(t.Context(), newLog(), inputs.File(file(t, "changed", changed)), transfer.ImportSettings{})
			if row.Verdict != project.Refused || !finding.Has(row.Findings, finding.LogFileMalformed) {
				t.Error(show(row))
			}
		})
	}
}

// An export whose beginning an editor changed is not taken for a capture.
func TestTouchedExports(t *testing.T) {
	text := export(t, sample(t), store.Key{Thread: "t"}, 0)
	for _, changed := range []string{"\xef\xbb\xbf" + text, "\n" + text, " " + text, strings.Replace(text, ":", ": ", 1)} {
		row := refused(t, newLog(), file(t, "changed", changed), transfer.ImportSettings{Thread: "t"}, finding.LogFileMalformed)
		if len(row.Findings) != 1 || !strings.Contains(row.Findings[0].Message, "must begin with") {
			t.Error(show(row))
		}
	}
}

// replace returns a function that replaces text in a line.
func replace(line int, from, to string) func([]string) []string {
	return func(l []string) []string {
		l[line] = strings.Replace(l[line], from, to, 1)
		return l
	}
}

// A compressed file is the same, with any name.
func TestCompressed(t *testing.T) {
	log := sample(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "t.ndjson.zst")
	for range 2 {
		if row := transfer.ExportFile(t.Context(), log, store.Key{Thread: "t"}, path, 0); row.Verdict != project.Written {
			t.Fatal(show(row))
		}
	}
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := export(t, log, store.Key{Thread: "t"}, 0)
	if int64(len(packed)) >= int64(len(text))/2 {
		t.Errorf("%d bytes were compressed to %d", len(text), len(packed))
	}
	again := newLog()
	mustImport(t, again, file(t, "other", string(packed)), transfer.ImportSettings{})
	if dump(t, again) != dump(t, log) {
		t.Error("the threads differ")
	}
	for _, at := range []int{len(packed) / 2, len(packed) - 1} {
		refused(t, newLog(), file(t, "cut", string(packed[:at])), transfer.ImportSettings{}, finding.LogFileMalformed)
	}
	refused(t, newLog(), file(t, "x.zst", string(packed)+"x"), transfer.ImportSettings{}, finding.LogFileMalformed)
	plain := filepath.Join(dir, "t.ndjson")
	if row := transfer.ExportFile(t.Context(), log, store.Key{Thread: "t"}, plain, 0); row.Verdict != project.Written {
		t.Fatal(show(row))
	}
	if got, err := os.ReadFile(plain); err != nil || string(got) != text {
		t.Errorf("the file differs: %v", err)
	}
	// Other content is never replaced.
	row := transfer.ExportFile(t.Context(), log, store.Key{Thread: "t"}, plain, 3)
	if got, err := os.ReadFile(plain); row.Verdict != project.Failed || !finding.Has(row.Findings, finding.OutputExists) || row.Entries != nil || err != nil || string(got) != text {
		t.Error(show(row))
	}
}

// A file that asks for a large window is refused, and so is one that expands without end.
func TestCompressedBomb(t *testing.T) {
	head := "{\"schema\":\"p20export.log.v1\",\"thread\":\"t\",\"after\":0}\n"
	compress := func(body string, o ...zstd.EOption) string {
		var out bytes.Buffer
		z, err := zstd.NewWriter(&out, o...)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err := z.Write([]byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	refused(t, newLog(), file(t, "window", compress(head, zstd.WithWindowSize(64<<20))), transfer.ImportSettings{}, finding.LogFileMalformed)
	bomb := compress(head) + compress(strings.Repeat(" ", 2<<20))
	if len(bomb) > 1<<20 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	refused(t, newLog(), file(t, "bomb", bomb), transfer.ImportSettings{}, finding.LogFileMalformed)
}

// Exports of parts continue a thread, and a thread that differs is not changed.
func TestIncremental(t *testing.T) {
	log := sample(t)
	key := store.Key{Thread: "t"}
	again := newLog()
	for _, after := range []int64{0, 6, 12} {
		mustImport(t, again, file(t, "part", export(t, log, key, after)), transfer.ImportSettings{Tenant: "x"})
	}
	want := threadOf(t, log, key)
	if got := threadOf(t, again, store.Key{Tenant: "x", Thread: "t"}); got != want {
		t.Error(cmp.Diff(want, got))
	}
	for _, after := range []int64{6, 12} { // the second has no entries
		part := file(t, "part", export(t, log, key, after))
		refused(t, newLog(), part, transfer.ImportSettings{}, finding.LogEntryDiffers)
		if row := transfer.Import(t.Context(), log, inputs.File(part), transfer.ImportSettings{}); row.Verdict != project.Written || fmt.Sprint(row.Parts) != fmt.Sprintf("[{t 0 %d 0 12 0}]", 12-after) {
			t.Error(show(row))
		}
	}
	other := newLog()
	mustImport(t, other, recording{name: "one", request: input("t", "1")}.write(t, run("t", "1", 3)...), transfer.ImportSettings{})
	refused(t, other, file(t, "all", export(t, log, key, 0)), transfer.ImportSettings{}, finding.LogEntryDiffers)
	for _, row := range []transfer.ExportRow{
		transfer.Export(t.Context(), log, store.Key{Thread: "none"}, new(bytes.Buffer), 0),
		transfer.Export(t.Context(), log, key, new(bytes.Buffer), 13),
		transfer.Export(t.Context(), log, key, new(bytes.Buffer), -1),
	} {
		if row.Verdict != project.Failed || row.Entries != nil || len(row.Findings) != 1 {
			t.Error(show(row))
		}
	}
	if _, err := log.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if row := transfer.Export(t.Context(), log, key, new(bytes.Buffer), 0); row.Verdict != project.Refused || !finding.Has(row.Findings, finding.LogThreadDeleted) {
		t.Error(show(row))
	}
}
