package join_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/join"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/sequence"
)

const started = `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`

// TestNoRun checks that there is no prelude without a RUN_STARTED.
func TestNoRun(t *testing.T) {
	s := newServer()
	s.take(t, `{"type":"RUN_ERROR","message":"no"}`)
	if prelude := s.prelude(t); prelude != nil || !s.run.Ended() {
		t.Errorf("prelude %q, ended %v", prelude, s.run.Ended())
	}
	s.take(t, started)
	if prelude := s.prelude(t); len(prelude) != 2 || s.run.Ended() {
		t.Errorf("prelude %q, ended %v", prelude, s.run.Ended())
	}
}

// TestLines checks that an event on several lines becomes one line.
func TestLines(t *testing.T) {
	s := newServer()
	s.take(t, "{\"type\": \"RUN_STARTED\",\r\n \"threadId\":\"t\",\"runId\":\"r\"}")
	if prelude := s.prelude(t); prelude[0] != started {
		t.Errorf("%q", prelude[0])
	}
}

// TestSkip checks that an event that cannot be read is ignored.
func TestSkip(t *testing.T) {
	s := newServer()
	s.take(t, started)
	s.take(t, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`)
	s.run.Skip()
	if prelude := s.prelude(t); len(prelude) != 3 {
		t.Errorf("prelude %q", prelude)
	}
}

// TestOtherOwner shows the limit of the package: a client that joins refuses events that say
// otherwise than a message whom it belongs to.
func TestOtherOwner(t *testing.T) {
	list, cut := events(`RUN_STARTED{"threadId":"t","runId":"q"}
		TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"one"}
		RUN_FINISHED{"threadId":"t","runId":"q"}
		RUN_STARTED{"threadId":"t","runId":"r"}
		---
		TEXT_MESSAGE_CHUNK{"messageId":"m1","delta":"two","subagentRunId":"s"}`)
	s := newServer()
	for _, e := range list[:cut] {
		s.take(t, e)
	}
	if f := breaches(t, list); f != "" {
		t.Fatal(f)
	}
	if f := breaches(t, append(s.prelude(t), list[cut:]...)); !strings.HasPrefix(f, "owner_differs: ") {
		t.Errorf("breach %q", f)
	}
}

// requested are messages of requests, and what a snapshot has for them: a client does not
// refuse it.
var requested = []struct{ request, snapshot string }{
	{`{"id":"m","role":"user","content":"x"}`, `{"id":"m","role":"user","content":"x"}`},
	{`{"id":"m","role":"assistant","content":null,"toolCalls":null,"name":null}`, `{"role":"assistant","id":"m"}`},
	{`{"id":"m","role":"assistant","toolCalls":[{"id":"c","function":{"name":"f","arguments":""}}]}`,
		`{"role":"assistant","id":"m","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`},
	{`{"id":"m","role":"user","content":[{"type":"text","text":"x"}],"metadata":null}`, `{"role":"user","id":"m","content":[{"type":"text","text":"x"}]}`},
	{`{"id":"m","role":"user","content":[{"type":"text"}]}`, ``},
	{`{"id":"m","role":"activity","activityType":"P","content":{},"metadata":null}`, `{"role":"activity","id":"m","activityType":"P","content":{}}`},
	{`{"id":"m","role":"activity","content":{}}`, ``},
	{`{"id":"m","role":"tool","content":"x"}`, ``},
	{`{"id":"m","role":"user"}`, ``},
	{`{"role":"user","content":"x"}`, ``},
}

// unknown are messages of requests with what AG-UI does not define, and what a snapshot has
// for them: a client would remove it.
var unknown = []struct{ request, snapshot string }{
	{`{"id":"m","role":"user","content":"x","extra":1}`, `{"id":"m","role":"user","content":"x"}`},
	{`{"id":"m","role":"user","content":[{"type":"hologram"}]}`, `{"id":"m","role":"user","content":[]}`},
	{`{"id":"m","role":"reasoning","content":"","encryptedValue":"e","encryptedValueType":"t"}`, `{"id":"m","role":"reasoning","content":"","encryptedValue":"e","encryptedValueType":"t"}`},
	{`{"id":"m","role":"robot","content":null}`, ``},
}

// afterRequest returns a server after a request with one message, and RUN_STARTED.
func afterRequest(t testing.TB, message string) *server {
	t.Helper()
	s := newServer()
	s.reducer.Seed([]byte(`{"messages":[{"id":"a","role":"user","content":"a"},` + message + `,{"id":"b","role":"user","content":"b"}]}`))
	s.take(t, started)
	return s
}

// TestRequested checks that the snapshot has no messages that a client refuses.
func TestRequested(t *testing.T) {
	for _, test := range slices.Concat(requested, unknown) {
		want := test.snapshot
		if want != "" {
			want += ","
		}
		end := "]}"
		if strings.Contains(test.request, "activity") {
			end = `],"metadata":{"@ag-ui/client":{"authoritativeActivityTypes":[]}}}`
		}
		want = `{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","role":"user","content":"a"},` + want + `{"id":"b","role":"user","content":"b"}` + end
		if got := afterRequest(t, test.request).prelude(t)[1]; got != want {
			t.Errorf("%s:\n%s, want\n%s", test.request, got, want)
		}
	}
}

// TestUnknownMaterial checks that no event of a prelude has what AG-UI does not define.
func TestUnknownMaterial(t *testing.T) {
	s := newServer()
	for _, e := range []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","new":1,"input":{"threadId":"t","runId":"r","new":1,"messages":[{"id":"u","role":"user","content":"x","new":1},{"id":"v","role":"robot","content":"new"}],"tools":[{"name":"n","description":"d","new":1}]}}`,
		`{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n","new":1}`,
		`{"type":"NEW_EVENT","new":1}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m","new":1}`,
		`{"type":"STATE_DELTA","delta":[{"op":"new"},{"op":"add","path":"/a","value":1}],"new":1}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"c","delta":"y","new":1}`,
	} {
		s.take(t, e)
	}
	want := []string{
		`{"type":"RUN_STARTED","threadId":"t","runId":"r","input":{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"x"}],"tools":[{"name":"n","description":"d"}]}}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"x"},{"id":"m","role":"assistant","content":""},{"id":"c","role":"assistant","content":"y"}]}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"a":1}}`,
		`{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`,
	}
	got := s.prelude(t)
	if len(got) != len(want)+1 || !slices.Equal(got[:len(want)], want) || strings.Contains(got[len(want)], "new") {
		t.Errorf("the prelude is\n%s, want\n%s\nand a chunk", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLimits checks that there is no prelude past each limit, and one for the next run.
func TestLimits(t *testing.T) {
	t.Parallel()
	description := strings.Repeat("x", 1<<20)
	for name, fill := range map[string]func(s *server){
		"subagents": func(s *server) {
			for i := range join.MaxBytes>>20 + 1 {
				s.take(t, fmt.Sprintf(`{"type":"SUBAGENT_STARTED","subagentRunId":"%d","name":"%s"}`, i, description))
			}
		},
		"ids": func(s *server) {
			for i := range sequence.MaxIDs + 1 {
				s.take(t, fmt.Sprintf(`{"type":"REASONING_START","messageId":"%d"}`, i))
			}
		},
		"messages": func(s *server) {
			for range join.MaxBytes>>20 + 1 {
				s.take(t, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"`+description+`"}`)
			}
		},
	} {
		s := newServer()
		s.take(t, started)
		fill(s)
		_, err := s.run.Prelude(s.reducer)
		if !errors.Is(err, join.ErrLimit) {
			t.Errorf("%s: %v", name, err)
		}
		s.take(t, `{"type":"RUN_ERROR","message":"no"}`)
		if !s.run.Ended() {
			t.Errorf("%s: the run has not ended", name)
		}
		s.take(t, started)
		if _, err := s.run.Prelude(s.reducer); (err != nil) != (name == "messages") {
			t.Errorf("%s, in the next run: %v", name, err)
		}
	}
}

// TestDamaged joins damaged streams, which clients refuse. The events of the prelude can be
// read.
func TestDamaged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		odd := judge.UnknownTypes | judge.ExtraKeys | judge.Legacy | judge.OddPatches | judge.UnknownOperations
		s := newServer()
		for _, text := range judge.Damage(r, judge.Generate(r, judge.Generator{With: odd})) {
			e, err := envelope.ReadEvent([]byte(text))
			if err != nil {
				s.run.Skip()
				continue
			}
			s.run.Event(e)
			s.reducer.Event(e)
			for _, e := range s.prelude(t) {
				read(t, e)
			}
		}
	})
}
