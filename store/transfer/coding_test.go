package transfer_test

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/transfer"
)

// coded returns a response with a content coding. What is written is decodable after each
// event.
func coded(t *testing.T, coding string, events ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w interface {
		io.WriteCloser
		Flush() error
	}
	w = gzip.NewWriter(&out)
	if coding == "zstd" {
		z, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	for _, e := range events {
		if _, err := io.WriteString(w, "data: "+e+"\n\n"); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// codedCapture writes a capture by a proxy with a coded response.
func codedCapture(t *testing.T, coding string, response []byte, end capture.End) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "one")
	w, err := capture.Create(dir, capture.Settings{
		Source:  capture.Source{Kind: capture.KindProxy, Headers: map[string]string{"content-encoding": coding}},
		Framing: capture.SSE, StartedAt: begin, Request: []byte(input("t", "r")), Tool: capture.Tool{Name: "test", Version: "1"}, Arrivals: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(response); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(end); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Wherever a response was cut off within its content coding, the import appends complete
// events from its beginning and the end that the capture has. The row says where the response
// cannot be decoded any more.
func TestImportCodingCut(t *testing.T) {
	all := run("t", "r", 1)
	for _, coding := range []string{"gzip", "zstd"} {
		whole := coded(t, coding, all...)
		most := 0
		for size := range whole {
			if size%3 != 0 && size != len(whole)-1 {
				continue // each size writes a capture
			}
			log := newLog()
			dir := codedCapture(t, coding, whole[:size], capture.EndCancelled)
			for range 2 { // the second time, the log has everything
				row := transfer.Import(t.Context(), log, inputs.File(dir), transfer.ImportSettings{})
				if row.Verdict != project.Written || *row.End != capture.EndCancelled || !finding.Has(row.Findings, finding.CaptureCutShort) {
					t.Fatalf("%s, %d bytes: %s", coding, size, show(row))
				}
				if size > 0 && !finding.Has(row.Findings, finding.CodingDamaged) {
					t.Errorf("%s, %d bytes: %s", coding, size, show(row))
				}
			}
			list := entries(t, log, store.Key{Thread: "t"})
			if list[0].Kind != store.Input || list[len(list)-1].Kind != store.End || string(list[len(list)-1].Data) != "cancelled" {
				t.Fatalf("%s, %d bytes:\n%s", coding, size, dump(t, log))
			}
			events := list[1 : len(list)-1]
			for i, e := range events {
				if e.Kind != store.Event || string(e.Data) != all[i] {
					t.Errorf("%s, %d bytes: event %d is %s", coding, size, i, e.Data)
				}
			}
			if len(events) < most {
				t.Errorf("%s, %d bytes have %d events, and fewer bytes have %d", coding, size, len(events), most)
			}
			most = len(events)
			s, err := transfer.Find(t.Context(), log, inputs.File(dir), transfer.ImportSettings{})
			if err != nil || !s.Ended {
				t.Errorf("%s, %d bytes: Find = %+v, %v", coding, size, s, err)
			}
		}
		if most != len(all) {
			t.Errorf("%s: %d events, want %d", coding, most, len(all))
		}
	}
}

// A response that should be complete, or is damaged in another way, is still refused.
func TestImportCodingDamaged(t *testing.T) {
	for _, coding := range []string{"gzip", "zstd"} {
		whole := coded(t, coding, run("t", "r", 3)...)
		refused(t, newLog(), codedCapture(t, coding, whole[:len(whole)-1], capture.EndEOF), transfer.ImportSettings{}, finding.CodingDamaged)
		refused(t, newLog(), codedCapture(t, coding, append(bytes.Clone(whole), "garbage garbage"...), capture.EndCancelled), transfer.ImportSettings{}, finding.CodingDamaged)
		refused(t, newLog(), codedCapture(t, coding, []byte(strings.Repeat("data: {}\n\n", 9)), capture.EndCancelled), transfer.ImportSettings{}, finding.CodingDamaged)
		dir := codedCapture(t, coding, whole[:len(whole)-1], capture.EndCancelled)
		if err := flip(filepath.Join(dir, "response.sse"), -9); err != nil {
			t.Fatal(err)
		}
		refused(t, newLog(), dir, transfer.ImportSettings{}, finding.DigestMismatch)
	}
	dir := codedCapture(t, "br", []byte("x"), capture.EndCancelled)
	refused(t, newLog(), dir, transfer.ImportSettings{}, finding.CodingUnsupported)
}
