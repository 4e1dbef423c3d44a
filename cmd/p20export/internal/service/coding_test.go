package service

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store/memory"
)

// Of a response that was cut off within its content coding, the events that could be decoded
// are appended, and the end. Without such an event, nothing is.
func TestLoggerCodingCutOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, result string
		want               []string
	}{
		{"in an event", testkit.SSE(testkit.Started, testkit.Snapshot) + "data: {", LogComplete, []string{`input {"threadId":"t","runId":"r"}`, "event " + testkit.Started, "event " + testkit.Snapshot, "end error"}},
		{"before an event", "data: {", LogNone, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := memory.New()
			r := record(t, log, func(w http.ResponseWriter, q *http.Request) {
				_, _ = io.Copy(io.Discard, q.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				_, _ = io.WriteString(z, c.text)
				_ = z.Flush()
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}, nil)
			r.logger.backlog.missed = false // the search at the start could find the capture too
			r.logger.Start()
			_, _ = io.Copy(io.Discard, r.post(t, "/").Body)
			<-r.ended
			r.logger.Finish(t.Context())
			if r.seen.of(c.result) != 1 || r.seen.of(LogFailed) != 0 {
				t.Errorf("%v\n%s", r.seen.counts, r.seen.text.String())
			}
			var got []string
			for _, entry := range entries(t, log, "t") { // STREAM KIND DATA TIME
				_, entry, _ = strings.Cut(entry, " ")
				got = append(got, entry[:strings.LastIndex(entry, " ")])
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
