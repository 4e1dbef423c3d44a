package monitor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/serve"
)

var (
	_ serve.Observer = (*Serve)(nil)
	_ proxy.Observer = (*Recording)(nil)
)

// The metrics count what the server reports, and no label comes from the traffic.
func TestServeMetrics(t *testing.T) {
	s := NewServe(func() error { return nil }, func() serve.Stats { return serve.Stats{Runs: 1, Bytes: 4096} }, nil, none)
	s.Serving()
	s.RunEnded(serve.Finished, 2*time.Second)
	s.RunEnded(serve.Cancelled, time.Second)
	s.RunsQueued(4)
	s.RunsQueued(-1)
	s.Appended(7, time.Millisecond)
	s.Appended(1, 3*time.Millisecond)
	s.AppendFailed(errors.New("no space"))
	s.OrphansClosed(2)
	s.ThreadRewound()
	s.ThreadSealed()
	for range 2 {
		s.Reading(serve.Connect, 1)
	}
	s.Reading(serve.Connect, -1)
	s.Reading(serve.Events, 1)
	s.Joined(serve.Connect, 5*time.Millisecond)
	s.Delivered(250 * time.Microsecond)
	s.Sent(1500)
	s.ReaderDropped()
	s.Refused("thread_busy")
	s.Exchanges.Begun()
	s.Exchanges.Ended(proxy.Exchange{Name: "a", End: capture.EndEOF, Status: 200, Events: 7, Stored: true})

	want := []string{
		`p20export_added_latency_seconds_sum 0`,
		`p20export_added_latency_seconds_count 0`,
		`p20export_events_total 7`,
		`p20export_exchanges_open 0`,
		`p20export_exchanges_total{end="eof",recorded="true"} 1`,
		`p20export_log_lines_dropped_total 0`,
		`p20export_queue_bytes 0`,
		`p20export_response_bytes_total 0`,
		`p20export_seal_backlog 0`,
		`p20export_seal_behind_seconds 0`,
		`p20export_seal_errors_total 0`,
		`p20export_seal_threads_rewritten_total 0`,
		`p20export_seals_total 1`,
		`p20export_serve_append_errors_total 1`,
		`p20export_serve_append_seconds_sum 0.004`,
		`p20export_serve_append_seconds_count 2`,
		`p20export_serve_delivery_seconds_sum 0.00025`,
		`p20export_serve_delivery_seconds_count 1`,
		`p20export_serve_entries_total 8`,
		`p20export_serve_join_seconds_sum{view="connect"} 0.005`,
		`p20export_serve_join_seconds_count{view="connect"} 1`,
		`p20export_serve_orphans_closed_total 2`,
		`p20export_serve_reader_bytes 4096`,
		`p20export_serve_readers{view="connect"} 1`,
		`p20export_serve_readers{view="events"} 1`,
		`p20export_serve_readers_dropped_total 1`,
		`p20export_serve_refused_total{code="thread_busy"} 1`,
		`p20export_serve_run_seconds_sum 3`,
		`p20export_serve_run_seconds_count 2`,
		`p20export_serve_runs_active 1`,
		`p20export_serve_runs_queued 3`,
		`p20export_serve_runs_total{outcome="cancelled"} 1`,
		`p20export_serve_runs_total{outcome="finished"} 1`,
		`p20export_serve_sent_bytes_total 1500`,
		`p20export_serve_threads_rewound_total 1`,
		`p20export_store_errors_total 0`,
		`p20export_stored_captures_total 1`,
	}
	if diff := cmp.Diff(want, ownMetrics(t, s.Monitor)); diff != "" {
		t.Error(diff)
	}
}

// A log that cannot be used makes the server not ready, in words of its own.
func TestServeReady(t *testing.T) {
	broken := errors.New("locked")
	var log strings.Builder
	s := NewServe(func() error { return broken }, nil, NewLogger(&log, "text"), none)
	s.Serving()
	if status, text := get(t, s.Monitor, "/readyz"); status != 503 || text != "the log cannot be used\n" {
		t.Errorf("status %d: %s", status, text)
	}
	broken = nil
	s.AppendFailed(errors.New("no space"))
	if status, _ := get(t, s.Monitor, "/readyz"); status != 503 {
		t.Errorf("status %d after a failed append", status)
	}
	s.Appended(1, 0)
	if status, text := get(t, s.Monitor, "/readyz"); status != 200 || !strings.Contains(log.String(), `level=INFO msg="the log can be used again"`) {
		t.Errorf("status %d: %s\n%s", status, text, log.String())
	}
}
