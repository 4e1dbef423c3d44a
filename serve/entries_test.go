package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/transfer"
)

// entryPage is a page of entries.
type entryPage struct {
	ThreadID              string `json:"thread_id"`
	First, Last           int64
	Types, Streams, Kinds []string
	Type, Kind, Stream    []int
	Run, Bytes            []int64
	Arrived               []*int64
}

// rows returns the entries of a page as texts.
func (e *entryPage) rows(t *testing.T) (list []string) {
	t.Helper()
	n := len(e.Type)
	for _, length := range []int{len(e.Kind), len(e.Stream), len(e.Run), len(e.Bytes), len(e.Arrived)} {
		if length != n {
			t.Fatalf("columns have %d and %d elements", n, length)
		}
	}
	for i := range n {
		name, arrived := "", "null"
		if e.Type[i] >= 0 {
			name = e.Types[e.Type[i]]
		}
		if e.Arrived[i] != nil {
			arrived = fmt.Sprint(*e.Arrived[i])
		}
		list = append(list, fmt.Sprint(e.First+int64(i), e.Kinds[e.Kind[i]], e.Streams[e.Stream[i]], name, e.Run[i], e.Bytes[i], arrived))
	}
	return list
}

// rowsOf returns the entries of a thread as texts, and their data.
func rowsOf(t *testing.T, log store.Log, key store.Key) (rows []string, data [][]byte) {
	t.Helper()
	for e, err := range log.Read(t.Context(), key, 0) {
		if err != nil {
			t.Fatal(err)
		}
		arrived := "null"
		if !e.Arrived.IsZero() {
			arrived = fmt.Sprint(e.Arrived.UnixMicro())
		}
		rows = append(rows, fmt.Sprint(e.Position, string(e.Kind), e.Stream, e.Type, e.Run, len(e.Data), arrived))
		data = append(data, bytes.Clone(e.Data))
	}
	return rows, data
}

// many fills a thread with entries of all kinds in two interleaved streams.
func many(t *testing.T, log store.Log, key store.Key) {
	t.Helper()
	at := time.Date(1969, 1, 2, 3, 4, 5, 6000, time.UTC)
	large := `{"type":"CUSTOM","value":"` + strings.Repeat("é", 1<<20) + `"}`
	var list []store.Entry
	add := func(stream string, kind store.Kind, at time.Time, data string) {
		list = append(list, store.Entry{Stream: stream, Kind: kind, Arrived: at, Data: []byte(data)})
	}
	add("a", store.Input, at, input(key.Thread, "r"))
	add("a", store.Event, at, started(key.Thread, "r"))
	add("b", store.Event, time.Time{}, "")
	add("b", store.Event, at, "\xff\x00 no JSON")
	add("b", store.Event, at, started(key.Thread, "q"))
	add("a", store.Event, at, large)
	add("b", store.Event, at, `{"type":"`+"\u202e<script>"+`"}`)
	add("a", store.Closing, at, `{"type":"RUN_ERROR","message":"no"}`)
	add("a", store.End, at, "cancelled")
	add("b", store.Event, at, finished(key.Thread, "q"))
	add("b", store.End, at, "eof")
	if _, err := log.Append(t.Context(), key, 0, list); err != nil {
		t.Fatal(err)
	}
}

