package envelope_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
	"github.com/p20export/p20export/internal/testkit"
)

// Invalid events, and the places of their faults.
var damaged = []struct {
	name, data string
	code       finding.Code
	pointer    string
	at         int
}{
	{"empty", ``, finding.JSONSyntax, "", 0},
	{"done marker", `[DONE]`, finding.JSONSyntax, "/0", 1},
	{"cut", `{"type":"CUSTOM"`, finding.JSONSyntax, "/type", 16},
	{"trailing comma", `{"type":"CUSTOM",}`, finding.JSONSyntax, "/type", 17},
	{"single quotes", `{'type':'CUSTOM'}`, finding.JSONSyntax, "", 1},
	{"bare word", `{"type":"CUSTOM","a":NaN}`, finding.JSONSyntax, "/a", 21},
	{"leading zero", `{"type":"CUSTOM","a":01}`, finding.JSONSyntax, "/a", 22},
	{"no fraction", `{"type":"CUSTOM","a":[1.]}`, finding.JSONSyntax, "/a/0", 24},
	{"no exponent", `{"type":"CUSTOM","a":1e}`, finding.JSONSyntax, "/a", 23},
	{"bad escape", `{"type":"CUSTOM","a":"\x"}`, finding.JSONSyntax, "/a", 22},
	{"control character", "{\"type\":\"CUSTOM\",\"a\":\"\t\"}", finding.JSONSyntax, "/a", 22},
	{"invalid UTF-8", "{\"type\":\"CUSTOM\",\"a\":{\"b~/\":\"x\xff\"}}", finding.JSONInvalidUTF8, "/a/b~0~1", 30},
	{"UTF-8 encoded half pair", "{\"type\":\"CUSTOM\",\"a\":\"\xed\xa0\x80\"}", finding.JSONInvalidUTF8, "/a", 22},
	{"overlong UTF-8", "{\"type\":\"CUSTOM\",\"a\":\"\xc0\xaf\"}", finding.JSONInvalidUTF8, "/a", 22},
	{"invalid UTF-8 in a name", "{\"type\":\"CUSTOM\",\"\xff\":1}", finding.JSONInvalidUTF8, "/type", 18},
	{"key twice", `{"type":"CUSTOM","a":1,"a":2}`, finding.JSONDuplicateKey, "/a", 23},
	{"type twice", `{"type":"CUSTOM","type":"CUSTOM"}`, finding.JSONDuplicateKey, "/type", 17},
	{"key twice by escape", `{"type":"CUSTOM","ty\u0070e":"RAW"}`, finding.JSONDuplicateKey, "/type", 17},
	{"key twice at depth", `{"type":"CUSTOM","v":[{},{"k":{"x":1,"y":2,"x":3}}]}`, finding.JSONDuplicateKey, "/v/1/k/x", 43},
	{"key twice among many", `{"type":"CUSTOM","a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"n":0,"b":0}`, finding.JSONDuplicateKey, "/b", 101},
	{"half pair key twice", `{"type":"CUSTOM","\ud800":0,"\uD800":0}`, finding.JSONDuplicateKey, "/\uFFFD", 28},
	{"bytes after", `{"type":"CUSTOM"}x`, finding.JSONTrailing, "", 17},
	{"a second value", `{"type":"CUSTOM"} {"type":"CUSTOM"}`, finding.JSONTrailing, "", 18},
	{"string", `"CUSTOM"`, finding.EventNotObject, "", 0},
	{"null", `null`, finding.EventNotObject, "", 0},
	{"number", `1`, finding.EventNotObject, "", 0},
	{"boolean", `true`, finding.EventNotObject, "", 0},
	{"array", `[{"type":"CUSTOM"}]`, finding.EventNotObject, "", 0},
	{"no type", `{"Type":"CUSTOM"}`, finding.EventTypeMissing, "", 0},
	{"empty object", `{}`, finding.EventTypeMissing, "", 0},
	{"type deeper", `{"event":{"type":"CUSTOM"}}`, finding.EventTypeMissing, "", 0},
	{"type null", `{"type":null}`, finding.EventTypeMissing, "/type", 8},
	{"type number", `{"a":1,"type":7}`, finding.EventTypeMissing, "/type", 14},
	{"type object", `{"type":{"type":"CUSTOM"}}`, finding.EventTypeMissing, "/type", 8},
	{"type empty", `{"type":""}`, finding.EventTypeMissing, "/type", 8},
	{"type half a pair", `{"type":"\udc00"}`, finding.EventTypeMissing, "/type", 8},
}

