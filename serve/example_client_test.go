//go:build client

package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/serve"
)

// The agent of examples/resumable-chat sends its headers with each request, and can join a
// thread again whose last run has ended with an interrupt.
func TestClientAgent(t *testing.T) {
	t.Parallel()
	const thread = "thread"
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		run, outcome := "r1", `{"type":"interrupt","interrupts":[{"id":"i1","reason":"why"}]}`
		if strings.Contains(string(body), `"runId":"r2"`) {
			run, outcome = "r2", `{"type":"success"}`
		}
		_, _ = io.WriteString(w, testkit.SSE(started(thread, run), `{"type":"RUN_FINISHED","threadId":"thread","runId":"`+run+`","outcome":`+outcome+`}`))
	}))
	t.Cleanup(agent.Close)
	inner := startServe(t, newMemory(t), agent.URL, serve.Refuse).Config.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" {
			http.Error(w, `{"title":"Unauthorized"}`, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	t.Cleanup(front.CloseClientConnections)

	client, other := startNode(t, front.URL, thread), startNode(t, front.URL, thread)
	do := func(n *node, command, run, failure string) outcome {
		t.Helper()
		n.command(map[string]string{"command": command, "runId": run, "message": run})
		got := n.answer()
		if got.Error != failure && (failure == "" || !strings.Contains(got.Error, failure)) {
			t.Errorf("%s %s: the error is %q, want %q", command, run, got.Error, failure)
		}
		return got
	}
	do(client, "run", "r1", "")
	do(client, "join", "", "")
	do(client, "run", "r3", "not addressed by resume: i1")
	do(client, "restore", "r1", "")
	do(client, "run", "r3", "not addressed by resume: i1")
	do(client, "cancel", "r1", "the run has ended")
	do(other, "run", "r2", "") // it does not know of the interrupt
	same(t, do(client, "runs", "", "").End, "r1,r2")
	if got := do(client, "join", "", ""); !strings.Contains(got.Messages, "user-r2") {
		t.Errorf("the messages are %s", got.Messages)
	}
	do(client, "run", "r2", "run_differs")
}
