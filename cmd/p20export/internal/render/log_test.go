package render

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/cmd/p20export/internal/render/rows"
	"github.com/p20export/p20export/cmd/p20export/internal/render/text"
	"github.com/p20export/p20export/project/record"
	"github.com/p20export/p20export/store"
)

// A long list has one heading, and is printed before it is complete.
func TestLongList(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := New(&out, Text, record.Tool{})
	const threads = 5*text.BlockRows + 3
	for i := range threads {
		p.LogThread(store.Thread{Key: store.Key{Thread: fmt.Sprint("thread-", i)}, Last: 1, UpdatedAt: time.Unix(0, 0)}, false)
		if n := p.Waiting(); n > text.BlockRows {
			t.Fatalf("%d rows are in memory", n)
		}
	}
	if err := p.Close(nil); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1+threads || !strings.HasPrefix(lines[0], "THREAD ") || !strings.HasPrefix(lines[threads], fmt.Sprintf("thread-%d ", threads-1)) {
		t.Errorf("%d lines for %d threads, from %q to %q", len(lines), threads, lines[0], lines[len(lines)-1])
	}
}

// Lists fit into lines for any ids, and all parts of an id are there.
func TestListsOfLongIDs(t *testing.T) {
	t.Parallel()
	id := func(n int) string { return strings.Repeat("0123456789", n)[:n] }
	for _, n := range []int{1, 36, 40, 50, text.WidestCell, text.WidestCell + 1, 100, text.LineColumns, 300, store.MaxIDBytes} {
		var runs, threads bytes.Buffer
		list, other := New(&runs, Text, record.Tool{}), New(&threads, Text, record.Tool{})
		count := 20
		if n == 36 {
			count += text.BlockRows
		}
		for i := range count {
			key := store.Key{Tenant: "t" + id(n-1), Thread: fmt.Sprint("T", i%7, id(n))}
			list.LogRun(store.Run{Key: key, ID: "r" + id(n-1), Parent: "p" + id(n-1), Start: 1 << 40, Last: 1 << 41, Bytes: 1 << 50, End: store.Interrupted}, n%2 == 0)
			other.LogThread(store.Thread{Key: key, Last: 1, UpdatedAt: time.Unix(0, 0), DeletedAt: time.Unix(0, 0)}, true)
		}
		for out, p := range map[*bytes.Buffer]*Printer{&runs: list, &threads: other} {
			if err := p.Close(nil); err != nil {
				t.Fatal(err)
			}
			checkWidth(t, out.String())
			joined := strings.Join(strings.Fields(out.String()), "")
			for _, want := range []string{"p" + id(n-1), "t" + id(n-1)} {
				if got := strings.Count(joined, want); n > 10 && got != 0 && got != count {
					t.Errorf("ids of %d bytes: %s occurs %d times in %d rows", n, want, got, count)
				}
			}
		}
	}
}