// A run with a damaged frame is refused. One finding gives the fault and its place.
func TestDamagedEvents(t *testing.T) {
	for _, c := range damaged {
		t.Run(c.name, func(t *testing.T) {
			raw := testkit.SSE(started, c.data, finished)
			at := int64(len(testkit.SSE(started)) + len("data: ") + c.at)
			want := []string{brief([]finding.Finding{finding.New(c.code, "").WithEvent(1).WithPointer(finding.Pointer(c.pointer)).WithOffset(at)})[0]}
			runs, totals := scanAll(t, raw, capture.SSE)
			if diff := cmp.Diff(want, brief(runs[0].Findings)); diff != "" {
				t.Error(diff)
			}
			if runs[0].Findings[0].Severity != finding.Error {
				t.Errorf("severity %s", runs[0].Findings[0].Severity)
			}
			if totals.Events != 3 || len(totals.Findings) != 0 {
				t.Errorf("totals %+v", totals)
			}
			if diff := cmp.Diff([]string{"RUN_STARTED", "RUN_FINISHED"}, runs[0].types); diff != "" {
				t.Errorf("a damaged event was shown: %s", diff)
			}

			_, err := envelope.ReadEvent([]byte(c.data))
			var f finding.Finding
			if !errors.As(err, &f) || f.Code != c.code || *f.Offset != int64(c.at) || f.Pointer != finding.Pointer(c.pointer) {
				t.Errorf("ReadEvent: %v", err)
			}
		})
	}
}

// If the text of an event is joined from several lines, findings have the offset of
// the event.
func TestDamagedEventsOverLines(t *testing.T) {
	for _, c := range damaged {
		if c.code == finding.EventNotObject || c.data == "" {
			continue // a line break is not possible there
		}
		t.Run(c.name, func(t *testing.T) {
			raw := testkit.SSE(started) + ": comment\n" + "data:{\n" + "data: " + strings.TrimPrefix(c.data, "{") + "\n\n" + testkit.SSE(finished)
			at := int64(len(testkit.SSE(started)) + len(": comment\ndata:"))
			runs, _ := scanAll(t, raw, capture.SSE)
			if len(runs[0].Findings) != 1 {
				t.Fatalf("%v", brief(runs[0].Findings))
			}
			f := runs[0].Findings[0]
			if *f.Offset != at || *f.EventIndex != 1 {
				t.Errorf("offset %d, want %d; event %d", *f.Offset, at, *f.EventIndex)
			}
			if strings.HasPrefix(c.data, "{") && (f.Code != c.code || f.Pointer != finding.Pointer(c.pointer)) {
				t.Errorf("%v", brief(runs[0].Findings))
			}
		})
	}
}

// Valid JSON of any kind is accepted in values that are not projected.
func TestAcceptedEvents(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, data := range map[string]string{
		"unknown type":      `{"type":"SOMETHING_NEW"}`,
		"lower case":        `{"type":"run_started"}`,
		"unknown keys":      `{"type":"CUSTOM","x":{"y":[1,null,true]},"":0}`,
		"1e400":             `{"type":"CUSTOM","value":1e400}`,
		"big integer":       `{"type":"CUSTOM","value":123456789012345678901234567890}`,
		"minus zero":        `{"type":"CUSTOM","value":-0.0E-0}`,
		"half pair":         `{"type":"CUSTOM","value":"\ud83d","\udc00":"\ud83d\ud83d"}`,
		"type by escapes":   `{"\u0074ype":"\u0043USTOM"}`,
		"type last":         `{"value":{"type":"RUN_STARTED"},"type":"CUSTOM"}`,
		"white space":       " \t{ \"type\" : \"CUSTOM\" } \t",
		"depth 512":         `{"type":"CUSTOM","value":` + nest(511) + `}`,
		"prototype":         `{"type":"CUSTOM","__proto__":1,"constructor":2}`,
		"same key in two":   `{"type":"CUSTOM","a":{"k":1},"b":{"k":1},"k":1}`,
		"separators":        "{\"type\":\"CUSTOM\",\"value\":\"\u2028\u2029\u0085\ufeff\"}",
		"U+0000 by escape":  `{"type":"CUSTOM","value":"\u0000"}`,
		"noncharacters":     "{\"type\":\"CUSTOM\",\"value\":\"\uffff\U0010ffff\"}",
		"type with a space": `{"type":" CUSTOM"}`,
	} {
		t.Run(name, func(t *testing.T) {
			runs, totals := scanAll(t, testkit.SSE(started, data, finished), capture.SSE)
			if len(runs) != 1 || len(runs[0].Findings) != 0 || totals.Events != 3 {
				t.Errorf("%v", brief(runs[0].Findings))
			}
			if len(runs[0].types) != 3 {
				t.Errorf("shown: %q", runs[0].types)
			}
		})
	}
	runs, _ := scanAll(t, testkit.SSE(started, `{"type":"CUSTOM","value":`+nest(512)+`}`, finished), capture.SSE)
	if got := runs[0].Findings; len(got) != 1 || got[0].Code != finding.JSONTooDeep || *got[0].Offset != int64(len(testkit.SSE(started))+len(`data: {"type":"CUSTOM","value":`)+511) {
		t.Errorf("depth 513: %v", brief(got))
	}
}

