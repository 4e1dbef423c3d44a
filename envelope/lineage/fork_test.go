package lineage_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/envelope/lineage"
)

// conversation returns what a run with a request left behind.
func conversation(t *testing.T, request string) lineage.Conversation {
	t.Helper()
	m, err := event.DecodeMessage([]byte(`{"id":"m","role":"user","content":"hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	c := lineage.Conversation{Messages: []event.Message{m}, State: event.JSON(`{"a":1}`)}
	if request != "" {
		if c.Input, err = event.DecodeRunInput([]byte(request)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestFork(t *testing.T) {
	const request = `{"threadId":"t","runId":"a","protocolVersion":"1.0","parentRunId":"old","state":{},"messages":[],` +
		`"tools":[{"name":"f","description":"d"}],"context":[{"description":"d","value":"v"}],"forwardedProps":{"k":1},` +
		`"resume":[{"interruptId":"i","status":"resolved"}],"more":2}`
	const own = `"tools":[{"name":"f","description":"d"}],"context":[{"description":"d","value":"v"}],"forwardedProps":{"k":1},"more":2}`
	g := lineage.New(runs("a b c<a"))
	tests := []struct {
		form          lineage.Form
		request, want string
	}{
		{lineage.Full, request, `{"threadId":"t","runId":"new","protocolVersion":"1.0","parentRunId":"a","state":{"a":1},"messages":[{"role":"user","id":"m","content":"hi"}],` + own},
		{lineage.Normalized, request, `{"threadId":"t","runId":"new","protocolVersion":"1.0","parentRunId":"a","messages":[],` + own},
		{lineage.Full, "", `{"threadId":"t","runId":"new","parentRunId":"a","state":{"a":1},"messages":[{"role":"user","id":"m","content":"hi"}]}`},
	}
	for _, test := range tests {
		in, err := g.Fork(g.Find("t", "a")[0], "new", test.form, conversation(t, test.request))
		if err != nil {
			t.Fatal(err)
		}
		text := event.AppendRunInput(nil, in)
		if diff := cmp.Diff(test.want, string(text)); diff != "" {
			t.Error(diff)
		}
		if _, err := event.DecodeRunInput(text); err != nil {
			t.Error(err)
		}
	}
}

func TestForkErrors(t *testing.T) {
	tests := []struct{ runs, id, want string }{
		{"_", "new", `the run cannot be continued: it has no runId`},
		{"a", "", `the run cannot be continued: the id of the new run is empty`},
		{"a b", "b", `the run cannot be continued: the thread already has a run "b"; give another id`},
		{"a a", "new", `the run cannot be continued: a later run of the thread is also called "a"`},
	}
	for _, test := range tests {
		g := lineage.New(runs(test.runs))
		_, err := g.Fork(g.Nodes[0], test.id, lineage.Full, conversation(t, ""))
		if !errors.Is(err, lineage.ErrFork) || err.Error() != test.want {
			t.Errorf("%s: %v", test.runs, err)
		}
	}
}
