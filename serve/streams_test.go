package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// append appends entries of a stream to a thread.
func appendTo(t *testing.T, log store.Log, thread, stream string, entries ...string) {
	t.Helper()
	key := store.Key{Thread: thread}
	var list []store.Entry
	for i, text := range entries {
		kind, data, _ := strings.Cut(text, " ")
		list = append(list, store.Entry{Stream: stream, Kind: store.Kind(kind), Data: []byte(data), Arrived: time.Unix(int64(i), 0).UTC()})
	}
	last, _ := log.Thread(t.Context(), key)
	if _, err := log.Append(t.Context(), key, last.Last, list); err != nil {
		t.Fatal(err)
	}
}

// A reader of a durable stream.
type durable struct {
	p      *process
	path   string
	offset string
}

// next reads once, and returns the messages and the headers.
func (d *durable) next(live string) (messages []string, header http.Header) {
	d.p.t.Helper()
	path := d.path + "?offset=" + d.offset
	if live != "" {
		path += "&live=" + live
	}
	answer := d.p.get(path)
	if answer.status == http.StatusOK {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(answer.text()), &list); err != nil {
			d.p.t.Fatal(err)
		}
		for _, m := range list {
			messages = append(messages, string(m))
		}
	} else if answer.status != http.StatusNoContent {
		d.p.t.Fatalf("%s: status %d: %s", path, answer.status, answer.text())
	}
	if next := answer.header.Get("Stream-Next-Offset"); next < d.offset && d.offset != "now" {
		d.p.t.Errorf("%s: the offset goes back to %s", path, next)
	} else {
		d.offset = next
	}
	return messages, answer.header
}

// Each message is an event with its bytes, and what is not JSON is a string. The stream of a run
// has its events only, and is closed after the last one; that of the thread never is.
func TestStreams(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		odd := "{ \"type\":\"CUSTOM\",\n\"value\":1, \"value\":2 }"
		first := []string{started("t", "r"), odd, finished("t", "r")}
		second := []string{started("t", "s"), `{"type":`, "\xff", step(1)}
		third := []string{started("t", "r"), `{"type":"RUN_ERROR","message":"no"}`}
		appendTo(t, log, "t", "proxy:1", "input {}", "event "+first[0], "event "+first[1], "event "+first[2], "event "+second[0], "event "+second[1], "event "+second[2], "event "+second[3], "end eof")
		p := start(t, log, nil, serve.Settings{PollTime: 10 * time.Millisecond})
		second[1], second[2] = `"{\"type\":"`, `"`+"\ufffd"+`"`
		for _, stream := range []struct {
			path   string
			want   []string
			closed string
		}{
			{"/streams/t", append(append([]string{}, first...), second...), ""},
			{"/streams/t/r", first, "true"},
			{"/streams/t/s", second, "true"},
		} {
			d := &durable{p: p, path: stream.path, offset: "-1"}
			got, header := d.next("")
			same(t, got, stream.want)
			same(t, []string{header.Get("Stream-Closed"), header.Get("Stream-Up-To-Date")}, []string{stream.closed, "true"})
			for _, live := range []string{"", "long-poll"} {
				got, header = d.next(live)
				same(t, got, nil)
				same(t, header.Get("Stream-Closed"), stream.closed)
			}
			text := p.get(stream.path + "?offset=-1&live=sse").text()
			if want := "data:" + strings.ReplaceAll(strings.Join(stream.want, ",\x00"), "\n", "\ndata:"); !strings.Contains(text, strings.ReplaceAll(want, "\x00", "\ndata:")) {
				t.Errorf("%s: the server-sent events are %s", stream.path, text)
			}
			if strings.Contains(text, `"streamClosed":true`) != (stream.closed != "") {
				t.Errorf("%s: %s", stream.path, text)
			}
			head := p.do(http.MethodHead, stream.path, "")
			same(t, []string{head.header.Get("Stream-Closed"), head.header.Get("Cache-Control")}, []string{stream.closed, "no-store"})
			d.offset = head.header.Get("Stream-Next-Offset")
			got, header = d.next("")
			same(t, got, nil)
			same(t, header.Get("Stream-Closed"), stream.closed)
			d.offset = "now"
			got, header = d.next("")
			same(t, got, nil)
			same(t, header.Get("Stream-Closed"), stream.closed)
		}
		appendTo(t, log, "t", "proxy:2", "event "+third[0], "event "+third[1])
		got, header := (&durable{p: p, path: "/streams/t/r", offset: "-1"}).next("") // the last with this id
		same(t, got, third)
		same(t, header.Get("Stream-Closed"), "true")
	})
}