// A run with a frame that the splitter rejects is refused with the splitter's
// finding.
func TestFrameProblem(t *testing.T) {
	problem := finding.New(finding.EventTooLarge, "too large").WithOffset(77)
	source := &frames{list: []capture.Frame{
		{Index: 4, Offset: 10, Bytes: int64(len(started)), Data: []byte(started)},
		{Index: 5, Offset: 77, Bytes: 9, Problem: problem},
		{Index: 6, Offset: 90, Bytes: int64(len(finished)), Data: []byte(finished)},
	}}
	r := &recorder{}
	totals, err := envelope.Scan(source, r)
	if err != nil || totals.Events != 3 {
		t.Fatal(err, totals)
	}
	if diff := cmp.Diff([]string{"event_too_large #5 @77"}, brief(r.runs[0].Findings)); diff != "" {
		t.Error(diff)
	}
	if want := 90 + int64(len(finished)) - 10; r.runs[0].Bytes != want {
		t.Errorf("the run has %d bytes, want %d", r.runs[0].Bytes, want)
	}
}

// A pointer that would be too long is shortened to an enclosing value.
func TestDamagePointerIsBounded(t *testing.T) {
	long := strings.Repeat("k", 600)
	for _, c := range []struct{ data, pointer string }{
		{`{"` + long + `":{"b":!}}`, "/" + long + "/b"},
		{`{"a":{"` + long + `":{"` + long + `":!}}}`, "/a/" + long},
		{`{"` + long + long + `":!}`, ""},
		{`{"` + strings.Repeat("k", 1023) + `":!}`, "/" + strings.Repeat("k", 1023)},
		{`{"` + strings.Repeat("k", 1024) + `":!}`, ""},
		{`{"` + strings.Repeat("k", 1023) + `":{"":!}}`, "/" + strings.Repeat("k", 1023)},
	} {
		_, err := envelope.ReadEvent([]byte(c.data))
		var f finding.Finding
		if !errors.As(err, &f) || f.Pointer != finding.Pointer(c.pointer) {
			t.Errorf("%d bytes of pointer, want %d", len(f.Pointer), len(c.pointer))
		}
	}
}

// A clone of an event stays valid after the next frame.
func TestClone(t *testing.T) {
	const data = ` {"type":"NEW_TYPE","a\u0062":"x\ny","n":[1,{"k":2}],"timestamp":5}`
	buf := []byte(data)
	arrived := time.Date(2026, 11, 21, 6, 28, 51, 0, time.UTC)
	var clone *envelope.Event
	reuse := &reusing{buf: buf, list: []string{started, data, `{"type":"CUSTOM","aaaaaaaa":0,"bbbbbb":"x"}`, finished}, arrived: arrived}
	_, err := envelope.Scan(reuse, visitor(func(e *envelope.Event) {
		if e.Index == 1 {
			clone = e.Clone()
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if string(clone.Data) != data || clone.Type != "NEW_TYPE" || clone.Index != 1 || clone.Offset != 100 || !clone.Arrived.Equal(arrived) {
		t.Errorf("%+v", clone)
	}
	type member struct{ name, raw string }
	var got []member
	for m := range clone.All {
		name, _ := strictjson.Unquote(m.Name.Raw)
		got = append(got, member{name, string(m.Value.Raw)})
		if string(clone.Data[m.Value.Start:m.Value.Start+len(m.Value.Raw)]) != string(m.Value.Raw) {
			t.Errorf("%s has a wrong Start", name)
		}
	}
	want := []member{{"type", `"NEW_TYPE"`}, {"ab", `"x\ny"`}, {"n", `[1,{"k":2}]`}, {"timestamp", "5"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(member{})); diff != "" {
		t.Error(diff)
	}
	if clone.Ref() != (envelope.Ref{Index: 1, Offset: 100, Bytes: int64(len(data))}) {
		t.Errorf("%+v", clone.Ref())
	}
}

// reusing is a source that overwrites the data of the previous frame.
type reusing struct {
	buf     []byte
	list    []string
	arrived time.Time
	index   int
}

func (r *reusing) Next() (*capture.Frame, error) {
	for i := range r.buf {
		r.buf[i] = '#'
	}
	if r.index == len(r.list) {
		return (&frames{}).Next()
	}
	n := copy(r.buf, r.list[r.index])
	r.index++
	return &capture.Frame{Index: r.index - 1, Offset: int64(100 * (r.index - 1)), Bytes: int64(n), Data: r.buf[:n], Arrived: r.arrived}, nil
}

// visitor is a Visitor that is not a FrameVisitor.
type visitor func(*envelope.Event)

func (v visitor) Event(_ *envelope.Run, e *envelope.Event) { v(e) }
func (v visitor) End(*envelope.Run) error                  { return nil }

// TestReader reads texts one after the other, also damaged ones, as ReadEvent does.
func TestReader(t *testing.T) {
	t.Parallel()
	r := envelope.NewReader()
	for _, text := range []string{`{"type":"A","n":1}`, `{"type":"B","n":2}`, `[]`, `{"type":`, `{"n":3,"type":"A"}`, `{}`, `{"type":"A","n":4}`} {
		want, wantErr := envelope.ReadEvent([]byte(text))
		got, err := r.Read([]byte(text))
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || (got == nil) != (want == nil) {
			t.Fatalf("%s: %v, want %v", text, err, wantErr)
		}
		if got != nil && (got.Type != want.Type || got.Ref() != want.Ref() || string(got.Data) != text) {
			t.Errorf("%s: read %+v, want %+v", text, got, want)
		}
	}
}