// The index of a thread describes its entries, and each can be read byte for byte, before and
// after they are packed.
func TestEntries(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		key := store.Key{Thread: "a/b\u202e"}
		path := "/threads/a%2Fb%E2%80%AE/entries"
		many(t, log, key)
		p := start(t, log, nil, serve.Settings{})
		want, data := rowsOf(t, log, key)
		check := func() {
			t.Helper()
			for limit := range len(want) + 1 {
				var got []string
				for after := 0; after < len(want); after = len(got) {
					var page entryPage
					p.get(fmt.Sprintf("%s?after=%d&limit=%d", path, after, limit+1)).decode(&page)
					if page.ThreadID != key.Thread || page.First != int64(after+1) || page.Last != int64(len(want)) || len(page.Type) == 0 {
						t.Fatalf("%+v", page)
					}
					got = append(got, page.rows(t)...)
				}
				same(t, got, want)
			}
			for i, d := range data {
				answer := p.get(fmt.Sprintf("%s/%d", path, i+1))
				if got := answer.text(); got != string(d) {
					t.Errorf("entry %d is %.100q, want %.100q", i+1, got, d)
				}
				h := answer.header
				same(t, []string{h.Get("Content-Type"), h.Get("X-Content-Type-Options"), h.Get("Content-Disposition")},
					[]string{"application/octet-stream", "nosniff", fmt.Sprintf(`attachment; filename="entry-%d"`, i+1)})
			}
		}
		check()
		packed, err := log.Pack(t.Context(), key)
		if err != nil || packed.Entries == 0 {
			t.Fatalf("%+v, %v", packed, err)
		}
		check()

		var page entryPage
		for _, after := range []string{"11", "12", "9007199254740991"} {
			p.get(path + "?after=" + after).decode(&page)
			if len(page.Type) != 0 || page.Last != 11 {
				t.Errorf("after %s: %+v", after, page)
			}
		}
		if answer := p.do(http.MethodHead, path+"/1", ""); answer.status != 200 || answer.header.Get("Content-Length") != fmt.Sprint(len(data[0])) || answer.text() != "" {
			t.Errorf("HEAD: status %d, %v", answer.status, answer.header)
		}
		for _, c := range []struct {
			path   string
			status int
			code   serve.Refusal
		}{
			{path + "?after=-1", 400, serve.InvalidQuery}, {path + "?after=x", 400, serve.InvalidQuery}, {path + "?after=9007199254740992", 400, serve.InvalidQuery},
			{path + "?after=1.5", 400, serve.InvalidQuery}, {path + "?limit=0", 400, serve.InvalidQuery}, {path + "?limit=100001", 400, serve.InvalidQuery},
			{path + "/0", 400, serve.InvalidID}, {path + "/-1", 400, serve.InvalidID}, {path + "/x", 400, serve.InvalidID}, {path + "/1e3", 400, serve.InvalidID},
			{path + "/9007199254740992", 400, serve.InvalidID}, {path + "/12", 404, serve.NotFound}, {path + "/9007199254740991", 404, serve.NotFound},
			{path + "/", 404, serve.NotFound}, {"/threads/none/entries", 404, serve.UnknownThread}, {"/threads/none/entries/1", 404, serve.UnknownThread},
			{"/threads/none/export", 404, serve.UnknownThread}, {"/threads?order=newest&after=x", 400, serve.InvalidCursor}, {"/threads?order=newest&after=.x", 400, serve.InvalidCursor},
			{"/threads?order=newest&after=1.", 400, serve.InvalidCursor}, {"/threads?order=newest&after=99999999999999999999.x", 400, serve.InvalidCursor},
			{"/threads?order=newest&after=1.%00", 400, serve.InvalidID}, {"/threads?order=newest&limit=1001", 400, serve.InvalidQuery}, {"/threads?order=Newest", 400, serve.InvalidQuery},
		} {
			p.get(c.path).want(c.status, `"code":"`+string(c.code)+`"`)
		}
		if _, err := log.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		for _, rest := range []string{"", "/1", "/12"} {
			p.get(path+rest).want(http.StatusGone, "thread_deleted")
		}
		p.get("/threads/a%2Fb%E2%80%AE/export").want(http.StatusGone, "thread_deleted")
	})
}

// Ids of streams are as long as their writer likes. They do not make a page large.
func TestEntriesOfLongStreams(t *testing.T) {
	t.Parallel()
	log, key := memory.New(), store.Key{Thread: "t"}
	var list []store.Entry
	for i := range 6000 {
		list = append(list, store.Entry{Stream: fmt.Sprintf("%0*d", store.MaxIDBytes, i), Kind: store.Event, Data: []byte("{}")})
	}
	if _, err := log.Append(t.Context(), key, 0, list); err != nil {
		t.Fatal(err)
	}
	p := start(t, log, nil, serve.Settings{})
	var got []string
	pages := 0
	for ; len(got) < len(list); pages++ {
		var page entryPage
		p.get(fmt.Sprintf("/threads/t/entries?limit=100000&after=%d", len(got))).decode(&page)
		if len(page.Type) == 0 || len(page.Streams) > 4<<10+1 {
			t.Fatalf("a page has %d entries of %d streams", len(page.Type), len(page.Streams))
		}
		got = append(got, page.rows(t)...)
	}
	want, _ := rowsOf(t, log, key)
	if !slices.Equal(got, want) || pages != 2 {
		t.Errorf("%d entries in %d pages", len(got), pages)
	}
}

