package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
)

// gzipped returns a gzip file in which each text can be decoded when it has arrived.
func gzipped(texts ...string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, text := range texts {
		io.WriteString(z, text)
		z.Flush()
	}
	z.Close()
	return b.String()
}

// reads reads a capture in a bubble of time and returns each read with its time.
func reads(t *testing.T, s stored, settings Settings, in string) (list []string) {
	t.Helper()
	dir := s.one(t)
	synctest.Test(t, func(t *testing.T) {
		c, err := load(t.Context(), dir, settings)
		if err != nil {
			t.Fatal(err)
		}
		var request *input
		if in != "" {
			if request, err = readInput([]byte(in)); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		body, _, err := c.open(t.Context(), start, settings.Speed, request)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		buf := make([]byte, 1000)
		for {
			n, err := body.Read(buf)
			if n > 0 {
				list = append(list, fmt.Sprintf("%v %s", time.Since(start), buf[:n]))
			}
			if err != nil {
				list = append(list, fmt.Sprintf("%v %v", time.Since(start), err))
				return
			}
		}
	})
	return list
}

// Each recorded read is a read of its own, at its time divided by the speed, and so is the
// end.
func TestPauses(t *testing.T) {
	s := stored{body: "data: 1\n\ndata: 2\n\n", arrivals: "4\t1000\n9\t1000\n18\t5000000\n", ended: 8 * time.Second}
	for speed, want := range map[float64][]string{
		1:   {"1ms data", "1ms : 1\n\n", "5s data: 2\n\n", "8s EOF"},
		2:   {"500µs data", "500µs : 1\n\n", "2.5s data: 2\n\n", "4s EOF"},
		0.5: {"2ms data", "2ms : 1\n\n", "10s data: 2\n\n", "16s EOF"},
		0:   {"0s data", "0s : 1\n\n", "0s data: 2\n\n", "0s EOF"},
	} {
		if diff := cmp.Diff(want, reads(t, s, Settings{Speed: speed}, "")); diff != "" {
			t.Errorf("speed %v (-want +got):\n%s", speed, diff)
		}
	}
	// Lines that are not arrivals end the pauses.
	for _, bad := range []string{"4\t1000\nx\t2000000\n18\t5000000\n", "4\t1000\n4\t2000000\n18\t5000000\n", "4\t1000\n\n", "4\t1000\n"} {
		s.arrivals = bad
		if diff := cmp.Diff([]string{"1ms data", "1ms : 1\n\ndata: 2\n\n", "8s EOF"}, reads(t, s, Settings{Speed: 1}, "")); diff != "" {
			t.Errorf("arrivals %q (-want +got):\n%s", bad, diff)
		}
	}
	s.arrivals = ""
	if diff := cmp.Diff([]string{"0s data: 1\n\ndata: 2\n\n", "0s EOF"}, reads(t, s, Settings{Speed: 1}, "")); diff != "" {
		t.Errorf("without arrivals (-want +got):\n%s", diff)
	}
}

// Events with replaced ids keep their times, also if the response was encoded.
func TestPausesWithIDs(t *testing.T) {
	const in = `{"threadId":"T","runId":"R2","messages":[]}`
	events := []string{`data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}` + "\n\n", "data: {}\n\n"}
	want := []string{`1s data: {"type":"RUN_STARTED","threadId":"T","runId":"R2"}` + "\n\n", "2s data: {}\n\n", "3s EOF"}
	plain := stored{body: strings.Join(events, ""), ended: 3 * time.Second}
	plain.arrivals = fmt.Sprintf("%d\t1000000\n%d\t2000000\n", len(events[0]), len(plain.body))
	if diff := cmp.Diff(want, reads(t, plain, Settings{Speed: 1, RequestIDs: true}, in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	coded := stored{body: gzipped(events...), ended: 3 * time.Second, headers: map[string]string{"content-encoding": "gzip"}}
	first := strings.Index(coded.body[1:], "\x00\x00\xff\xff") + 1 + 4
	coded.arrivals = fmt.Sprintf("%d\t1000000\n%d\t2000000\n", first, len(coded.body))
	if diff := cmp.Diff(want, reads(t, coded, Settings{Speed: 1, RequestIDs: true}, in)); diff != "" {
		t.Errorf("encoded (-want +got):\n%s", diff)
	}
}

// A pause ends with the context.
func TestPauseEnds(t *testing.T) {
	dir := stored{body: "data: 1\n\n", arrivals: "9\t3600000000\n"}.one(t)
	synctest.Test(t, func(t *testing.T) {
		c, err := load(t.Context(), dir, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		body, _, err := c.open(ctx, time.Now(), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer body.Close()
		if n, err := body.Read(make([]byte, 10)); n != 0 || err != context.DeadlineExceeded {
			t.Errorf("%d, %v", n, err)
		}
	})
}
