package envelope_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/testkit"
)

// scanned returns a description of everything that Scan reports.
func scanned(t *testing.T, split *capture.Splitter) (out []string) {
	t.Helper()
	r := &recorder{}
	totals, err := envelope.Scan(split, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.runs) != totals.Runs {
		t.Fatalf("%d runs ended of %d", len(r.runs), totals.Runs)
	}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	say("%d events, %d runs, %v", totals.Events, totals.Runs, brief(totals.Findings))
	readable := 0
	for i, run := range r.runs {
		if run.Number != i+1 {
			t.Errorf("run %d has the number %d", i+1, run.Number)
		}
		if run.types[0] != envelope.RunStarted || slices.Contains(run.types[1:], envelope.RunStarted) {
			t.Errorf("run %d shows %q", run.Number, run.types)
		}
		sum := run.Families.Uncounted()
		for name, n := range run.Families.All {
			sum += n
			if n < 1 {
				t.Errorf("%d of family %q", n, name)
			}
		}
		if sum != len(run.types) {
			t.Errorf("families count %d events, %d were shown", sum, len(run.types))
		}
		readable += sum
		if len(run.Snapshots) > run.SnapshotCount || run.SnapshotCount != run.Families.Count(envelope.MessagesSnapshot) {
			t.Errorf("%d snapshots, %d places", run.SnapshotCount, len(run.Snapshots))
		}
		if run.Terminal == nil && !finding.Failed(run.Findings) {
			t.Error("a run without end is not refused")
		}
		if last := run.types[len(run.types)-1]; !finding.Failed(run.Findings) && last != envelope.RunFinished && last != envelope.RunError {
			t.Errorf("a run that ends with %s is not refused", last)
		}
		if run.Started.Offset+run.Bytes > 1<<40 || run.Bytes < run.Started.Bytes {
			t.Errorf("the run has %d bytes, its start %d", run.Bytes, run.Started.Bytes)
		}
		say("%q %q %q %d bytes, started %v, terminal %v", run.ThreadID, run.RunID, run.ParentRunID, run.Bytes, run.Started.Ref(), run.Terminal != nil)
		say("%v %v %q", brief(run.Findings), listed(&run.Families), run.types)
		for _, s := range run.snapshots {
			say("%v %d %v %v", s.Ref, s.Messages, listed(&s.Roles), s.Problem)
		}
	}
	if readable > totals.Events {
		t.Errorf("%d events shown of %d", readable, totals.Events)
	}
	return out
}

// FuzzScan checks that Scan and Check never fail on any bytes, that the counts of
// Scan are consistent, that its result does not depend on the sizes of reads, and
// that Scan finds no fault in a run that Check accepts.
func FuzzScan(f *testing.F) {
	for _, raw := range []string{
		"", testkit.SSE(started, snapshot, finished), testkit.SSE(custom, started, failed, started, finished, snapshot),
		framed(capture.NDJSON, started, snapshot, finished), framed(capture.JSON, started, snapshot, failed),
		"data: {\"type\":\ndata: \"RUN_STARTED\"}\n\n: ping\r\n\r\ndata\n\ndata: {\"type\":\"RUN_ERROR\",\"runId\":null}\n\n",
		testkit.SSE(`{"type":"RUN_STARTED","threadId":"\ud800","runId":7,"parentRunId":"\udc00"}`, "{\"\xff\":1}", `{"a":{"\ud800":1,"\ud800":2}}`),
	} {
		f.Add([]byte(raw), byte(0))
	}
	f.Fuzz(func(t *testing.T, raw []byte, pick byte) {
		framing := append([]capture.Framing{capture.DetectFraming(raw)}, framings...)[pick%4]
		whole := scanned(t, capture.NewSplitter(bytes.NewReader(raw), framing))
		slow := scanned(t, capture.NewSplitter(iotest.OneByteReader(bytes.NewReader(raw)), framing))
		if !slices.Equal(whole, slow) {
			t.Errorf("whole: %q\nbyte by byte: %q", whole, slow)
		}
		list, err := envelope.Check(capture.NewSplitter(bytes.NewReader(raw), framing))
		if err != nil {
			t.Fatal(err)
		}
		if !finding.Failed(list) {
			r := &recorder{}
			totals, _ := envelope.Scan(capture.NewSplitter(bytes.NewReader(raw), framing), r)
			if totals.Runs != 1 || totals.Events != 3 || finding.Failed(r.runs[0].Findings) || r.runs[0].SnapshotCount != 1 {
				t.Errorf("Check accepts what Scan finds %v", whole)
			}
		}
	})
}

// FuzzEvent checks that jsontext accepts every event that ReadEvent accepts, except
// that it rejects lone surrogates, that encoding/json reads the same type, and that
// ReadEvent finds no syntax error in what jsontext accepts within the depth.
func FuzzEvent(f *testing.F) {
	for _, c := range damaged {
		f.Add([]byte(c.data))
	}
	for _, data := range []string{started, snapshot, failed, `{"\u0074ype":"\u0043","x":"\ud83d\ude00\ud83d"}`, `{"type":"a","v":[1e400,-0.0,{"":{}}]}`} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := envelope.ReadEvent(data)
		strict := jsontext.Value(data).IsValid()
		if err != nil {
			fault, ok := err.(finding.Finding)
			if !ok || fault.Offset == nil || *fault.Offset < 0 || *fault.Offset > int64(len(data)) {
				t.Fatalf("%#v", err)
			}
			switch fault.Code {
			case finding.EventNotObject, finding.EventTypeMissing, finding.JSONTooDeep:
			default:
				if strict {
					t.Errorf("jsontext accepts it: %v", err)
				}
			}
			return
		}
		if !jsontext.Value(data).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) {
			t.Error("jsontext rejects it")
		}
		var std struct {
			Type string `json:"type"`
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(data, &members); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(members["type"], &std.Type); err != nil || std.Type != e.Type {
			t.Errorf("type %q, encoding/json reads %q (%v)", e.Type, std.Type, err)
		}
		c := e.Clone()
		if c.Len() != e.Len() || c.Type != e.Type || !bytes.Equal(c.Data, data) {
			t.Error("the clone differs")
		}
		i := 0
		for m := range e.All {
			name, _ := m.Name.Text()
			if v, ok := c.Get(name); !ok || !bytes.Equal(m.Value.Raw, v.Raw) || !bytes.Equal(data[m.Value.Start:m.Value.Start+len(m.Value.Raw)], m.Value.Raw) {
				t.Errorf("member %d has a wrong Start", i)
			}
			if !json.Valid(m.Value.Raw) {
				t.Errorf("member %d is no JSON", i)
			}
			i++
		}
	})
}