// An export is the file of a thread, with its seals.
func TestExport(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		key := store.Key{Thread: "a/b"}
		many(t, log, key)
		p := start(t, log, nil, serve.Settings{})
		for i := range 2 {
			if i == 1 {
				newOperator(t).seal(t, log, key)
			}
			var want bytes.Buffer
			transfer.Export(t.Context(), log, key, &want, 0)
			answer := p.get("/threads/a%2Fb/export")
			if got := answer.text(); got != want.String() {
				t.Errorf("the export has %d bytes, want %d", len(got), want.Len())
			}
			h := answer.header
			same(t, []string{h.Get("Content-Type"), h.Get("X-Content-Type-Options"), h.Get("Content-Disposition"), h.Get("Cache-Control"), h.Get("Content-Length")},
				[]string{"application/x-ndjson", "nosniff", `attachment; filename=thread.ndjson`, "no-store", ""})
		}
		if answer := p.do(http.MethodHead, "/threads/a%2Fb/export", ""); answer.status != 200 || answer.header.Get("Content-Type") != "application/x-ndjson" || answer.text() != "" {
			t.Errorf("HEAD: status %d, %v", answer.status, answer.header)
		}
	})
}

// A stopping log calls stop before each entry.
type stopping struct {
	store.Log
	stop func(position int64) error
}

