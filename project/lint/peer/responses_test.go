//go:build peer

package peer_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/internal/testkit"
)

// run is a run of five events.
var run = []string{
	`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"TEXT_MESSAGE_START","messageId":"m"}`, `{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Hi"}`,
	`{"type":"TEXT_MESSAGE_END","messageId":"m"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
}

// responses returns captures of what is wrong with a transport, which no committed capture
// has.
func responses(t *testing.T) (all []stream) {
	body := testkit.SSE(run...)
	first := strings.Index(body, "\n\n") + 2
	for _, r := range []struct {
		name, contentType, body string
		split                   int // where the first read ends, or 0
		first, second           time.Duration
		end                     capture.End
	}{
		{"another content type", "text/plain", body, 0, 0, 0, capture.EndEOF},
		{"a line without its field", "text/event-stream", body[:first] + run[1] + "\n\n" + body[first:], first, 0, time.Second, capture.EndEOF},
		{"no blank line at the end", "text/event-stream", strings.TrimSuffix(body, "\n"), first, 0, time.Second, capture.EndEOF},
		{"in one piece after three seconds", "text/event-stream", body, 0, 3 * time.Second, 0, capture.EndEOF},
		{"silent for 70 seconds", "text/event-stream", body, first, 0, 70 * time.Second, capture.EndEOF},
		{"silent for 40 seconds", "text/event-stream", body, first, 0, 40 * time.Second, capture.EndEOF},
		{"cut in the run", "text/event-stream", body[:first], first / 2, 0, time.Second, capture.EndError},
	} {
		dir := filepath.Join(t.TempDir(), "capture")
		start := time.Now().Add(-r.first - r.second)
		w, err := capture.Create(dir, capture.Settings{
			Source:  capture.Source{Kind: capture.KindHTTP, Method: "POST", URL: "http://agent.invalid/", Status: new(200), ContentType: r.contentType},
			Framing: capture.SSE, StartedAt: start, Tool: capture.Tool{Name: "peer", Version: "1"}, Arrivals: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		reads := []capture.Arrival{{Bytes: len(r.body) - r.split, At: start.Add(r.first + r.second)}}
		if r.split > 0 {
			reads = append([]capture.Arrival{{Bytes: r.split, At: start.Add(r.first)}}, reads...)
		}
		if _, err := w.WriteArrived([]byte(r.body), reads); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Close(r.end); err != nil {
			t.Fatal(err)
		}
		s := captured(t, dir)
		s.kind, s.name = "responses", r.name
		all = append(all, s)
	}
	return all
}
