package facts_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gojson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/picture"
	"github.com/p20export/p20export/project/lint"
	"github.com/p20export/p20export/serve/internal/facts"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/transfer"
)

// of returns the facts of all runs of a log, with the runs.
func of(t *testing.T, log store.Log) (runs []store.Run, list []*facts.Facts) {
	t.Helper()
	for r, err := range log.Runs(t.Context(), store.RunQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		f, err := facts.Of(t.Context(), log, &r)
		if err != nil {
			t.Fatal(err)
		}
		runs, list = append(runs, r), append(list, f)
	}
	return runs, list
}

// The facts of each run of every committed capture agree with the log and, if it is the only
// run, with what lint reports about the capture.
func TestCommittedCaptures(t *testing.T) {
	found, err := capture.Find(t.Context(), []string{"../../../discovery/captures", "../../../discovery/drift/captures"})
	if err != nil {
		t.Fatal(err)
	}
	count, findings, usages := 0, 0, 0
	for _, c := range found {
		log := memory.New()
		transfer.Import(t.Context(), log, inputs.File(c.Path), transfer.ImportSettings{Thread: "t"})
		runs, list := of(t, log)
		positions := positions(t, log)
		for i, f := range list {
			count++
			findings += len(f.Findings)
			if f.Usage != nil {
				usages++
			}
			r, name := runs[i], fmt.Sprintf("%s, run %d", c.Path, i+1)
			if f.Events != r.Entries || f.Bytes != r.Bytes || f.FindingsMore != 0 || f.TypesMore != 0 {
				t.Errorf("%s: %d events of %d, %d bytes of %d, %d more findings", name, f.Events, r.Entries, f.Bytes, r.Bytes, f.FindingsMore)
			}
			families, types := make(map[string]int), 0
			for _, k := range f.Types {
				families[k.Family] += k.Count
				types += k.Count
			}
			if int64(types) != f.Events {
				t.Errorf("%s: types of %d events", name, types)
			}
			for _, lane := range f.Picture.Lanes {
				if lane.Count != families[lane.Family] || len(lane.Marks) == 0 {
					t.Errorf("%s: lane %+v, want %d", name, lane, families[lane.Family])
				}
				delete(families, lane.Family)
			}
			if len(families) > 0 || f.Picture.Height != (len(f.Picture.Lanes)+1)*picture.LaneHeight {
				t.Errorf("%s: no lanes for %v", name, families)
			}
			switch known := !r.StartedAt.IsZero(); {
			case known != (f.Picture.By == "time") || known != (f.DurationUS != nil) || known != (f.Picture.FirstUS != nil):
				t.Errorf("%s: the times are known: %t; by %s", name, known, f.Picture.By)
			case known && *f.DurationUS != r.LastAt.Sub(r.StartedAt).Microseconds():
				t.Errorf("%s: duration %d, from %v to %v", name, *f.DurationUS, r.StartedAt, r.LastAt)
			}
		}
		if len(list) != 1 {
			continue
		}
		var want, got []string
		for _, f := range lint.Capture(t.Context(), inputs.File(c.Path), lint.Options{}, nil).Findings {
			if f.EventIndex != nil && !strings.HasPrefix(f.Rule, "N") && f.Rule != "W20" && f.Code != finding.RunNotTerminated && f.Code != finding.EventIncomplete {
				want = append(want, fmt.Sprintf("%d %s %s %s %s %s", positions[*f.EventIndex], f.Severity, f.Code, f.Rule, f.Pointer, f.Message))
			}
		}
		for _, f := range list[0].Findings {
			got = append(got, fmt.Sprintf("%d %s %s %s %s %s", *f.Position, f.Severity, f.Code, f.Rule, f.Pointer, f.Message))
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-lint +facts):\n%s", c.Path, diff)
		}
	}
	if count < 200 || findings < 50 || usages < 5 {
		t.Errorf("%d runs, %d findings, %d usages", count, findings, usages)
	}
}