func (l *stopping) Read(ctx context.Context, key store.Key, after int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		for e, err := range l.Log.Read(ctx, key, after) {
			if err == nil {
				err = l.stop(e.Position)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// An export that fails breaks off, so that no client takes it for the whole thread. Before
// anything was sent, it is answered with a problem document.
func TestExportBreaksOff(t *testing.T) {
	t.Parallel()
	memory := newMemory(t)
	many(t, memory, store.Key{Thread: "t"})
	var failure atomic.Pointer[error]
	var at atomic.Int64
	log := &stopping{memory, func(position int64) error {
		if position == at.Load() {
			return *failure.Load()
		}
		return nil
	}}
	p := start(t, log, nil, serve.Settings{})
	for _, c := range []struct {
		err    error
		status int
	}{{errAway, 503}, {store.ErrDeleted, 410}, {store.ErrRewound, 503}} {
		failure.Store(&c.err)
		at.Store(1)
		p.get("/threads/t/export").want(c.status, `"status":`+fmt.Sprint(c.status))
		at.Store(11) // after the large entry
		answer := p.get("/threads/t/export")
		if text := answer.broken(); answer.status != 200 || strings.Contains(text, `"digest"`) {
			t.Errorf("status %d, with an end", answer.status)
		}
	}
	at.Store(0)
	if text := p.get("/threads/t/export").text(); !strings.Contains(text, `"digest"`) {
		t.Error("the whole export has no digest")
	}
}

// held serves a log whose reading stops at the last entry of many, until resume is closed. It
// sends to reached each time.
func held(t *testing.T, s serve.Settings, tenants ...string) (p *process, reached, resume chan struct{}) {
	memory := newMemory(t)
	for _, tenant := range tenants {
		many(t, memory, store.Key{Tenant: tenant, Thread: "t"})
	}
	reached, resume = make(chan struct{}), make(chan struct{})
	log := &stopping{memory, func(position int64) error {
		if position == 11 {
			reached <- struct{}{}
			<-resume
		}
		return nil
	}}
	return start(t, log, nil, s), reached, resume
}

// exports begins exports. It returns the status of each, and whether it has its end.
func (p *process) exports(n int, headers ...string) <-chan string {
	ends := make(chan string)
	for range n {
		go func() {
			answer := p.get("/threads/t/export", headers...)
			text, _ := io.ReadAll(answer.body)
			ends <- fmt.Sprint(answer.status, " ", strings.Contains(string(text), `"digest"`))
		}()
	}
	return ends
}

// Clients that do not read their exports keep others from exporting for a time. Other answers do
// not wait for them.
func TestExportsAreLimited(t *testing.T) {
	t.Parallel()
	const places = 8
	p, reached, resume := held(t, serve.Settings{}, "")
	ends := p.exports(places + 1)
	for range places {
		<-reached
	}
	p.get("/threads/t/restore?position=2").want(http.StatusOK, `"r"`)
	same(t, <-ends, "503 false") // the one for which there was no place
	close(resume)
	for range places {
		same(t, <-ends, "200 true")
	}
}

// A tenant cannot take all the places of exports.
func TestExportsOfTenantsAreLimited(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, fmt.Appendf(nil, "alice sha256:%x\nbob sha256:%x\n", sha256.Sum256([]byte("of alice")), sha256.Sum256([]byte("of bob"))), 0o600); err != nil {
		t.Fatal(err)
	}
	p, reached, resume := held(t, serve.Settings{Guard: serve.GuardSettings{TokenFile: file}}, "alice", "bob")
	const places = 4
	alice := p.exports(places, "Authorization", "Bearer of alice")
	for range places {
		<-reached
	}
	p.get("/threads/t/export", "Authorization", "Bearer of alice").want(http.StatusServiceUnavailable, "too many exports of the tenant")
	bob := p.exports(1, "Authorization", "Bearer of bob")
	<-reached
	close(resume)
	for range places {
		same(t, <-alice, "200 true")
	}
	same(t, <-bob, "200 true")
	for range 2 * places { // the places are free again
		go func() { <-reached }()
		same(t, <-p.exports(1, "Authorization", "Bearer of alice"), "200 true")
	}
}

// The routes of a window show nothing of another tenant.
func TestTenantsOfLists(t *testing.T) {
	t.Parallel()
	log := newMemory(t)
	for _, tenant := range []string{"alice", "bob"} {
		many(t, log, store.Key{Tenant: tenant, Thread: "shared"})
		many(t, log, store.Key{Tenant: tenant, Thread: "of-" + tenant})
	}
	p := start(t, log, nil, serve.Settings{Guard: serve.GuardSettings{TokenFile: tokens(t)}})
	auth := []string{"Authorization", "Bearer " + token}
	for query, want := range map[string]string{"order=newest": "[of-alice shared]", "order=id": "[of-alice shared]"} {
		threads, pages := p.list(query, 1, auth...)
		if got := fmt.Sprint(ids(threads)); got != want || pages != 2 {
			t.Errorf("%s: %s in %d pages", query, got, pages)
		}
	}
	for _, after := range []string{"", fmt.Sprint(time.Now().Add(time.Hour).UnixMicro(), ".of-bob")} {
		text := p.get("/threads?order=newest&after="+after, auth...).text()
		if strings.Contains(text, "bob") || strings.Count(text, `"thread_id"`) != 2 {
			t.Errorf("after %q: %s", after, text)
		}
	}
	for _, path := range []string{"/entries", "/entries/2", "/export"} {
		p.get("/threads/of-alice"+path, auth...).want(http.StatusOK, "")
		theirs, none := p.get("/threads/of-bob"+path, auth...), p.get("/threads/none"+path, auth...)
		if theirs.status != http.StatusNotFound || strings.ReplaceAll(theirs.text(), "of-bob", "none") != none.text() {
			t.Errorf("%s: status %d", path, theirs.status)
		}
		for _, header := range [][]string{nil, {"Authorization", "Bearer other"}} {
			p.get("/threads/of-alice"+path, header...).want(http.StatusUnauthorized, "unauthorized")
		}
	}
	var s sessionOf
	p.get("/session", auth...).decode(&s)
	same(t, s.Tenant, "alice")
}
