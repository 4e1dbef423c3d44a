package runs

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/judge"
	"github.com/p20export/p20export/envelope/sequence"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// cancelAfter cancels a run after its agent has sent events, and returns all events of the
// stream.
func cancelAfter(t *testing.T, sent []string) (list []store.Entry) {
	t.Helper()
	log, key := memory.New(), store.Key{Thread: "t"}
	defer log.Close()
	entries := []store.Entry{{Stream: streamID("r", 1, "a"), Kind: store.Input, Data: []byte(`{}`)}}
	for _, e := range sent {
		entries = append(entries,
			store.Entry{Stream: streamID("r", 1, "a"), Kind: store.Event, Data: []byte(e)},
			store.Entry{Stream: "other", Kind: store.Event, Data: []byte(e)})
	}
	if _, err := log.Append(t.Context(), key, 0, entries); err != nil {
		t.Fatal(err)
	}
	if err := Cancel(t.Context(), log, key, "r"); err != nil {
		t.Fatal(err)
	}
	for e, err := range log.Read(t.Context(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Stream == streamID("r", 1, "a") && e.Kind != store.Input {
			list = append(list, *e)
		}
	}
	return list
}

// A run that is cancelled anywhere ends as a client accepts it, and nothing is open then.
func TestStopped(t *testing.T) {
	t.Parallel()
	inOrder := 0
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 33))
		events := judge.Generate(r, judge.Generator{})
		events = events[:1+r.IntN(len(events))]
		checker := sequence.New(sequence.Options{Protocol: event.Auto})
		feed := func(i int, text []byte) int {
			e, err := envelope.ReadEvent(text)
			if err != nil {
				t.Fatal(err)
			}
			e.Index = i
			found := checker.Event(e)
			for _, f := range found {
				t.Logf("%s: %s", text, f)
			}
			return len(found)
		}
		for i, e := range events {
			feed(i, []byte(e))
		}
		open := !checker.End()
		list := cancelAfter(t, events)
		if got := list[len(list)-1]; got.Kind != store.End || string(got.Data) != "cancelled" {
			t.Errorf("seed %d: the stream ends with %s %s", seed, got.Kind, got.Data)
		}
		closings := list[len(events) : len(list)-1]
		for i, e := range closings {
			if e.Kind != store.Closing || feed(len(events)+i, e.Data) > 0 {
				t.Errorf("seed %d: %s %s", seed, e.Kind, e.Data)
			}
		}
		if !checker.End() || len(checker.Open()) > 0 || (len(closings) > 0) != open {
			t.Errorf("seed %d: %d closing events; open %v", seed, len(closings), checker.Open())
		}
		if len(closings) > 0 && closings[len(closings)-1].Type == envelope.RunFinished {
			inOrder++
		}
	}
	if inOrder < 200 {
		t.Errorf("%d runs were closed in order", inOrder)
	}
}

// A run that cannot be closed in order ends with a RUN_ERROR.
func TestNotStopped(t *testing.T) {
	t.Parallel()
	started := `{"type":"RUN_STARTED","threadId":"t","runId":"r"}`
	for name, test := range map[string]struct {
		events []string
		want   string
	}{
		"in order":         {[]string{started}, envelope.RunFinished},
		"thinking":         {[]string{started, `{"type":"THINKING_START"}`, `{"type":"THINKING_TEXT_MESSAGE_START"}`}, envelope.RunFinished},
		"chunks":           {[]string{started, `{"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x"}`}, envelope.RunFinished},
		"no ids":           {[]string{`{"type":"RUN_STARTED","threadId":"t","runId":1}`}, envelope.RunError},
		"AG-UI 0.x":        {[]string{`{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"0.1"}`}, envelope.RunError},
		"not JSON":         {[]string{started, `{"type":`}, envelope.RunError},
		"two thinkings":    {[]string{started, `{"type":"THINKING_START"}`, `{"type":"THINKING_START"}`}, envelope.RunError},
		"before the run":   {nil, envelope.RunError},
		"the second run":   {[]string{started, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`, strings.Replace(started, `"r"`, `"s"`, 1)}, envelope.RunFinished},
		"a half surrogate": {[]string{started, `{"type":"STEP_STARTED","stepName":"\ud83d"}`}, envelope.RunFinished},
	} {
		list := cancelAfter(t, test.events)
		e := list[len(list)-2]
		if e.Kind != store.Closing || e.Type != test.want || ClosingCode(e.Data) != cancelled.code {
			t.Errorf("%s: %s %s", name, e.Kind, e.Data)
		}
	}
}

// The events that a run had when it was read first are not read again when it goes on.
func TestStopReadsOnce(t *testing.T) {
	t.Parallel()
	log, key := memory.New(), store.Key{Thread: "t"}
	defer log.Close()
	last := int64(0)
	add := func(text string) {
		var err error
		if last, err = log.Append(t.Context(), key, last, []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
	}
	add(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)
	p := stopper{log: log, key: key, stream: "s"}
	for n, text := range []string{
		`{"type":"TEXT_MESSAGE_START","messageId":"m"}`, `{"type":"STEP_STARTED","stepName":"p"}`, `{"type":"TEXT_MESSAGE_END","messageId":"m"}`,
	} {
		add(text)
		events, err := p.events(t.Context(), store.Run{Stream: "s", Start: 1}, last, cancelled, time.Now())
		if want := []int{2, 3, 2}[n]; err != nil || len(events) != want || p.last != last {
			t.Errorf("%s: %q, %v, read to %d", text, events, err, p.last)
		}
	}
}
