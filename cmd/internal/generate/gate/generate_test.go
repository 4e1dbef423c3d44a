package main

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/discovery/gate"
	"github.com/p20export/p20export/discovery/scenario"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/project"
)

func TestDocumentsAreFresh(t *testing.T) {
	t.Chdir("../../../..")
	files, err := documents()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), string(want)); diff != "" {
			t.Errorf("%s is out of date: run 'make gate' and check the changes (-committed +generated):\n%s", path, diff)
		}
		if strings.Contains(string(want), "| unknown |") {
			t.Errorf("%s has a difference without a reason in deviationReasons", path)
		}
	}
}

// An artifact does not depend on state and activity events. An artifact of an emitted
// snapshot depends on each of its three events and on no others. A built artifact depends
// on more.
func TestFewerEvents(t *testing.T) {
	t.Chdir("../../../..")
	list, err := scenario.LoadList(t.Context(), "discovery/"+scenario.ScenariosName)
	if err != nil {
		t.Fatal(err)
	}
	all, err := readHarnesses(list)
	if err != nil {
		t.Fatal(err)
	}
	carrying, streamed := 0, 0
	for _, h := range all {
		for _, s := range h.details {
			switch {
			case s.refreezing == nil:
				continue
			case !s.refreezing.sameWithoutState:
				t.Errorf("%s: different artifact without state and activity", s.run.Capture)
			case s.refreezing.origin == project.Emitted && !s.refreezing.sameFromEnvelope:
				t.Errorf("%s: different artifact from only the events of the envelope", s.run.Capture)
			case s.refreezing.dispensable > 0:
				t.Errorf("%s: still an artifact without %d of the events of the envelope", s.run.Capture, s.refreezing.dispensable)
			}
			if s.state.count > 0 {
				carrying++
			}
			if s.refreezing.origin == project.Built && !s.refreezing.sameFromEnvelope {
				streamed++
			}
		}
	}
	if carrying == 0 || streamed == 0 {
		t.Errorf("%d runs with an artifact have state or activity events, and %d artifacts are built from the stream", carrying, streamed)
	}
}

func read(t *testing.T, text string) *envelope.Event {
	t.Helper()
	e, err := envelope.ReadEvent([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestDescribe(t *testing.T) {
	a := artifact.New()
	a.RunIDRef = "run-1"
	a.Messages = []artifact.Message{{ID: "u", Role: "user", Content: "Hello there."}}
	tests := []struct {
		event string
		want  stateEvents
	}{
		{`{"type":"STATE_SNAPSHOT","snapshot":{}}`, stateEvents{}},
		{`{"type":"STATE_SNAPSHOT","snapshot":null}`, stateEvents{}},
		{`{"type":"STATE_SNAPSHOT","snapshot":{"b":1,"a":[]}}`, stateEvents{keys: []string{"a", "b"}, nonempty: true}},
		{`{"type":"STATE_SNAPSHOT","snapshot":{"a":["Hello",{"x":"run-1","y":" "}]}}`, stateEvents{keys: []string{"a"}, nonempty: true}},
		{`{"type":"STATE_SNAPSHOT","snapshot":{"a":["Bye","Bye","so long"]}}`, stateEvents{keys: []string{"a"}, nonempty: true, strings: 2, multiWord: 1}},
		{`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a/0","value":"milk"},{"op":"remove","path":"/b"}]}`, stateEvents{keys: []string{"a", "b"}, nonempty: true, strings: 1}},
		{`{"type":"ACTIVITY_SNAPSHOT","messageId":"m","content":{"title":"Two words"}}`, stateEvents{strings: 1, multiWord: 1}},
		{`{"type":"ACTIVITY_DELTA","messageId":"m","patch":[{"op":"add","path":"/a","value":" word "}]}`, stateEvents{strings: 1}},
	}
	for _, test := range tests {
		test.want.count, test.want.bytes = 1, int64(len(test.event))
		got, err := describeState([]*envelope.Event{read(t, test.event)}, a)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(stateEvents{})); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.event, diff)
		}
	}
	if s, err := describeState([]*envelope.Event{read(t, tests[4].event)}, nil); err != nil || s.strings != 0 || !s.nonempty {
		t.Errorf("without an artifact: %+v, %v", s, err)
	}
	if _, err := describeState([]*envelope.Event{read(t, `{"type":"STATE_DELTA","delta":1}`)}, a); err == nil {
		t.Error("a delta that is a number is accepted")
	}
}