// Ids of 36 characters, as many clients make them, leave each run on one line or, with a
// parent, on two.
func TestRunsOfUUIDs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := New(&out, Text, record.Tool{})
	key := store.Key{Thread: "2b1f6a52-7b1c-4d0a-9e57-0c2f1f0e8a11"}
	const first, second = "0197f0d4-9f3b-7c55-8a4e-5b7d2d1c9e01", "0197f0d4-9f3b-7c55-8a4e-5b7d2d1c9e02"
	p.LogRun(store.Run{Key: key, ID: first, Start: 1, Entries: 2, Bytes: 161, End: store.Finished, StartedAt: time.Unix(0, 0)}, true)
	p.LogRun(store.Run{Key: key, ID: second, Parent: first, Start: 3, Entries: 2, Bytes: 209, End: store.Interrupted, StartedAt: time.Unix(0, 0)}, true)
	if err := p.Close(nil); err != nil {
		t.Fatal(err)
	}
	want := `RUN                                   PARENT         AT     EVENTS      BYTES  END          STARTED
thread 2b1f6a52-7b1c-4d0a-9e57-0c2f1f0e8a11
0197f0d4-9f3b-7c55-8a4e-5b7d2d1c9e01                  1          2        161  finished     1970-01-01T00:00:00Z
0197f0d4-9f3b-7c55-8a4e-5b7d2d1c9e02  0197f0d4-9f3b-7c55-8a4e-5b7d2d1c9e01
                                                      3          2        209  interrupted  1970-01-01T00:00:00Z
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// The row of an entry has JSON as deep as package jsontext can write it, and deeper JSON as
// text.
func TestLogEntryDepth(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, 9998, 9999, 10_000, 10_001} {
		var out bytes.Buffer
		p := New(&out, JSON, record.Tool{})
		data := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		p.LogEntry(&store.Entry{Position: 1, Kind: store.Event, Data: []byte(data)})
		if err := p.Close(nil); err != nil {
			t.Fatal(err)
		}
		asData, asText := strings.Contains(out.String(), `"data":`+data), strings.Contains(out.String(), `"text":"`+data+`"`)
		if asData != (depth < 10_000) || asText == asData {
			t.Errorf("depth %d: as data %v, as text %v", depth, asData, asText)
		}
	}
}

// An entry that is not JSON is printed as package json would encode its text.
func TestLogEntryText(t *testing.T) {
	t.Parallel()
	check := func(data string) error {
		var out bytes.Buffer
		p := New(&out, JSON, record.Tool{})
		p.LogEntry(&store.Entry{Position: 1, Stream: "s", Kind: store.Event, Data: []byte(data)})
		if err := p.Close(nil); err != nil {
			return err
		}
		quoted, _ := jsontext.AppendQuote(nil, data) // the error says that it is not valid
		var want bytes.Buffer
		w := bufio.NewWriter(&want)
		fmt.Fprint(w, `{"type":"log_entry","position":1,"run":null,"stream":"s","kind":"event","event":null,"arrived_at":null,"data":null,"text":`)
		(&rows.Escaper{W: w}).Write(quoted)
		fmt.Fprintln(w, "}")
		w.Flush()
		if !bytes.Equal(out.Bytes(), want.Bytes()) {
			return fmt.Errorf("%.80q is printed as %.200q, want %.200q", data, out.String(), want.String())
		}
		return nil
	}
	// Characters of any size, and broken ones, at the ends of the parts in which it is escaped.
	for _, char := range []string{"x", "\x01", "\"", "\u007f", "é", "€", "\U0001f600", "\xff", "\x80\x80\x80\x80\x80", "\xe2\x82", "\xf0\x9f\x98", "\xed\xa0\x80"} {
		for pad := range 8 {
			if err := check(strings.Repeat("p", pad) + strings.Repeat(char, 10_000)); err != nil {
				t.Error(err)
			}
		}
	}
}

// The JSON of a large entry is not in memory: it can be six times as long.
func TestLogEntryMemory(t *testing.T) {
	const size = 16 << 20
	e := &store.Entry{Position: 1, Stream: "s", Kind: store.Event, Data: bytes.Repeat([]byte{1}, size)}
	p := New(io.Discard, JSON, record.Tool{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.LogEntry(e)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 3*size {
		t.Errorf("%d bytes are allocated for an entry of %d", n, size)
	}
	if err := p.Close(nil); err != nil {
		t.Fatal(err)
	}
}

// Both framings of log cat have exactly the events that are printed, for any data,
// and data without line breaks is printed byte for byte.
func TestLogEventFraming(t *testing.T) {
	t.Parallel()
	data := rapid.OneOf(
		rapid.SliceOf(rapid.SampledFrom([]byte("\r\n\" {}:,\\a\xff1"))),
		rapid.Map(rapid.SampledFrom([]string{`{"a":1}`, "{\n\"a\": \"b c\"\r\n}", "[1,\n2]", "data: x", "", "id: 7"}), func(s string) []byte { return []byte(s) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(data, 1, 5).Draw(t, "events")
		var lines, stream bytes.Buffer
		for framing, out := range map[capture.Framing]*bytes.Buffer{capture.NDJSON: &lines, capture.SSE: &stream} {
			p := New(out, Text, record.Tool{})
			for i, e := range events {
				p.LogEvent(&store.Entry{Position: int64(i + 1), Kind: store.Event, Data: e}, framing)
			}
			if err := p.Close(nil); err != nil {
				t.Fatal(err)
			}
		}
		got := bytes.Split(bytes.TrimSuffix(lines.Bytes(), []byte("\n")), []byte("\n"))
		if len(got) != len(events) {
			t.Fatalf("%d lines for %d events: %q", len(got), len(events), lines.Bytes())
		}
		rest := stream.Bytes()
		for i, e := range events {
			if !bytes.ContainsAny(e, "\r\n") && !bytes.Equal(got[i], e) {
				t.Fatalf("event %q is the line %q", e, got[i])
			}
			text, after, found := bytes.Cut(rest, []byte("\n\n"))
			text, ok := bytes.CutPrefix(text, fmt.Appendf(nil, "id: %d\ndata: ", i+1))
			if !found || !ok {
				t.Fatalf("event %d is missing in %q", i+1, stream.Bytes())
			}
			if text = bytes.ReplaceAll(text, []byte("\ndata: "), []byte("\n")); !bytes.ContainsRune(e, '\r') && !bytes.Equal(text, e) {
				t.Fatalf("event %q is %q as a server-sent event", e, text)
			}
			rest = after
		}
		if len(rest) > 0 {
			t.Fatalf("%q follows the events", rest)
		}
	})
}