// positions returns the positions of all events.
func positions(t *testing.T, log store.Log) (list []int64) {
	t.Helper()
	for th, err := range log.Threads(t.Context(), store.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range log.Read(t.Context(), th.Key, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == store.Event {
				list = append(list, e.Position)
			}
		}
	}
	return list
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// logged returns a log with a thread of entries, which are lines "STREAM KIND MICROSECONDS DATA".
// The microseconds are after start, or "-" if the time is not known.
func logged(t *testing.T, lines ...string) store.Log {
	t.Helper()
	var list []store.Entry
	for _, line := range lines {
		part := strings.SplitN(line, " ", 4)
		e := store.Entry{Stream: part[0], Kind: store.Kind(part[1]), Data: []byte(part[3])}
		if part[2] != "-" {
			var micros int64
			if _, err := fmt.Sscan(part[2], &micros); err != nil {
				t.Fatal(err)
			}
			e.Arrived = start.Add(time.Duration(micros) * time.Microsecond)
		}
		list = append(list, e)
	}
	log := memory.New()
	if _, err := log.Append(t.Context(), store.Key{Thread: "t"}, 0, list); err != nil {
		t.Fatal(err)
	}
	return log
}

// summary is what the tests look at.
func summary(f *facts.Facts) string {
	var b strings.Builder
	duration, first := int64(-1), int64(-1)
	if f.DurationUS != nil {
		duration = *f.DurationUS
	}
	if f.Picture.FirstUS != nil {
		first = *f.Picture.FirstUS
	}
	fmt.Fprintf(&b, "%d events, %d us, by %s from %d;", f.Events, duration, f.Picture.By, first)
	for _, x := range f.Findings {
		at := int64(0)
		if x.Position != nil {
			at = *x.Position
		}
		name := x.Rule
		if name == "" {
			name = string(x.Code)
		}
		fmt.Fprintf(&b, " %s at %d", name, at)
	}
	fmt.Fprintf(&b, "; usage %s", f.Usage)
	return b.String()
}

// Facts of runs of odd streams.
func TestFacts(t *testing.T) {
	const begun, text, ended = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"x"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`
	for name, test := range map[string]struct {
		lines []string
		want  []string
	}{
		"a run": {
			[]string{"s input 100 {}", "s event 250 " + begun, "s event 900 " + ended, "s end 950 eof"},
			[]string{"2 events, 650 us, by time from 150;; usage null"},
		},
		"without a request": {
			[]string{"s event 250 " + begun, "s event 900 " + ended},
			[]string{"2 events, 650 us, by time from -1;; usage null"},
		},
		"a time is not known": {
			[]string{"s input 100 {}", "s event 250 " + begun, "s event - " + `{"type":"CUSTOM","name":"n","value":1}`, "s event 900 " + ended},
			[]string{"3 events, 650 us, by order from -1;; usage null"},
		},
		"no times": {
			[]string{"s input - {}", "s event - " + begun, "s event - " + ended},
			[]string{"2 events, -1 us, by order from -1;; usage null"},
		},
		"a clock that was set back": {
			[]string{"s input 900 {}", "s event 250 " + begun, "s event 100 " + ended},
			[]string{"2 events, -1 us, by time from 0;; usage null"},
		},
		"other streams between": {
			[]string{"s input 0 {}", "s event 1 " + begun, "u event 2 " + text, "s event 3 " + text, "u event 4 [", "s event 5 " + ended, "s event 6 " + text},
			[]string{"4 events, 5 us, by time from 1; G10 at 4 G2 at 7; usage null"},
		},
		"events before the run, and what is no event": {
			[]string{"s event 1 " + text, "s event 2 " + begun, "s event 3 not JSON", "s event 4 " + ended},
			[]string{"3 events, 2 us, by time from -1; G1 at 1 json_syntax at 3; usage null"},
		},
		"two runs of a response": {
			[]string{"s input 0 {}", "s event 1 " + begun, "s event 2 " + text, "s event 3 " + ended, "s event 4 " + begun, "s event 5 " + text, "s event 6 " + ended},
			[]string{"3 events, 2 us, by time from 1; G10 at 3; usage null", "3 events, 2 us, by time from 4; G35 at 5 G10 at 6; usage null"},
		},
		"a message that is open": {
			[]string{"s event 1 " + begun, `s event 2 {"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`},
			[]string{"2 events, 1 us, by time from -1;; usage null"},
		},
		"a run that was cut off": {
			[]string{"s event 1 " + begun, `s event 2 {"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`, "s end 3 error"},
			[]string{"2 events, 1 us, by time from -1; W1 at 2; usage null"},
		},
		"usage as it was sent": {
			[]string{"s event 1 " + begun, `s event 2 {"type":"RUN_FINISHED","threadId":"t","runId":"r","usage":[{"model":"\ud800", "inputTokens":1e1 ,"x":{"a":[]}}]}`},
			[]string{`2 events, 1 us, by time from -1; event_altered at 2; usage [{"model":"\ud800", "inputTokens":1e1 ,"x":{"a":[]}}]`},
		},
		"usage of a failure": {
			[]string{"s event 1 " + begun, `s event 2 {"type":"RUN_ERROR","message":"no","usage":[]}`},
			[]string{"2 events, 1 us, by time from -1;; usage []"},
		},
		"usage that is none": {
			[]string{"s event 1 " + begun, `s event 2 {"type":"RUN_FINISHED","threadId":"t","runId":"r","usage":{"a":1}}`},
			[]string{"2 events, 1 us, by time from -1; event_refused at 2; usage null"},
		},
		"usage that is large": {
			[]string{"s event 1 " + begun, `s event 2 {"type":"RUN_FINISHED","threadId":"t","runId":"r","usage":[{"model":"` + strings.Repeat("m", 70_000) + `"}]}`},
			[]string{"2 events, 1 us, by time from -1;; usage null"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := logged(t, test.lines...)
			_, list := of(t, log)
			var got []string
			for _, f := range list {
				got = append(got, summary(f))
				text, err := gojson.Marshal(f, jsontext.AllowInvalidUTF8(true))
				if err != nil || !json.Valid(text) {
					t.Errorf("%v: %s", err, text)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A hostile run has bounded facts.
func TestBounded(t *testing.T) {
	lines := []string{`s event 0 {"type":"RUN_STARTED","threadId":"t","runId":"r"}`}
	for i := range 5_000 {
		lines = append(lines, fmt.Sprintf(`s event %d {"type":"__proto__<b>\u202e%d%s"}`, i*i*i, i, strings.Repeat("x", i%200)))
	}
	_, list := of(t, logged(t, lines...))
	f := list[0]
	text, err := gojson.Marshal(f, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		t.Fatal(err)
	}
	total := f.TypesMore
	for _, k := range f.Types {
		total += k.Count
	}
	if len(text) > 200_000 || len(f.Types) > 1_000 || f.TypesMore == 0 || total != 5_001 || len(f.Findings) > finding.MaxListed {
		t.Errorf("%d bytes, %d types, %d more, %d findings, %d more", len(text), len(f.Types), f.TypesMore, len(f.Findings), f.FindingsMore)
	}
}