// Each breach of AG-UI's rules about the two ends of a run is found.
func TestBoundaries(t *testing.T) {
	const started, finished, failed = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`, `{"type":"RUN_ERROR","message":"x"}`
	for _, test := range []struct {
		events []string
		want   boundaries
	}{
		{[]string{started, finished}, boundaries{}},
		{[]string{started, failed}, boundaries{}},
		{[]string{started}, boundaries{}},
		{[]string{started, finished, failed}, boundaries{}},
		{[]string{started, `{"type":"RUN_FINISHED","threadId":"t","runId":"s"}`}, boundaries{otherRun: true}},
		{[]string{started, `{"type":"RUN_FINISHED","threadId":"u","runId":"r"}`}, boundaries{otherThread: true}},
		{[]string{`{"type":"RUN_STARTED","threadId":"t"}`, finished}, boundaries{otherRun: true, otherRequest: true, withoutID: true}},
		{[]string{`{"type":"RUN_STARTED","threadId":"t","runId":"s"}`}, boundaries{otherRequest: true}},
		{[]string{started, finished, finished}, boundaries{afterEnd: true}},
		{[]string{started, finished, `{"type":"RAW","event":1}`}, boundaries{afterEnd: true}},
		{[]string{started, finished, failed, failed}, boundaries{afterEnd: true}},
		{[]string{started, failed, `{"type":"RUN_FINISHED","threadId":"u","runId":"s"}`}, boundaries{afterEnd: true}},
	} {
		r, err := newBoundaryReader([]byte(`{"threadId":"t","runId":"r"}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range test.events {
			r.event(read(t, event))
		}
		if r.found != test.want {
			t.Errorf("%s: %+v, want %+v", test.events, r.found, test.want)
		}
	}
}

// Discovery is done only if the first five answers are favorable.
func TestDone(t *testing.T) {
	answers := make([]gate.Answer, 8)
	for i := range answers {
		answers[i].Favorable = i != 1 && i != 4 && i != 6
	}
	if got := done(answers); !strings.Contains(got, "is not done") || !strings.HasSuffix(got, "missing: 2 and 5.") {
		t.Error(got)
	}
	answers[1].Favorable, answers[4].Favorable = true, true
	if got := done(answers); !strings.Contains(got, "Discovery is done") {
		t.Error(got)
	}
}

// Message ids of the request and of the scripted model are not counted.
func TestMessageIDs(t *testing.T) {
	r, err := newIDCollector([]byte(`{"messages":[{"id":"user-1"}]}`), "http://127.0.0.1:1/long-stream")
	if err != nil {
		t.Fatal(err)
	}
	const uuid = "3f8a2f6e-0b6c-4d52-9e0e-6f1d2c3b4a59"
	for _, event := range []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"` + uuid + `"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"` + uuid + `"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"msg-long-stream-2"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"msg-other-2"}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"user-1"},{"id":"` + uuid + `"},{"id":"` + uuid + `-long-stream-0"},{"id":"call-add-result"},{"id":"https://host/m"},{}]}`,
	} {
		r.event(read(t, event))
	}
	if !maps.Equal(r.ids.streamed, shapes{"UUID": 1, "other": 1}) || !maps.Equal(r.ids.snapshot, shapes{"UUID": 1, "UUID with more text": 1, "path-like": 1}) || r.ids.valid != 4 {
		t.Errorf("%+v", r.ids)
	}
	if got := r.ids.snapshot.String(); got != "1 UUID, 1 UUID with more text, 1 path-like" {
		t.Error(got)
	}
}