// A reader of a run that goes on gets each event once, and a long thread in several parts.
func TestStreamsLive(t *testing.T) {
	t.Parallel()
	log, a := newMemory(t), newAgent(t)
	p := start(t, log, a, serve.Settings{})
	c, answer := p.begin(a, "t", "r")
	d := &durable{p: p, path: "/streams/t/r", offset: "-1"}
	got, header := d.next("long-poll")
	same(t, got, []string{started("t", "r")})
	same(t, header.Get("Stream-Closed"), "")
	want := got
	big := `{"type":"CUSTOM","name":"big","value":"` + strings.Repeat("x", 50_000) + `"}`
	for i := range 20 {
		c.send(step(i), big)
		want = append(want, step(i), big)
		answer.events(2)
	}
	c.send(finished("t", "r"))
	c.end()
	want = append(want, finished("t", "r"))
	all, requests := append([]string{}, got...), 0
	for header.Get("Stream-Closed") == "" {
		requests++
		got, header = d.next("long-poll")
		all = append(all, got...)
	}
	same(t, all, want)
	all, requests, d.offset = nil, 0, "-1"
	for header.Get("Stream-Up-To-Date") == "" || requests == 0 {
		requests++
		got, header = d.next("")
		all = append(all, got...)
	}
	if same(t, all, want); requests < 5 {
		t.Errorf("a megabyte came in %d parts", requests)
	}
}

// The stream of a run is closed while the response with another run goes on, and readers of one
// never get events of the other.
func TestStreamsOfOneResponse(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	first := []string{started("t", "r"), finished("t", "r")}
	second := []string{started("t", "s"), step(1)}
	appendTo(t, log, "t", "proxy:1", "input {}", "event "+first[0], "event "+first[1], "event "+second[0], "event "+second[1])
	p := start(t, log, nil, serve.Settings{PollTime: 10 * time.Millisecond})
	closed := func(path, live string, want string, events ...string) {
		t.Helper()
		d := &durable{p: p, path: path, offset: "now"}
		got, header := d.next(live)
		same(t, got, events)
		same(t, header.Get("Stream-Closed"), want)
	}
	whole := &durable{p: p, path: "/streams/t", offset: "-1"}
	whole.next("")
	for _, offset := range []string{whole.offset, p.do(http.MethodHead, "/streams/t/r", "").header.Get("Stream-Next-Offset")} {
		got, header := (&durable{p: p, path: "/streams/t/r", offset: offset}).next("long-poll")
		same(t, got, nil)
		same(t, header.Get("Stream-Closed"), "true")
	}
	closed("/streams/t/r", "", "true")
	closed("/streams/t/r", "long-poll", "true")
	closed("/streams/t/s", "long-poll", "")
	same(t, p.do(http.MethodHead, "/streams/t/s", "").header.Get("Stream-Closed"), "")
	got, _ := (&durable{p: p, path: "/streams/t/s", offset: "-1"}).next("")
	same(t, got, second)
}

// A reader whose event the log has lost begins again.
func TestStreamsRewound(t *testing.T) {
	t.Parallel()
	log := memory.New()
	t.Cleanup(func() { log.Close() })
	appendTo(t, log, "t", "proxy:1", "event "+started("t", "r"), "event "+step(1))
	p := start(t, log, nil, serve.Settings{})
	d := &durable{p: p, path: "/streams/t", offset: "-1"}
	d.next("")
	offset := d.offset
	position, _, _ := strings.Cut(offset, "-")
	for _, live := range []string{"", "&live=long-poll", "&live=sse"} {
		p.get(fmt.Sprintf("/streams/t?offset=%s-%08x%s", position, 7, live)).want(http.StatusGone, "offset_gone")
	}
	for _, wrong := range []string{"", "0", "1-", offset + "0", "0000000000000000-00000001", "0000000000000002-00000000", "NOW", "a,b"} {
		p.get("/streams/t?offset="+wrong).want(http.StatusBadRequest, "invalid_query")
	}
	p.get("/streams/t?live=sse").want(http.StatusBadRequest, "live needs offset")
	p.get("/streams/t?offset=-1&live=other").want(http.StatusBadRequest, "live is")
}
