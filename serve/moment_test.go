package serve_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
)

// moment is a moment as a client reads it.
type moment struct {
	Position, Last int64
	Entry          struct {
		Kind, Origin, Stream, Type, Text string
		Run                              int64
		Arrived                          *string
		Bytes                            int
		Cut                              bool
	}
	Run *struct {
		Position int64
		RunID    *string `json:"run_id"`
		End      string
	}
	Used     []int64
	Messages struct {
		Count, From int
		List        []json.RawMessage
		Cut         []int
	}
	Changed          momentChanged
	State            json.RawMessage
	StateKnown       bool     `json:"state_known"`
	StateBytes       int      `json:"state_bytes"`
	StateCut         bool     `json:"state_cut"`
	PendingToolCalls []string `json:"pending_tool_calls"`
	Interrupts       json.RawMessage
	Findings         json.RawMessage
}

type momentChanged struct {
	Messages []momentMessage
	State    []momentState
	More     int
}

type momentMessage struct {
	Index, Kept int
	Change, Of  string
}

type momentState struct {
	Pointer, Change string
	Before, After   json.RawMessage
	Cut             bool
}

func (p *process) moment(path string) (m moment) {
	p.t.Helper()
	p.get(path).decode(&m)
	return m
}

// script appends events of one stream to a thread, whose first entry is a request.
func script(t *testing.T, log store.Log, key store.Key, lines ...string) {
	t.Helper()
	var entries []store.Entry
	for i, line := range lines {
		e := store.Entry{Stream: "s", Kind: store.Event, Data: []byte(line)}
		if i == 0 {
			e.Kind = store.Input
		}
		entries = append(entries, e)
	}
	if _, err := log.Append(t.Context(), key, 0, entries); err != nil {
		t.Fatal(err)
	}
}

// Each moment of a thread has what the entry did.
func TestMomentChanges(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	p := start(t, log, nil, serve.Settings{})
	lines := []string{
		`{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"Hi"}],"state":{"a":{"b":[1,2]},"x~/":null}}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Gr\u00fc\u00df \ud83d\ude00"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"!"}`,
		`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"a\":"}`,
		`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"1}"}`,
		`{"type":"STATE_DELTA","delta":[{"op":"add","path":"/a/b/0","value":0},{"op":"remove","path":"/x~0~1"},{"op":"add","path":"/n","value":{}}]}`,
		`{"type":"CUSTOM","name":"x","value":null}`,
		`{"type":"MESSAGES_SNAPSHOT","messages":[{"role":"assistant","id":"m","content":"Gr\u00fc\u00df \ud83d\ude00!","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}]}`,
		`{"type":"STATE_SNAPSHOT","snapshot":[]}`,
	}
	script(t, log, store.Key{Thread: "t"}, lines...)
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	for i, want := range []momentChanged{
		{Messages: []momentMessage{{0, 0, "added", "content"}}, State: []momentState{{"/a", "added", nil, raw(`{"b":[1,2]}`), false}, {"/x~0~1", "added", nil, raw("null"), false}}},
		{},
		{Messages: []momentMessage{{1, 0, "added", "content"}}},
		{Messages: []momentMessage{{1, 0, "changed", "content"}}},
		{Messages: []momentMessage{{1, 7, "changed", "content"}}},
		{Messages: []momentMessage{{1, 8, "changed", "content"}}},
		{Messages: []momentMessage{{1, 0, "changed", "arguments"}}},
		{Messages: []momentMessage{{1, 5, "changed", "arguments"}}},
		{State: []momentState{{"/a/b/0", "added", nil, raw("0"), false}, {"/n", "added", nil, raw("{}"), false}, {"/x~0~1", "removed", raw("null"), nil, false}}},
		{},
		{Messages: []momentMessage{{0, 0, "removed", "content"}}},
		{State: []momentState{{"", "changed", raw(`{"a":{"b":[0,1,2]},"n":{}}`), raw("[]"), false}}},
	} {
		m := p.moment(fmt.Sprintf("/threads/t/moment?position=%d", i+1))
		for j := range m.Changed.State { // an absent value and null differ
			for _, v := range []*json.RawMessage{&m.Changed.State[j].Before, &m.Changed.State[j].After} {
				if len(*v) == 0 {
					*v = nil
				}
			}
		}
		if len(m.Changed.Messages) == 0 {
			m.Changed.Messages = nil
		}
		if len(m.Changed.State) == 0 {
			m.Changed.State = nil
		}
		if diff := cmp.Diff(want, m.Changed); diff != "" {
			t.Errorf("position %d: %s", i+1, diff)
		}
		if m.Entry.Text != lines[i] || m.Last != 12 || m.Position != int64(i+1) {
			t.Errorf("position %d: %+v", i+1, m)
		}
		if want := map[bool]string{true: "request", false: "agent"}[i == 0]; m.Entry.Origin != want {
			t.Errorf("position %d: the origin is %s", i+1, m.Entry.Origin)
		}
	}
}

