package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The events of a small run, which the cases of unchecked change.
const (
	started  = `{"type":"RUN_STARTED","threadId":"t","runId":"r","timestamp":1795287361000}`
	begin    = `{"type":"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}`
	delta    = `{"type":"TEXT_MESSAGE_CONTENT","messageId":"a","delta":"Hi."}`
	end      = `{"type":"TEXT_MESSAGE_END","messageId":"a"}`
	snapshot = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"Hello."},{"id":"a","role":"assistant","content":"Hi."}]}`
	finished = `{"type":"RUN_FINISHED","threadId":"t","runId":"r","timestamp":1795287362000}`
)

// stream returns the stream of the small run. Each pair of changes replaces an event or a part
// of the stream.
func stream(changes ...string) string {
	text := ""
	for _, event := range []string{started, begin, delta, end, snapshot, finished} {
		text += "data: " + event + "\n\n"
	}
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			panic(fmt.Sprintf("the stream does not have %q", changes[i]))
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	return text
}

// A damage is a capture that is wrong, or unusual, in one way.
type damage struct{ name, stream string }

func damages() []damage {
	return []damage{
		{"nothing wrong", stream()},
		{"a key twice in a message of the snapshot", stream(`"content":"Hi."`, `"content":"Hi.","content":"Bye."`)},
		{"a key twice in a delta", stream(`"delta":"Hi."`, `"delta":"Hi.","delta":"Bye."`)},
		{"a key twice, once with an escape", stream(`"content":"Hi."`, `"content":"Hi.","cont\u0065nt":"Bye."`)},
		{"half of a surrogate pair in the snapshot", stream(`"content":"Hi."`, `"content":"Hi\ud800"`)},
		{"half of a surrogate pair in the run's id", stream(`"runId":"r","timestamp":1795287361000`, `"runId":"\ud800","timestamp":1795287361000`, `"runId":"r"`, `"runId":"\ud800"`)},
		{"invalid UTF-8 in a delta", stream(`"delta":"Hi."`, "\"delta\":\"Hi\xff\"")},
		{"invalid UTF-8 in the snapshot", stream(`"content":"Hi."`, "\"content\":\"Hi\xc3\"")},
		{"an overlong form in the snapshot", stream(`"content":"Hi."`, "\"content\":\"Hi\xc0\xae\"")},
		{"a raw line feed in a string, in two data lines", stream(`"delta":"Hi."`, "\"delta\":\"Hi\ndata: .\"")},
		{"a second value after an event", stream(delta, delta+` {"type":"RAW","event":1}`)},
		{"600 nested arrays in an event", stream(delta, `{"type":"RAW","event":`+strings.Repeat("[", 600)+strings.Repeat("]", 600)+`}`)},
		{"the number NaN in an event", stream(delta, `{"type":"RAW","event":NaN}`)},
		{"the stream ends inside the last event", strings.TrimSuffix(stream(), "}\n\n")},
		{"no empty line after the last event", strings.TrimSuffix(stream(), "\n")},
		{"an event after RUN_FINISHED", stream() + "data: " + `{"type":"RAW","event":1}` + "\n\n"},
		{"RUN_FINISHED names another run", stream(`"runId":"r","timestamp":1795287362000`, `"runId":"q","timestamp":1795287362000`)},
		{"two snapshots", stream(snapshot, snapshot+"\n\ndata: "+snapshot)},
		{"two messages with one id in the snapshot", stream(`{"id":"u",`, `{"id":"a",`)},
		{"a blank run id", stream(`"runId":"r","timestamp":1795287361000`, `"runId":" ","timestamp":1795287361000`, `"runId":"r"`, `"runId":" "`)},
		{"a time in seconds instead of milliseconds", stream(`1795287361000`, `1795287361`, `1795287362000`, `1795287362`)},
		{"the snapshot lacks streamed text", stream(`,{"id":"a","role":"assistant","content":"Hi."}`, ``)},
		{"valid: lines end in CR", strings.ReplaceAll(stream(), "\n", "\r")},
		{"valid: a byte order mark", "\ufeff" + stream()},
		{"valid: an event in two data lines", stream(`"messageId":"a","delta"`, "\"messageId\":\"a\",\ndata: \"delta\"")},
	}
}

// unchecked shows what each script makes of captures that are wrong in one way. What differs
// from the program's verdict is bold, and so is a capture about which only the program warns.
func (s *settings) unchecked() (string, error) {
	dir := filepath.Join(s.dir, "unchecked")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	var paths []string
	for i, d := range damages() {
		path := filepath.Join(dir, fmt.Sprintf("%02d.sse", i))
		if err := os.WriteFile(path, []byte(d.stream), 0o666); err != nil {
			return "", err
		}
		paths = append(paths, path)
	}
	header, lines := []string{"capture", "p20export"}, "|---|---|"
	var all [][]row // by script
	for _, p := range s.peers() {
		rows, err := s.frozenBy(p, paths...)
		if err != nil {
			return "", err
		}
		header, lines, all = append(header, p.name), lines+"---|", append(all, rows)
	}
	t := &table{}
	t.row(header...)
	t.WriteString(lines + "\n")
	whole := ""
	for i, d := range damages() {
		own, err := s.own(paths[i])
		if err != nil {
			return "", err
		}
		cells := []string{d.name, own.Verdict}
		if own.Reason != "" {
			cells[1] += ": " + own.Reason
		}
		artifact := own.Artifact // what a script that freezes the capture should make
		if i == 0 {
			whole = artifact
		} else if artifact == "" {
			artifact = whole
		}
		for _, rows := range all {
			got := rows[i]
			cell := got.Verdict
			if got.Artifact != "" && got.Artifact != artifact {
				cell = "altered"
			}
			if cell != own.Verdict || got.Artifact != "" && own.Reason != "" {
				cell = "**" + cell + "**"
			}
			cells = append(cells, cell)
		}
		t.row(cells...)
	}
	return t.String(), nil
}
