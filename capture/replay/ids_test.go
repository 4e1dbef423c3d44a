package replay

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/internal/testkit"
)

// The ids of the first run and of the recorded request are replaced by those of the
// request, and nothing else.
func TestRequestIDs(t *testing.T) {
	const newIDs = `{"threadId":"n\u00e9w","runId":"\ud800","messages":[]}`
	replaced := strings.NewReplacer("<T>", `"n\u00e9w"`, "<R>", `"\ud800"`)
	recorded := strings.NewReplacer("<T>", `"t"`, "<R>", `"r"`)
	for name, c := range map[string]struct {
		framing capture.Framing
		request string
		body    string // with <T> and <R> for ids that are replaced
	}{
		"a run": {body: "data: {\"type\":\"RUN_STARTED\",\"threadId\":<T>,\"runId\":<R>}\n\n" +
			"data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"r\",\"delta\":\"t\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n" +
			"data: {\"type\":\"RUN_FINISHED\",\"threadId\":<T>,\"runId\":<R>,\"result\":{\"runId\":\"r\"}}\n\n"},
		"an error":   {body: "data: {\"runId\": <R> , \"threadId\":<T>, \"type\":\"RUN_STARTED\"}\n\ndata: {\"type\":\"RUN_ERROR\",\"runId\":<R>,\"message\":\"r\"}\n\n"},
		"the input":  {body: `data: {"type":"RUN_STARTED","input":{"runId":<R>,"parentRunId":"r","threadId":<T>,"messages":[{"runId":"r"}]},"threadId":<T>,"parentRunId":"r","runId":<R>}` + "\n\n"},
		"other runs": {body: `data: {"type":"RUN_STARTED","threadId":<T>,"runId":<R>}` + "\n\n" + `data: {"type":"RUN_STARTED","threadId":<T>,"runId":"r2","parentRunId":"r"}` + "\n\n" + `data: {"type":"RUN_FINISHED","threadId":<T>,"runId":"r2"}` + "\n\n" + `data: {"type":"RUN_FINISHED","threadId":"t2","runId":<R>}` + "\n\n"},
		"minted ids": {request: `{"threadId":"t","runId":"r"}`, body: `data: {"type":"RUN_STARTED","threadId":<T>,"runId":"minted","input":{"threadId":<T>,"runId":<R>}}` + "\n\n"},
		"a run error without a run": {request: `{"threadId":"t","runId":"r"}`,
			body: `data: {"type":"RUN_ERROR","message":"m","threadId":<T>,"runId":<R>}` + "\n\n"},
		"lines":    {body: "\uFEFF: c\r\nevent: x\rdata: {\"type\":\"RUN_STARTED\",\r\ndata:\"threadId\":\n: data: 7\ndata\nid: 7\rdata:\r\ndata: <T>,\rretry: 1\rdata:   \"runId\"\ndatas: x\ndata: :<R>}\n\n"},
		"ndjson":   {framing: capture.NDJSON, body: `{"type":"RUN_STARTED","threadId":<T>,"runId":<R>}` + "\r\n \n" + `{"type":"RUN_FINISHED","threadId":<T>,"runId":<R>}`},
		"an array": {framing: capture.JSON, body: ` [ {"type":"RUN_STARTED","threadId":<T>,"runId":<R>} ,{"type":"RUN_FINISHED","threadId":<T>,"runId":<R>}]` + "\n"},
		"escapes":  {body: `data: {"type":"RUN_ST\u0041RTED","thread\u0049d":<T>,"runId":<R>}` + "\n\n"},
		"not ids":  {body: "data: {\"type\":\"RUN_STARTED\",\"threadId\":7,\"runId\":null,\"input\":\"t\"}\n\ndata: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"threadId\":\"t\"}\n\ndata: RUN_STARTED\n\ndata\n\n[DONE]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stored{framing: c.framing, request: c.request, body: strings.ReplaceAll(recorded.Replace(c.body), `"minted"`, `"r"`), content: "a/b"}
			if name == "minted ids" {
				s.body = recorded.Replace(c.body)
				c.body = strings.ReplaceAll(c.body, `"minted"`, "<R>")
			}
			url, log := serve(t, s.one(t), Settings{RequestIDs: true})
			got := post(t, url, newIDs)
			if diff := cmp.Diff(replaced.Replace(c.body), got.body); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			want := ""
			if strings.Contains(c.body, "<") {
				want = "ids"
			}
			if got.header.Get(AlteredHeader) != want {
				t.Errorf("%s is %q, want %q", AlteredHeader, got.header.Get(AlteredHeader), want)
			}
			if lines := log(); strings.Contains(lines, "altered=ids") != (want != "") {
				t.Errorf("log:\n%s", lines)
			}
			for _, bad := range []string{"{}", `{"threadId":"t"}`, `{"threadId":"t","runId":7}`, "", "[]"} {
				r, err := New(t.Context(), s.one(t), Settings{RequestIDs: true, Log: discard})
				if err != nil {
					t.Fatal(err)
				}
				if status := postTo(r, bad); status != 400 {
					t.Errorf("the request %s: status %d", bad, status)
				}
			}
		})
	}
}

