package project_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/project/record"
)

// The envelope has each event as received. If an event spans several lines, the
// envelope omits the white space outside its strings.
func TestEnvelopeLines(t *testing.T) {
	tricky := ` { "type" : "MESSAGES_SNAPSHOT" , "messages" : [ {"id":"\" }\\","role":"user","content":"a\n b \\\\\" , "} ] , "k" : [ 1 , -2e+3 , null ] } `
	compact := `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"\" }\\","role":"user","content":"a\n b \\\\\" , "}],"k":[1,-2e+3,null]}`
	lines := strings.NewReplacer(" : ", " \n:\t", " , ", "\n, ").Replace
	for _, c := range []struct {
		name    string
		framing capture.Framing
		raw     string
		want    [3]string
	}{
		{"one line", capture.SSE, testkit.SSE(started, tricky, finished), [3]string{started, strings.TrimSpace(tricky), finished}},
		{"several lines", capture.SSE, testkit.SSE(strings.ReplaceAll(started, ",", "\ndata: ,")) + "data: " + strings.ReplaceAll(lines(tricky[:60])+tricky[60:], "\n", "\ndata:") + "\n\n" + testkit.SSE("{\ndata\ndata: "+finished[1:]), [3]string{started, "", finished}},
		{"array", capture.JSON, "[" + started + ",\n" + strings.Replace(tricky, " , ", " \r\n, ", 1) + "," + strings.ReplaceAll(finished, ":", "\t:\n") + "]", [3]string{started, "", finished}},
		{"a CR within a line", capture.NDJSON, started + "\r\n" + strings.Replace(tricky, " : ", "\r: ", 1) + "\n" + finished, [3]string{started, "", finished}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want[1] == "" {
				c.want[1] = compact
			}
			r := projectAll(t, input{Settings: text("", ""), framing: c.framing, raw: c.raw, at: everySecond})[0]
			if r.out == nil {
				t.Fatal(formatFindings(r.findings))
			}
			if diff := cmp.Diff(strings.Join(c.want[:], "\n")+"\n", string(r.out.Envelope)); diff != "" {
				t.Error(diff)
			}
			// envelope.Check accepts it.
			if found, err := envelope.Check(capture.NewSplitter(bytes.NewReader(r.out.Envelope), capture.NDJSON)); err != nil || len(found) > 0 {
				t.Error(err, formatFindings(found))
			}
			// Its parts say where the events are.
			for i, p := range r.out.Parts {
				part := c.raw[p.Offset : p.Offset+p.Bytes]
				if name := []string{"run_started", "messages_snapshot", "terminal"}[i]; p.Part != name || !strings.HasPrefix(strings.TrimSpace(part), "{") || !strings.HasSuffix(strings.TrimSpace(part), "}") {
					t.Errorf("%+v is %q", p, part)
				}
			}
		})
	}
}

// A built snapshot is the second line. It is not an event of the capture.
func TestBuiltSnapshot(t *testing.T) {
	r := projectRun(t, folded, request(`{"name":"N\ud83d\ude00","role":"user","id":" u1","content":"a\"\\\u0000\u0007\n<é>"}`), started, textStart("a"), textContent("a", `x\t\u007f`), failed)
	want := started + "\n" +
		`{"type":"MESSAGES_SNAPSHOT","metadata":{"p20export":{"origin":"built"}},"messages":[{"id":" u1","role":"user","content":"a\"\\\u0000\u0007\n<é>","name":"N😀"},{"id":"a","role":"assistant","content":"x\t` + "\x7f" + `"}]}` + "\n" + failed + "\n"
	if r.out == nil {
		t.Fatal(formatFindings(r.findings))
	}
	if diff := cmp.Diff(want, string(r.out.Envelope)); diff != "" {
		t.Error(diff)
	}
	parts := []project.Part{{Part: "run_started", Ref: envelope.Ref{Index: 0, Offset: 6, Bytes: int64(len(started)), Line: 1}},
		{Part: "terminal", Ref: envelope.Ref{Index: 3, Offset: int64(strings.Index(testkit.SSE(started, textStart("a"), textContent("a", `x\t\u007f`), failed), failed)), Bytes: int64(len(failed)), Line: 7}}}
	if diff := cmp.Diff(parts, r.out.Parts); diff != "" || r.out.Origin != project.Built {
		t.Error(diff)
	}
	if !finding.Has(r.findings, finding.SnapshotBuilt) {
		t.Error("nothing says that the snapshot was built")
	}
	// Its envelope is not accepted as that of an emitted snapshot.
	for _, s := range []project.Settings{strict, text("", "")} {
		again := projectAll(t, input{Settings: s, framing: capture.NDJSON, raw: string(r.out.Envelope), at: everySecond})[0]
		if diff := cmp.Diff([]string{"snapshot_built #1 /metadata"}, formatFindings(again.findings)); diff != "" || again.out != nil {
			t.Error(diff)
		}
	}
	// Without the mark it projects to the same messages.
	unmarked := strings.Replace(string(r.out.Envelope), `"metadata":{"p20export":{"origin":"built"}},`, "", 1)
	again := projectAll(t, input{Settings: strict, framing: capture.NDJSON, raw: unmarked, at: everySecond})[0]
	if again.out == nil {
		t.Fatal(formatFindings(again.findings))
	}
	if diff := cmp.Diff(r.out.Artifact.Messages, again.out.Artifact.Messages); diff != "" {
		t.Error(diff)
	}
}

