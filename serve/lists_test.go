package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/proxy"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// threadRow is a thread of a list.
type threadRow struct {
	ThreadID string     `json:"thread_id"`
	Latest   *latestRow `json:"latest"`
}

type latestRow struct {
	Position  int64   `json:"position"`
	RunID     string  `json:"run_id"`
	End       string  `json:"end"`
	StartedAt *string `json:"started_at"`
	LastAt    *string `json:"last_at"`
	Agent     *string `json:"agent"`
}

// list returns the threads of all pages of a list, and the number of pages.
func (p *process) list(query string, limit int, headers ...string) (threads []threadRow, pages int) {
	p.t.Helper()
	for after := ""; ; pages++ {
		var page struct {
			Threads []threadRow
			Next    *string
		}
		p.get("/threads?limit="+strconv.Itoa(limit)+"&"+query+"&after="+url.QueryEscape(after), headers...).decode(&page)
		threads = append(threads, page.Threads...)
		if page.Next == nil {
			return threads, pages + 1
		}
		after = *page.Next
	}
}

// ids returns the ids of threads.
func ids(threads []threadRow) (list []string) {
	for _, t := range threads {
		list = append(list, t.ThreadID)
	}
	return list
}

// The newest threads come first, each with the run that began last and the agent that answers in
// it.
func TestNewestThreads(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{AllowAppend: true})
		if threads, pages := p.list("order=newest", 1); len(threads) != 0 || pages != 1 {
			t.Errorf("an empty log has %v", threads)
		}
		// By another program, by an agent, by a producer, without a run, and with an id that looks
		// like that of a cursor.
		fill(t, log, store.Key{Thread: "1.2/é"}, "r", "q")
		c, answer := p.begin(a, "of an agent", "r")
		c.send(finished("of an agent", "r"))
		c.end()
		answer.text()
		p.ended(1) // also its stream
		p.post("/threads/appended/events", batch("appended", "r", 0, started("appended", "other"))).want(http.StatusBadRequest, "")
		p.post("/threads/appended/events", batch("appended", "r", 0, started("appended", "r"))).want(http.StatusOK, "")
		for _, id := range []string{"empty", "deleted"} {
			if _, err := log.Append(t.Context(), store.Key{Thread: id}, 0, []store.Entry{{Stream: "s@x", Kind: store.Event, Data: []byte(`{"type":"CUSTOM"}`)}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := log.Delete(t.Context(), store.Key{Thread: "deleted"}); err != nil {
			t.Fatal(err)
		}

		threads, _ := p.list("order=newest", 1000)
		same(t, fmt.Sprint(ids(threads)), "[empty appended of an agent 1.2/é]")
		filled, agent := "2026-01-02T03:04:05Z", "a"
		for i, want := range []*latestRow{
			nil, {Position: 2, RunID: "r", End: "open"}, {Position: 2, RunID: "r", End: "finished", Agent: &agent},
			{Position: 7, RunID: "q", End: "finished", StartedAt: &filled, LastAt: &filled},
		} {
			got := threads[i].Latest
			if got != nil && threads[i].ThreadID != "1.2/é" {
				if got.StartedAt == nil || got.LastAt == nil {
					t.Errorf("%s has no times", threads[i].ThreadID)
				}
				got.StartedAt, got.LastAt = nil, nil
			}
			g, _ := json.Marshal(got)
			w, _ := json.Marshal(want)
			same(t, string(g), string(w))
		}
		for limit := range 5 {
			if pages, n := p.list("order=newest", limit+1); !slices.Equal(ids(pages), ids(threads)) || n != (len(threads)+limit)/(limit+1) {
				t.Errorf("in %d pages of %d: %q", n, limit+1, ids(pages))
			}
		}
		// Without an order, the ids decide, and the latest run is there, too.
		for _, query := range []string{"", "order=id", "order="} {
			byID, _ := p.list(query, 2)
			same(t, fmt.Sprint(ids(byID)), "[1.2/é appended empty of an agent]")
			same(t, *byID[3].Latest.Agent, "a")
		}
		// A thread to which something is appended is the newest.
		p.post("/threads/appended/events", batch("appended", "r", 1, finished("appended", "r"))).want(http.StatusOK, "")
		threads, _ = p.list("order=newest", 2)
		same(t, fmt.Sprint(ids(threads)), "[appended empty of an agent 1.2/é]")
		same(t, threads[0].Latest.End, "finished")
	})
}

// 10,000 threads are listed once each in the order of their times.
func TestTenThousandThreads(t *testing.T) {
	t.Parallel()
	logs(t, func(t *testing.T, log store.Log) {
		const n, workers = 10_000, 100
		var appending sync.WaitGroup
		for worker := range workers {
			appending.Go(func() {
				for i := worker; i < n; i += workers {
					id := fmt.Sprintf("%x", uint32(i)*2654435761)
					if _, err := log.Append(t.Context(), store.Key{Thread: id}, 0, []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte(started(id, "run of "+id))}}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		appending.Wait()
		var all []store.Thread
		for thread, err := range log.Threads(t.Context(), store.ThreadQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, thread)
		}
		slices.SortStableFunc(all, func(a, b store.Thread) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
		threads, pages := start(t, log, nil, serve.Settings{}).list("order=newest", 1000)
		if len(threads) != n || pages != n/1000 {
			t.Fatalf("%d threads in %d pages", len(threads), pages)
		}
		for i, thread := range threads {
			if thread.ThreadID != all[i].Thread || thread.Latest.RunID != "run of "+thread.ThreadID {
				t.Fatalf("thread %d is %+v, want %s", i, thread, all[i].Thread)
			}
		}
	})
}

// sessionOf is the answer of GET /session.
type sessionOf struct {
	Version, Tenant string
	Agents          []string
	May             map[string]bool
}

// The session says what the token may do.
func TestSession(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	records := serve.Settings{AllowAppend: true, Exchanges: proxy.Settings{Captures: root, Tool: capture.Tool{Name: "p20export", Version: "1.2.3"}}}
	for what, c := range map[string]struct {
		agent    *agent
		settings serve.Settings
		headers  []string
		want     sessionOf
	}{
		"reads only": {nil, serve.Settings{}, nil, sessionOf{Agents: []string{}, May: may()}},
		"a tenant":   {a, serve.Settings{Guard: serve.GuardSettings{Tenant: "t"}}, nil, sessionOf{Tenant: "t", Agents: []string{"a"}, May: may("run", "cancel")}},
		"appends":    {nil, serve.Settings{AllowAppend: true}, nil, sessionOf{Agents: []string{}, May: may("cancel", "append")}},
		"everything": {a, records, nil, sessionOf{Version: "p20export 1.2.3", Agents: []string{"a"}, May: may("run", "cancel", "append", "evidence")}},
		"a token": {
			a, serve.Settings{AllowAppend: true, Guard: serve.GuardSettings{TokenFile: tokens(t)}}, []string{"Authorization", "Bearer " + token},
			sessionOf{Tenant: "alice", Agents: []string{"a"}, May: may("run", "cancel")},
		},
	} {
		p := start(t, memory.New(), c.agent, c.settings)
		var got sessionOf
		p.get("/session", c.headers...).decode(&got)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	p := start(t, memory.New(), a, serve.Settings{Guard: serve.GuardSettings{TokenFile: tokens(t)}})
	p.get("/session").want(http.StatusUnauthorized, "unauthorized")
}

// may returns what a session allows.
func may(allowed ...string) map[string]bool {
	m := map[string]bool{}
	for _, name := range []string{"run", "cancel", "append", "evidence"} {
		m[name] = slices.Contains(allowed, name)
	}
	return m
}
