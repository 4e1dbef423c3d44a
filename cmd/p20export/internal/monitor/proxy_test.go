package monitor

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
)

var _ proxy.Observer = (*Proxy)(nil)

// The metrics count what the proxy reports, and no label comes from the traffic.
func TestMetrics(t *testing.T) {
	m := NewProxy(nil, nil, func() int64 { return 3 })
	m.Serving()
	for range 6 {
		m.Begun()
	}
	m.Passed(1000, 500*time.Microsecond)
	m.Passed(500, 250*time.Microsecond)
	m.Queued(1500)
	m.Queued(-1000)
	m.Ended(proxy.Exchange{Name: "a", End: capture.EndEOF, Status: 200, Events: 7, Stored: true})
	m.Ended(proxy.Exchange{End: capture.EndEOF, Status: 404, Events: -1})
	m.StoreFailed(errors.New("no space"))
	m.Ended(proxy.Exchange{Name: "b", End: capture.EndStorage, Events: 2, Stored: true})
	m.StoreFailed(errors.New("no space"))
	m.Ended(proxy.Exchange{End: capture.EndStorage})
	m.Ended(proxy.Exchange{End: capture.EndEOF, Recorded: true})
	m.Refused(421)
	m.Refused(421)
	m.Frozen("frozen")
	m.Frozen("refused")
	m.LogAppended(3, true)
	m.LogAppended(4, true)
	m.LogAppended(1, false)
	m.Logged("complete")
	m.LogFailed()
	m.LogRewound()
	m.NotLive()
	m.LogQueued(300)
	m.LogQueued(-100)
	m.SetBehind(func() (int, time.Duration) { return 2, 1500 * time.Millisecond })
	m.ThreadSealed()
	m.ThreadSealed()
	m.SealFailed()
	m.ThreadRewritten()
	m.SetUnsealed(func() (int, time.Duration) { return 3, 2500 * time.Millisecond })

	want := []string{
		`p20export_added_latency_seconds_sum 0.00075`,
		`p20export_added_latency_seconds_count 2`,
		`p20export_event_log_backlog 2`,
		`p20export_event_log_behind_seconds 1.5`,
		`p20export_event_log_captures_total{result="complete"} 1`,
		`p20export_event_log_entries_total{from="capture"} 1`,
		`p20export_event_log_entries_total{from="live"} 7`,
		`p20export_event_log_errors_total 1`,
		`p20export_event_log_not_live_total 1`,
		`p20export_event_log_queue_bytes 200`,
		`p20export_event_log_rewound_total 1`,
		`p20export_events_total 9`,
		`p20export_exchanges_open 1`,
		`p20export_exchanges_total{end="eof",recorded="failed"} 1`,
		`p20export_exchanges_total{end="eof",recorded="false"} 1`,
		`p20export_exchanges_total{end="eof",recorded="true"} 1`,
		`p20export_exchanges_total{end="storage",recorded="failed"} 1`,
		`p20export_exchanges_total{end="storage",recorded="true"} 1`,
		`p20export_frozen_total{verdict="frozen"} 1`,
		`p20export_frozen_total{verdict="refused"} 1`,
		`p20export_log_lines_dropped_total 3`,
		`p20export_queue_bytes 500`,
		`p20export_refused_total{status="421"} 2`,
		`p20export_response_bytes_total 1500`,
		`p20export_seal_backlog 3`,
		`p20export_seal_behind_seconds 2.5`,
		`p20export_seal_errors_total 1`,
		`p20export_seal_threads_rewritten_total 1`,
		`p20export_seals_total 2`,
		`p20export_store_errors_total 2`,
		`p20export_stored_captures_total 2`,
	}
	if diff := cmp.Diff(want, ownMetrics(t, m.Monitor)); diff != "" {
		t.Error(diff)
	}
	_, text := get(t, m.Monitor, "/metrics")
	for _, name := range []string{"go_goroutines", "process_open_fds", "p20export_added_latency_seconds_bucket{le=\"0.00025\"} 1"} {
		if !strings.Contains(text, name) {
			t.Errorf("there is no %s", name)
		}
	}
}

// The added latency is a native histogram too, which Prometheus asks for in protobuf.
func TestNativeHistogram(t *testing.T) {
	m := NewProxy(nil, nil, none)
	for i := range 1000 {
		m.Passed(1, time.Duration(i)*time.Microsecond)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	buckets := 0
	for _, f := range families {
		if f.GetName() == "p20export_added_latency_seconds" {
			h := f.GetMetric()[0].GetHistogram()
			if h.GetSampleCount() != 1000 || len(h.GetBucket()) == 0 {
				t.Errorf("%v", h)
			}
			buckets = len(h.GetPositiveDelta())
		}
	}
	if buckets < 20 {
		t.Errorf("the native histogram has %d buckets", buckets)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	m.Handler().ServeHTTP(w, r)
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "application/vnd.google.protobuf") {
		t.Errorf("content type %s", got)
	}
}