// The same events result in the same bytes, independent of map order and time.
func TestDeterminism(t *testing.T) {
	rich := snapshot(`{"id":"a","role":"assistant","content":[{"type":"text","text":"x","k":1}],"toolCalls":[],"z":1,"b":2}`, `{"id":"b"}`, user)
	streamed := []string{started, textStart("a", `"z":1`, `"b":2`), textContent("a", "x"), chunk(`"messageId":"s"`, `"subagentRunId":"q"`), chunk(`"messageId":"c"`, `"delta":"y"`), textStart("d"), failed}
	for _, in := range []input{
		{Settings: strict, raw: testkit.SSE(started, snapshot(user, answer), failed)},
		{Settings: text("last", ""), raw: testkit.SSE(started, rich, snapshot(), rich, `{"type":"RUN_ERROR","message":"a\nb","code":null,"z":1,"b":2}`)},
		{Settings: folded, raw: testkit.SSE(streamed...), request: []byte(`{"z":0,"runId":"r1","b":1,"messages":[` + user + `]}`)},
	} {
		var first string
		for range 20 {
			in.at = everySecond
			r := projectAll(t, in)[0]
			if r.out == nil {
				t.Fatal(formatFindings(r.findings))
			}
			record, err := record.New(r.out, r.run, in.Settings, tool).Encode()
			if err != nil {
				t.Fatal(err)
			}
			all := string(r.out.Bytes) + string(r.out.Envelope) + string(record) + strings.Join(formatFindings(r.findings), "\n")
			if first == "" {
				first = all
			}
			if diff := cmp.Diff(first, all); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

// A summary of omissions names the first ones and does not repeat common parts.
func TestOmissionsFinding(t *testing.T) {
	first, second := 0, 1
	at := func(event *int, file string, pointer finding.Pointer, reason finding.Code) project.Omission {
		return project.Omission{EventIndex: event, File: file, Pointer: pointer, Reason: reason}
	}
	key, text := finding.KeyOutsideSubset, finding.SnapshotLacksText
	for want, omissions := range map[string][]project.Omission{
		"1 omission: event 0 /a (key_outside_subset)":                                                                                         {at(&first, "", "/a", key)},
		"2 omissions: request.json /a, /b (key_outside_subset)":                                                                               {at(nil, "request.json", "/a", key), at(nil, "request.json", "/b", key)},
		"2 omissions: event 0 /a, event 1 /a (key_outside_subset)":                                                                            {at(&first, "", "/a", key), at(&second, "", "/a", key)},
		"2 omissions: event 0, event 1 (snapshot_lacks_streamed_text)":                                                                        {at(&first, "", "", text), at(&second, "", "", text)},
		"9 omissions: event 0 /a (key_outside_subset); event 0 /a (snapshot_lacks_streamed_text); event 0 /b (key_outside_subset) and 6 more": {at(&first, "", "/a", key), at(&first, "", "/a", text), at(&first, "", "/b", key), at(&first, "", "/c", key), {Reason: finding.OmissionsUncounted, Count: 5}},
	} {
		if f, ok := (&project.Output{Omissions: omissions}).OmissionsFinding(); !ok || f.Message != want {
			t.Errorf("%q, want %q", f.Message, want)
		}
	}
	if _, ok := new(project.Output).OmissionsFinding(); ok {
		t.Error("no omissions are summed up")
	}
}
