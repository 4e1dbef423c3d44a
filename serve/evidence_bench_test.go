package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// BenchmarkCaptureOf finds the capture of a run among 100,000, which began one each 10
// milliseconds.
func BenchmarkCaptureOf(b *testing.B) {
	const captures, between = 100_000, 10 * time.Millisecond
	root, err := os.OpenRoot(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w, err := capture.CreateIn(root, "first", capture.Settings{
		Source: capture.Source{Kind: capture.KindProxy}, Framing: capture.SSE, StartedAt: at, Request: []byte("{}"), Arrivals: true,
		Labels: map[string]string{capture.StreamLabel: "s", capture.ThreadLabel: "other"}, Tool: capture.Tool{Name: "test", Version: "1"},
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := w.Close(capture.EndEOF); err != nil {
		b.Fatal(err)
	}
	manifest, err := root.ReadFile(filepath.Join("first", capture.ManifestName))
	if err != nil {
		b.Fatal(err)
	}
	for i := range captures {
		name := at.Add(time.Duration(i)*between).Format("20060102T150405.000000Z-") + "abcdefghij"
		if err := root.Mkdir(name, 0o700); err != nil {
			b.Fatal(err)
		}
		if err := root.WriteFile(filepath.Join(name, capture.ManifestName), manifest, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	log := memory.New()
	defer log.Close()
	sent := at.Add(captures / 2 * between)
	for _, first := range []time.Duration{100 * time.Millisecond, 10 * time.Second} {
		key := store.Key{Thread: fmt.Sprint(first)}
		if _, err := log.Append(b.Context(), key, 0, []store.Entry{
			{Stream: "s", Kind: store.Input, Arrived: sent, Data: []byte("{}")},
			{Stream: "s", Kind: store.Event, Arrived: sent.Add(first), Data: []byte(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`)},
			{Stream: "s", Kind: store.Event, Arrived: sent.Add(first), Data: []byte(`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`)},
		}); err != nil {
			b.Fatal(err)
		}
		s, err := New(Settings{Log: log, Exchanges: proxy.Settings{Captures: root}})
		if err != nil {
			b.Fatal(err)
		}
		// There is none, so all manifests of the time are read.
		b.Run("none, first event after "+first.String(), func(b *testing.B) {
			for b.Loop() {
				for run, err := range log.Runs(b.Context(), store.RunQuery{Tenant: &key.Tenant, Thread: &key.Thread}) {
					if err != nil {
						b.Fatal(err)
					}
					if _, err := s.captureOf(b.Context(), &run); err != errNotRecorded {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
