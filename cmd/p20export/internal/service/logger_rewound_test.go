package service

import (
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/sqlitetest"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/sqlite"
)

// grow appends entries of another program to the thread t, which has none.
func grow(t *testing.T, file string, n int) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	others := slices.Repeat([]store.Entry{{Stream: "other", Kind: store.Event, Data: []byte("{}")}}, n)
	if _, err := log.Append(t.Context(), store.Key{Tenant: "tenant", Thread: "t"}, 0, others); err != nil {
		t.Fatal(err)
	}
}

// A backup of the log is restored while the proxy runs: between two exchanges, or in the middle
// of one, and another program may append to the thread then. That is said and counted once, and the
// log gets all captures again.
func TestLoggerRewound(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"between", "open", "open and grown"} {
		open := when != "between"
		file := filepath.Join(t.TempDir(), "log.db")
		log, err := sqlite.Open(t.Context(), file, true)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		restore := sqlitetest.Rewind(t, file)
		c := make(chan string)
		r := record(t, log, func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/open" {
				parts(c)(w, q)
			} else {
				agent(w, q)
			}
		}, nil)
		r.logger.Start()
		names := []string{r.exchange(t, "/").Name}
		<-r.seen.results
		if open {
			next := follow(t, log)
			body := r.post(t, "/open").Body
			c <- testkit.SSE(testkit.Started)
			for range 5 + 2 { // the whole stream of the first, a request and an event
				next()
			}
			restore()
			if when == "open and grown" {
				grow(t, file, 20)
			}
			c <- testkit.SSE(testkit.Snapshot, testkit.Finished)
			close(c)
			if _, err := io.Copy(io.Discard, body); err != nil {
				t.Fatal(err)
			}
			names = append(names, (<-r.ended).Name)
		} else {
			restore()
			names = append(names, r.exchange(t, "/").Name)
		}
		r.logger.Finish(t.Context())
		want := imported(t, r.Store, names...)
		got := slices.DeleteFunc(entries(t, log, "t"), func(e string) bool { return strings.HasPrefix(e, "other ") })
		slices.Sort(want) // the streams are appended in another order
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
		if r.seen.of("rewound") != 1 || r.seen.said("the event log was rewound") != 1 || r.seen.of("errors") != 0 {
			t.Errorf("%s: %v\n%s", when, r.seen.counts, r.seen.text.String())
		}
	}
}