// The ids of user messages are replaced by those of the request's messages with the same text,
// in order. Others stay.
func TestRequestUserIDs(t *testing.T) {
	const request = `{"threadId":"T","runId":"R","messages":[{"id":"A","role":"user","content":"hi"},{"id":"a","role":"assistant","content":"hi"},` +
		`{"id":"\u0043","role":"user","content":[{"type":"text","text":"who"}]},{"id":"D","role":"user","content":"hi"},{"role":"user","content":"new"}]}`
	body := func(first, who, second string) string {
		return `data: {"type":"RUN_STARTED","input":{"messages":[{"content":"hi","id":` + first + `,"role":"user"}],"threadId":"t"},"threadId":"t","runId":"r"}` + "\n\n" +
			`data: {"type":"MESSAGES_SNAPSHOT","messages":[{"id":` + first + `,"role":"user","content":"hi"},{"id":"a","role":"assistant","content":"hi"},` + "\n" +
			`data: {"id":` + first + `,"role":"user","content":"hi"},{"id":` + who + `,"role":"user","content":"who"},{"id":` + second + `,"role":"user","content":"hi"},` +
			`{"id":"u","role":"user","content":"hi"},{"id":"new","role":"user","content":"else"},{"role":"user","content":"hi"},{"id":7,"role":"user"}]}` + "\n\n"
	}
	s := stored{body: body(`"u1"`, `"u2"`, `"u3"`)}
	url, _ := serve(t, s.one(t), Settings{RequestIDs: true})
	want := strings.NewReplacer(`"t"`, `"T"`, `"r"`, `"R"`).Replace(body(`"A"`, `"\u0043"`, `"D"`))
	if diff := cmp.Diff(want, post(t, url, request).body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A request without the assistant's message: a client puts it behind those it has, so the
	// user messages after it must not be among those.
	first, last, _ := strings.Cut(s.body, `"assistant"`)
	want = strings.NewReplacer(`"t"`, `"T"`, `"r"`, `"R"`, `"u1"`, `"A"`).Replace(first) + `"assistant"` + last
	if diff := cmp.Diff(want, post(t, url, strings.Replace(request, `"id":"a"`, `"id":"B"`, 1)).body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A request with other messages.
	want = strings.NewReplacer(`"t"`, `"T"`, `"r"`, `"R"`).Replace(s.body)
	if diff := cmp.Diff(want, post(t, url, `{"threadId":"T","runId":"R"}`).body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The coding of a response whose ids are replaced is removed.
func TestRequestIDsDecodes(t *testing.T) {
	s := stored{content: "text/event-stream", headers: map[string]string{"content-encoding": "gzip"},
		body: gzipped("data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n")}
	url, _ := serve(t, s.one(t), Settings{RequestIDs: true})
	got := post(t, url, `{"threadId":"T","runId":"R"}`)
	if got.body != "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"T\",\"runId\":\"R\"}\n\n" || got.header.Get("Content-Encoding") != "" {
		t.Errorf("%+v", got)
	}
	s.body = gzipped("data: {}\n\n")
	url, _ = serve(t, s.one(t), Settings{RequestIDs: true})
	if got := post(t, url, `{"threadId":"T","runId":"R"}`); got.body != s.body || got.header.Get("Content-Encoding") != "gzip" || got.header.Get(AlteredHeader) != "" {
		t.Errorf("without ids: %+v", got)
	}
}

// A response with a coding that broke off is altered as far as it can be decoded, and is
// broken off. If it should be complete, it is refused.
func TestRequestIDsBrokenOff(t *testing.T) {
	whole := gzipped("data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\n", "data: {}\n\n")
	for _, size := range []int{5, len(whole) - 20, len(whole) - 4} {
		s := stored{content: "text/event-stream", headers: map[string]string{"content-encoding": "gzip"}, body: whole[:size], end: capture.EndCancelled}
		url, log := serve(t, s.one(t), Settings{RequestIDs: true})
		got := post(t, url, `{"threadId":"T","runId":"R"}`)
		want := strings.NewReplacer(`"t"`, `"T"`, `"r"`, `"R"`).Replace("data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}\n\ndata: {}\n\n")
		if size == 5 {
			want = whole[:size] // without ids, the bytes are as recorded
		}
		if !strings.HasPrefix(want, got.body) || got.body == "" || !got.broken || !strings.Contains(log(), "broken off as recorded") {
			t.Errorf("%d bytes: %+v\n%s", size, got, log())
		}
		s.end = capture.EndEOF
		fails(t, s.one(t), Settings{RequestIDs: true}, "unexpected EOF")
	}
}

// Responses in which no ids can be found are refused, except errors, which have none.
func TestRequestIDsUnreadable(t *testing.T) {
	for name, s := range map[string]stored{
		"opaque":            {framing: capture.Opaque, body: "\x00\x01", content: "application/vnd.ag-ui.event+proto"},
		"an unknown coding": {body: "\x00\x01", headers: map[string]string{"content-encoding": "br"}, content: "text/event-stream"},
	} {
		fails(t, s.one(t), Settings{RequestIDs: true}, map[string]string{"opaque": "none of the framings", "an unknown coding": `the content coding "br"`}[name])
		s.status = 502
		url, _ := serve(t, s.one(t), Settings{RequestIDs: true})
		if got := post(t, url, request); got.status != 502 || got.body != s.body || got.header.Get(AlteredHeader) != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Replacing the ids of every committed capture by the same ids changes nothing. Replacing
// them by others and back gives the recorded bytes.
func TestRequestIDsOfCaptures(t *testing.T) {
	found, err := capture.Find(t.Context(), []string{"../../discovery/captures", "../../discovery/drift/captures"})
	if err != nil {
		t.Fatal(err)
	}
	altered := 0
	for _, f := range found {
		c, err := load(t.Context(), f.Path, Settings{RequestIDs: true})
		if err != nil {
			t.Fatal(err)
		}
		want := testkit.Read(t, c.response)
		other, err := readInput([]byte(`{"threadId":"\"other\"","runId":""}`))
		if err != nil {
			t.Fatal(err)
		}
		changed := edited(t, want, c.ids, other)
		if len(c.ids) == 0 {
			if !bytes.Equal(changed, want) {
				t.Errorf("%s: changed without ids", f.Path)
			}
			continue
		}
		altered++
		again := &recorded{path: f.Path, framing: c.framing, response: filepath.Join(t.TempDir(), "r")}
		testkit.Write(t, again.response, changed)
		if again.ids, err = again.findIDs(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The recorded request has other ids now; its places are found by the ids of the run.
		if len(again.ids) < 2 || len(again.ids) > len(c.ids) {
			t.Errorf("%s: %d places, then %d", f.Path, len(c.ids), len(again.ids))
			continue
		}
		first := map[bool]string{}
		for _, p := range c.ids {
			if id := string(want[p.start:p.end]); first[p.run] == "" {
				first[p.run] = id
			}
		}
		if first[false] == "" || first[true] == "" {
			continue // an event with only one of the ids
		}
		back, err := readInput(fmt.Appendf(nil, `{"threadId":%s,"runId":%s}`, first[false], first[true]))
		if err != nil {
			t.Fatal(err)
		}
		if same := slices.ContainsFunc(c.ids, func(p place) bool { return string(want[p.start:p.end]) != first[p.run] }); same {
			continue // minted ids beside those of the request
		}
		if !bytes.Equal(edited(t, changed, again.ids, back), want) {
			t.Errorf("%s: not the recorded bytes", f.Path)
		}
	}
	if altered < 200 {
		t.Errorf("only %d of %d captures have ids", altered, len(found))
	}
}

// edited returns data with the ids at places replaced. It reads one byte at a time and all
// at once, with the same result.
func edited(t *testing.T, data []byte, places []place, in *input) []byte {
	t.Helper()
	all, err := io.ReadAll(newEditor(bytes.NewReader(data), places, in))
	if err != nil {
		t.Fatal(err)
	}
	if err := iotest.TestReader(newEditor(iotest.OneByteReader(bytes.NewReader(data)), places, in), all); err != nil {
		t.Error(err)
	}
	return all
}

// FuzzIDs checks that every place that is found in a stream has an id of an event, that the
// places are in order, and that replacing the ids changes only these ids in the events.
func FuzzIDs(f *testing.F) {
	run := `{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"runId":"r"}}`
	for _, seed := range []string{
		"data: " + run + "\n\n", "data:" + run + "\r\rdata: " + run + "\n\n", run + "\n" + run, "[" + run + "," + run + "]",
		"data: {\"type\":\"RUN_STARTED\",\ndata: \"threadId\":\"t\",\r\ndata\rdata:\"runId\":\"r\"}\n\n", ":\ndata:\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, framing := range []capture.Framing{capture.SSE, capture.NDJSON, capture.JSON} {
			rec := &recorded{framing: framing, response: filepath.Join(t.TempDir(), "r")}
			testkit.Write(t, rec.response, data)
			ids, err := rec.findIDs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			at := int64(0)
			for _, p := range ids {
				if p.start < at || p.end > int64(len(data)) {
					t.Fatalf("places %v", ids)
				}
				at = p.end
				if _, err := strictjson.ReadText(new(strictjson.Object), new(strictjson.Decoder), data[p.start:p.end]); err != nil || data[p.start] != '"' {
					t.Fatalf("an id is %q", data[p.start:p.end])
				}
			}
			in, err := readInput([]byte(`{"threadId":"T","runId":"R"}`))
			if err != nil {
				t.Fatal(err)
			}
			changed := edited(t, data, ids, in)
			before, after := events(t, data, framing), events(t, changed, framing)
			if len(before) != len(after) {
				t.Fatalf("%d events, then %d", len(before), len(after))
			}
			if len(ids) == 0 && !bytes.Equal(data, changed) {
				t.Error("changed without ids")
			}
		}
	})
}

func events(t *testing.T, data []byte, f capture.Framing) (list []string) {
	s := capture.NewSplitter(bytes.NewReader(data), f)
	for {
		frame, err := s.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(frame.Data))
	}
}
