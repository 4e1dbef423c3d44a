package serve_test

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit/sqlitetest"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// rewindable opens a SQLite log, and returns a function that copies it: see sqlitetest.Rewind.
func rewindable(t *testing.T) (log store.Log, save func() (restore func())) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log.db")
	log, err := sqlite.Open(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log, func() func() { return sqlitetest.Rewind(t, file) }
}

// notice is what a reader gets whose thread has lost events.
const notice = ": the log was rewound: read the thread again from the beginning\nid\n\n"

// A backup is restored while servers run. Readers of threads that lost events get a notice
// and begin again, and the next run reaches everybody. Other threads go on.
func TestRewound(t *testing.T) {
	t.Parallel()
	log, save := rewindable(t)
	a := newAgent(t)
	one, two := start(t, log, a, serve.Settings{}), start(t, log, nil, serve.Settings{})
	exchange := func(thread, run string, steps ...int) *answer {
		t.Helper()
		c, answer := one.begin(a, thread, run)
		for _, n := range steps {
			c.send(step(n))
		}
		c.send(finished(thread, run))
		c.end()
		return answer
	}
	exchange("t", "kept", 1).text()
	exchange("other", "kept", 1).text()
	restore := save()
	exchange("t", "lost", 2, 3).text()
	var readers []*answer
	for _, p := range []*process{one, two} {
		r := p.get("/threads/t/events")
		if got := r.events(7); !strings.Contains(got[6], `"lost"`) {
			t.Fatalf("the last event is %s", got[6])
		}
		readers = append(readers, r)
	}
	other := one.get("/threads/other/events")
	other.events(3)

	restore()
	for _, r := range readers {
		if text := r.broken(); !strings.HasSuffix(text, notice) {
			t.Errorf("a reader gets %q, want %q", text, notice)
		}
	}
	for _, p := range []*process{one, two} {
		p.seen.until(t, "it is noticed", func() bool { return p.seen.rewound > 0 })
	}
	// The client has an id that the thread no longer has.
	one.get("/threads/t/events", "Last-Event-ID", "12").want(http.StatusBadRequest, `"code":"invalid_cursor"`)
	reader := two.get("/threads/t/events")
	reader.events(3)
	if text := exchange("t", "again", 4).text(); !strings.Contains(text, step(4)) || !strings.Contains(text, finished("t", "again")) {
		t.Errorf("the new run gets %q", text)
	}
	if got := reader.events(3); !strings.HasSuffix(got[1], step(4)) {
		t.Errorf("the reader gets %q", got)
	}
	exchange("other", "next").text()
	other.events(2)
}

// idsIn returns the ids of events.
func idsIn(text string) (ids []string) {
	for _, m := range regexp.MustCompile(`(?m)^id: (.+)$`).FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// A log is rewound and grows again while a client is away. When it comes back with an id of what
// was lost, it is told to begin again, wherever it comes to, and the operator is told.
func TestRewoundWhileAway(t *testing.T) {
	t.Parallel()
	log, save := rewindable(t)
	a := newAgent(t)
	said := &text{}
	p := start(t, log, a, serve.Settings{Logger: slog.New(slog.NewTextHandler(said, nil))})
	exchange := func(run string, steps ...int) (ids []string) {
		c, answer := p.begin(a, "t", run)
		for _, n := range steps {
			c.send(step(n))
		}
		c.send(finished("t", run))
		c.end()
		return idsIn(answer.text())
	}
	exchange("kept", 1)
	restore := save()
	posted := exchange("lost", 2, 3)
	const compact = "/threads/t/events?follow=false&view=compact"
	raw, compacted := idsIn(p.get("/threads/t/events?follow=false").text()), idsIn(p.get(compact).text())
	restore()
	now := exchange("again", 2, 3, 4) // the agent sends the same at the same positions
	same(t, len(raw), 3+4)
	same(t, len(compacted), 3+4)
	for i := range raw {
		for path, id := range map[string]string{"/threads/t/events?follow=false&": raw[i], compact + "&": compacted[i]} {
			header, after := p.get(path, "Last-Event-ID", id), p.get(path+"after="+id)
			for _, answer := range []*answer{header, after} {
				if same(t, answer.status, http.StatusOK); i >= 3 {
					same(t, answer.broken(), notice)
				} else if text := answer.text(); !strings.HasSuffix(text, finished("t", "again")+"\n\n") {
					t.Errorf("after %s, which is not lost: %s", id, text)
				}
			}
		}
	}
	same(t, p.post("/agents/a", input("t", "again"), "Last-Event-ID", posted[0]).broken(), notice)
	same(t, p.post("/agents/a", input("t", "lost"), "Last-Event-ID", posted[0]).broken(), notice)
	same(t, p.post("/agents/a", input("t", "again"), "Last-Event-ID", now[2]).event(), "11 "+finished("t", "again"))
	// A position alone does not say what the client has.
	position, _, _ := strings.Cut(raw[4], "-")
	same(t, p.get("/threads/t/events?follow=false&after="+position).event(), "9 "+step(3))
	const told = 4*4 + 2
	p.seen.until(t, "it is noticed", func() bool { return p.seen.rewound == told })
	same(t, strings.Count(said.String(), "the log was rewound"), told)
}

// A run whose beginning is lost ends, and what is left of it is closed. Its thread accepts the
// next one.
func TestRewoundRun(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{false, true} {
		log, save := rewindable(t)
		a := newAgent(t)
		p := start(t, log, a, serve.Settings{})
		restore := save()
		c, answer := p.begin(a, "t", "r")
		if left {
			restore = save()
		}
		c.send(step(1))
		if e := answer.event(); !strings.HasSuffix(e, step(1)) {
			t.Fatal(e)
		}
		restore()
		<-c.left
		if text := answer.broken(); !strings.HasSuffix(text, notice) {
			t.Errorf("the client gets %q, want %q", text, notice)
		}
		same(t, p.ended(1), serve.NotStored)
		c, answer = p.begin(a, "t", "next")
		if left {
			p.seen.closed(t, 1)
		}
		c.send(finished("t", "next"))
		c.end()
		if text := answer.text(); !strings.Contains(text, finished("t", "next")) {
			t.Errorf("the next run gets %q", text)
		}
	}
}