// sameAsRestore compares a moment with what restore answers.
func (p *process) sameAsRestore(thread string, position int64) {
	p.t.Helper()
	at := fmt.Sprintf("?position=%d", position)
	m := p.moment("/threads/" + thread + "/moment" + at + "&from=0&limit=1000")
	var want struct {
		Run        *int64
		RunID      *string `json:"run_id"`
		End        *string
		Messages   []json.RawMessage
		State      json.RawMessage
		Known      bool
		Pending    []string `json:"pending_tool_calls"`
		Interrupts json.RawMessage
		Used       []int64
		Findings   json.RawMessage
	}
	p.get("/threads/" + thread + "/restore" + at).decode(&want)
	same := len(m.Messages.List) == len(want.Messages) && m.Messages.Count == len(want.Messages) &&
		string(m.State) == string(want.State) && m.StateKnown == want.Known && string(m.Interrupts) == string(want.Interrupts) &&
		slices.Equal(m.PendingToolCalls, want.Pending) && slices.Equal(m.Used, want.Used) && string(m.Findings) == string(want.Findings) && (m.Run == nil) == (want.Run == nil)
	for i := range want.Messages {
		same = same && string(m.Messages.List[i]) == string(want.Messages[i])
	}
	if m.Run != nil {
		same = same && m.Run.Position == *want.Run && m.Run.End == *want.End && reflect.DeepEqual(m.Run.RunID, want.RunID)
	}
	if !same {
		p.t.Errorf("position %d of %s: the moment is\n%+v, restore answers\n%+v", position, thread, m, want)
	}
	if i := len(want.Messages) - 1; i >= 0 {
		text := p.get(fmt.Sprintf("/threads/%s/messages/%d%s", thread, i, at)).text()
		if !sameJSON(text, string(want.Messages[i])) {
			p.t.Errorf("position %d of %s: message %d is %s", position, thread, i, text)
		}
	}
	if text := p.get("/threads/" + thread + "/state" + at).text(); !sameJSON(text, string(want.State)) {
		p.t.Errorf("position %d of %s: the state is %s, want %s", position, thread, text, want.State)
	}
}

// sameJSON reports whether two texts have the same JSON value.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// Moments of captured threads are what restore answers, for several readers who move at random at
// the same time.
func TestMomentsOfCaptures(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		paths, err := filepath.Glob("../discovery/captures/agno/*")
		if err != nil || len(paths) < 10 {
			t.Fatalf("%d captures: %v", len(paths), err)
		}
		lasts := map[string]int64{}
		for i, path := range paths {
			c, err := capture.Open(t.Context(), path, "")
			if err != nil {
				t.Fatal(err)
			}
			request, err := c.Request()
			if err != nil {
				t.Fatal(err)
			}
			lines := []string{string(request)}
			for f, err := c.Next(); err == nil; f, err = c.Next() {
				lines = append(lines, string(f.Data))
			}
			c.Close()
			name := fmt.Sprintf("t%d", i)
			script(t, log, store.Key{Thread: name}, lines...)
			lasts[name] = int64(len(lines))
		}
		p := start(t, log, nil, serve.Settings{})
		var wg sync.WaitGroup
		for reader := range uint64(4) {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(reader, 1))
				for range 10 {
					thread := fmt.Sprintf("t%d", random.IntN(len(lasts)))
					p.sameAsRestore(thread, 1+random.Int64N(lasts[thread]))
				}
			})
		}
		wg.Wait()
	})
}

