package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/capture/inputs"
	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/sqlite"
	"github.com/p20export/p20export/store/transfer"
)

// streamsOf returns the entries of each stream of the thread t.
func streamsOf(t *testing.T, log store.Log) map[string][]string {
	t.Helper()
	streams, position := map[string][]string{}, int64(0)
	for e, err := range log.Read(t.Context(), store.Key{Thread: "t"}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if position++; e.Position != position {
			t.Errorf("position %d follows %d", e.Position, position-1)
		}
		streams[e.Stream] = append(streams[e.Stream], fmt.Sprintf("%s %s %s", e.Kind, e.Data, e.Arrived))
	}
	return streams
}

// checkLog checks that a log has exactly what the captures in a directory have that have
// events, and returns the ends of these.
func checkLog(t *testing.T, open func() (store.Log, error), captures string) (ends []string) {
	t.Helper()
	log, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	all, err := capture.Find(t.Context(), []string{captures})
	if err != nil {
		t.Fatal(err)
	}
	want := memory.New()
	for _, found := range all {
		c, err := capture.Open(t.Context(), found.Path, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Next()
		c.Close()
		if err == io.EOF {
			continue
		}
		row := transfer.Import(t.Context(), want, inputs.File(found.Path), transfer.ImportSettings{})
		if row.End == nil {
			t.Fatalf("%+v", row)
		}
		ends = append(ends, string(*row.End))
	}
	if diff := cmp.Diff(streamsOf(t, want), streamsOf(t, log)); diff != "" {
		t.Error(diff)
	}
	return ends
}

// awaitAny waits for a text in the log, unless it was there before.
func (s *server) awaitAny(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(s.all.String(), text) {
		s.await(t, regexp.QuoteMeta(text))
	}
}

// inFile returns what opens the log in a file.
func inFile(t *testing.T, file string) func() (store.Log, error) {
	return func() (store.Log, error) { return sqlite.Open(t.Context(), file, false) }
}

// followLog starts log cat --follow, and returns what reads its lines.
func followLog(t *testing.T, file string) *bufio.Reader {
	t.Helper()
	cmd := program(t, "log", "cat", "t", "--store", "sqlite:"+file, "--follow")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return bufio.NewReader(stdout)
}

// Another process follows the events of an open exchange. A proxy that is killed loses
// nothing of the stream: the next one continues it.
func TestProxyStoreKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	captures, file := filepath.Join(dir, "captures"), filepath.Join(dir, "events.db")
	a := newAgent(t)
	var killed []string // the streams of the exchanges during which the proxy was killed
	for range 3 {
		s, url := startProxy(t, a.URL, captures, "--store", "sqlite:"+file)
		_, body := post(t, url)
		log, err := sqlite.Open(t.Context(), file, false)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range log.Follow(t.Context(), store.Key{Thread: "t"}, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == store.Event && !slices.Contains(killed, e.Stream) {
				killed = append(killed, e.Stream)
				break // the first event of this exchange
			}
		}
		log.Close()
		s.kill(t, syscall.SIGKILL)
		_, _ = io.Copy(io.Discard, body)
		s.wait(t)
	}
	s, url := startProxy(t, a.URL, captures, "--store", "sqlite:"+file)
	lines := followLog(t, file)
	close(a.release)
	_, body := post(t, url)
	if got, err := io.ReadAll(body); err != nil || string(got) != wholeRun {
		t.Errorf("%v\n%s", err, got)
	}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == testkit.Finished+"\n" {
			break
		}
	}
	s.stop(t)
	ends := checkLog(t, inFile(t, file), captures)
	slices.Sort(ends)
	if want := []string{"eof", "error", "error", "error"}; !slices.Equal(ends, want) {
		t.Errorf("the captures have the ends %v, want %v", ends, want)
	}
}

// While another process has locked the log, traffic and captures go on. Then the log is
// completed, without a restart.
func TestProxyStoreLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	captures, file := filepath.Join(dir, "captures"), filepath.Join(dir, "events.db")
	a := newAgent(t)
	close(a.release)
	s, url := startProxy(t, a.URL, captures, "--store", "sqlite:"+file, "--metrics", "127.0.0.1:0")
	exchange := func() {
		t.Helper()
		_, body := post(t, url)
		if got, err := io.ReadAll(body); err != nil || string(got) != wholeRun {
			t.Errorf("%v\n%s", err, got)
		}
		s.await(t, `"msg":"exchange stored"`)
	}
	exchange()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	lock, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err = lock.ExecContext(t.Context(), `CREATE TABLE lock (a)`); err == nil { // not while the proxy writes
			break
		}
	}
	for range 3 {
		exchange()
	}
	s.awaitAny(t, `"msg":"the event log cannot be used`)
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.await(t, `"msg":"the event log can be used again"`)
	s.kill(t, syscall.SIGTERM)
	status, log := s.wait(t)
	if status != 0 || strings.Count(log, "the event log cannot be used") != 1 {
		t.Errorf("exit status %d\n%s", status, log)
	}
	if ends := checkLog(t, inFile(t, file), captures); len(ends) != 4 {
		t.Errorf("%d captures", len(ends))
	}
}

// Many exchanges of one thread, with a proxy that is killed at any time.
func TestProxyStoreKilledOften(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	captures, file := filepath.Join(dir, "captures"), filepath.Join(dir, "events.db")
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, testkit.SSE(testkit.Started))
		for i := range 100 {
			_, _ = io.WriteString(w, testkit.SSE(fmt.Sprintf(`{"type":"CUSTOM","name":"n","value":%d}`, i)))
			if http.NewResponseController(w).Flush() != nil {
				return
			}
		}
		_, _ = io.WriteString(w, testkit.SSE(testkit.Finished))
	}))
	t.Cleanup(upstream.Close)
	for round := range 8 {
		s, url := startProxy(t, upstream.URL, captures, "--store", "sqlite:"+file)
		for range 2 + round {
			go func() { // until the proxy is killed
				for {
					response, err := http.Post(url, "application/json", strings.NewReader(`{"threadId":"t"}`))
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, response.Body)
					response.Body.Close()
				}
			}()
		}
		for range 3 * (round + 1) {
			s.await(t, `"msg":"exchange stored"`)
		}
		s.kill(t, syscall.SIGKILL)
		s.wait(t)
	}
	s, _ := startProxy(t, upstream.URL, captures, "--store", "sqlite:"+file)
	s.stop(t)
	counts := map[string]int{}
	for _, end := range checkLog(t, inFile(t, file), captures) {
		counts[end]++
	}
	t.Logf("captures: %v", counts)
	if counts["eof"] < 8*3 || !slices.Contains(slices.Collect(maps.Keys(counts)), "error") {
		t.Errorf("captures: %v", counts)
	}
}