// What is large is cut, and can be read whole.
func TestMomentCuts(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	p := start(t, log, nil, serve.Settings{})
	long, name := strings.Repeat("é", 1<<20), strings.Repeat("n", 5000)
	script(t, log, store.Key{Thread: "t"},
		`{"threadId":"t","runId":"r","messages":[]}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"TEXT_MESSAGE_CHUNK","messageId":"</script>\u202e","role":"assistant","delta":"`+long+`"}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"__proto__":"`+long+`","`+name+`":1,"n":2,"half":"\ud83d"}}`,
		`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/`+name+`","value":2},{"op":"remove","path":"/__proto__"}]}`,
		"{\"type\":\"CUSTOM\",\"name\":\"\xff",
	)
	m := p.moment("/threads/t/moment?position=3")
	var outline map[string]any
	if err := json.Unmarshal(m.Messages.List[0], &outline); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"id": "</script>\u202e", "role": "assistant", "content": long[:4096], "bytes": float64(len(p.get("/threads/t/messages/0").text()))}
	if diff := cmp.Diff(want, outline); diff != "" || !slices.Equal(m.Messages.Cut, []int{0}) {
		t.Errorf("%s; cut %v", diff, m.Messages.Cut)
	}
	if len(m.Entry.Text) > 64<<10 || !m.Entry.Cut || m.Entry.Bytes < len(long) || !strings.HasPrefix(m.Entry.Text, `{"type":"TEXT_MESSAGE_CHUNK"`) {
		t.Errorf("the entry has %d of %d bytes, cut %v", len(m.Entry.Text), m.Entry.Bytes, m.Entry.Cut)
	}
	m = p.moment("/threads/t/moment?position=4")
	if string(m.State) != "null" || !m.StateCut || m.StateBytes != len(p.get("/threads/t/state?position=4").text()) || m.StateBytes < len(long) {
		t.Errorf("the state %s has %d bytes, cut %v", m.State, m.StateBytes, m.StateCut)
	}
	m = p.moment("/threads/t/moment?position=5")
	if m.StateCut || m.Changed.More != 1 || len(m.Changed.State) != 1 || m.Changed.State[0].Pointer != "/__proto__" || !m.Changed.State[0].Cut || m.Changed.State[0].Before != nil {
		t.Errorf("%+v", m.Changed)
	}
	m = p.moment("/threads/t/moment")
	if m.Entry.Text != "{\"type\":\"CUSTOM\",\"name\":\"\ufffd" || m.Entry.Type != "" {
		t.Errorf("%+v", m.Entry)
	}
}

// A page has the first message that changed, and lists of changes are bounded.
func TestMomentPages(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	p := start(t, log, nil, serve.Settings{})
	var list []string
	for i := range 500 {
		list = append(list, fmt.Sprintf(`{"id":"m%d","role":"user","content":"x"}`, i))
	}
	script(t, log, store.Key{Thread: "t"},
		`{"threadId":"t","runId":"r","messages":[`+strings.Join(list, ",")+`]}`,
		`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
		`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m7","delta":"y"}`,
	)
	for _, c := range []struct {
		query               string
		from, listed, count int
	}{
		{"position=1", 0, 100, 200},
		{"position=2", 400, 100, 0},
		{"position=3", 7, 100, 1},
		{"position=3&from=499&limit=1000", 499, 1, 1},
		{"position=3&from=500", 500, 0, 1},
		{"position=2&limit=1000", 0, 500, 0},
	} {
		m := p.moment("/threads/t/moment?" + c.query)
		if m.Messages.From != c.from || len(m.Messages.List) != c.listed || len(m.Changed.Messages) != c.count || m.Messages.Count != 500 {
			t.Errorf("%s: %d messages from %d, %d changes", c.query, len(m.Messages.List), m.Messages.From, len(m.Changed.Messages))
		}
		if c.query == "position=1" && m.Changed.More != 300 {
			t.Errorf("%d more changes", m.Changed.More)
		}
	}
	for _, query := range []string{"position=0", "position=-1", "position=9", "position=1.5", "position=99999999999999999999", "limit=0", "limit=1001", "from=-1", "from=x", "limit=1&limit=2"} {
		p.get("/threads/t/moment?"+query).want(http.StatusBadRequest, "invalid_query")
	}
}

// A thread goes on, is deleted, and belongs to one tenant.
func TestMomentsOfLiveThreads(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		p := start(t, log, nil, serve.Settings{Guard: serve.GuardSettings{TokenFile: tokens(t)}})
		key := store.Key{Tenant: "alice", Thread: "t"}
		at := func() (m moment) {
			p.get("/threads/t/moment", "Authorization", "Bearer "+token).decode(&m)
			return m
		}
		fill(t, log, key, "r")
		fill(t, log, store.Key{Tenant: "bob", Thread: "other"}, "r")
		if m := at(); m.Position != 5 || m.Run.End != "finished" || m.Entry.Origin != "server" {
			t.Errorf("%+v", m)
		}
		if _, err := log.Append(t.Context(), key, 5, []store.Entry{{Stream: "s2", Kind: store.Event, Data: []byte(started("t", "r2"))}}); err != nil {
			t.Fatal(err)
		}
		if m := at(); m.Position != 6 || m.Last != 6 || *m.Run.RunID != "r2" || m.Run.End != "open" {
			t.Errorf("%+v", m)
		}
		p.get("/threads/other/moment", "Authorization", "Bearer "+token).want(http.StatusNotFound, "unknown_thread")
		if _, err := log.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		p.get("/threads/t/moment", "Authorization", "Bearer "+token).want(http.StatusGone, "thread_deleted")
	})
}
