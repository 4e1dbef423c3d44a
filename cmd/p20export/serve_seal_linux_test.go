package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	cosignature "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/authority"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/seal"
	"github.com/p20export/p20export/store/sqlite"
)

// sealKey makes a pair of keys, and returns the names of the files.
func sealKey(t *testing.T) (private, public string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "seals")
	if status, said := ran("keygen", name); status != 0 {
		t.Fatal(said)
	}
	return name + ".key.pem", name + ".pub.pem"
}

// verified verifies all threads of a log, and returns a row for each. The exit status must be 0
// or 1.
func verified(t *testing.T, url, public string, args ...string) map[string]seal.Row {
	t.Helper()
	var out, said bytes.Buffer
	if status := run(append([]string{"log", "verify", "--all", "--store", url, "--trust", public, "--format", "json"}, args...), &out, &said); status > 1 {
		t.Fatalf("exit status %d: %s", status, &said)
	}
	rows := make(map[string]seal.Row)
	for line := range strings.Lines(out.String()) {
		var row seal.Row
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if row.Verdict != "" && row.Thread != "" {
			rows[row.Thread] = row
		}
	}
	return rows
}

// wantWhole checks that all entries of threads are those that were sealed.
func wantWhole(t *testing.T, rows map[string]seal.Row, threads ...string) {
	t.Helper()
	for _, thread := range threads {
		if row := rows[thread]; row.Verdict != seal.Unchanged || row.Position != row.Entries {
			t.Errorf("thread %s: %+v", thread, row)
		}
	}
}

// appendRun appends a run of two events to a thread.
func appendRun(t *testing.T, server, thread, id string) {
	t.Helper()
	ids := fmt.Sprintf(`"threadId":%q,"runId":%q}`, thread, id)
	body := fmt.Sprintf(`{"runId":%q,"producer":"p","sequence":0,"input":{%s,"events":[{"type":"RUN_STARTED",%s,{"type":"RUN_FINISHED",%s]}`, id, ids, ids, ids)
	response, err := http.Post(server+"/threads/"+url.PathEscape(thread)+"/events", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(text), `"end":"finished"`) {
		t.Fatalf("%s, %v", text, err)
	}
}

// awaitSeal waits until a thread is sealed up to a position.
func awaitSeal(t *testing.T, log store.Log, thread string, position int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience) // only if it hangs
	defer cancel()
	for {
		th, err := log.Thread(ctx, store.Key{Thread: thread})
		switch {
		case err != nil:
			t.Fatal(err)
		case th.Sealed >= position:
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// checkpointOf returns the last seal of a thread, from the server.
func checkpointOf(t *testing.T, url, thread string) string {
	t.Helper()
	response, err := http.Get(url + "/threads/" + thread + "/checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", response.StatusCode, err, text)
	}
	return string(text)
}

// opened opens a log.
func opened(t *testing.T, file string) store.Log {
	t.Helper()
	log, err := sqlite.Open(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

// A thread is sealed after each end of a run: of an agent, of a producer, of one that was
// cancelled, and of those that are open when the server ends. The seals have the time of an
// authority, and the key of the server is encrypted.
func TestServeSeals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	phrase, key := filepath.Join(dir, "phrase"), filepath.Join(dir, "seals")
	testkit.Write(t, phrase, []byte("correct horse\n"))
	if status, said := ran("keygen", key, "--encrypt", "--passphrase-file", phrase); status != 0 {
		t.Fatal(said)
	}
	stamps := authority.New(t)
	trusted := filepath.Join(dir, "authority.pem")
	testkit.Write(t, trusted, stamps.Root.PEM())
	a, file := newAgent(t), filepath.Join(dir, "events.db")
	serving := func(args ...string) (*server, string) {
		return startServe(t, "sqlite:"+file, a.URL, append([]string{
			"--allow-append", "--seal", key + ".key.pem", "--passphrase-file", phrase, "--origin", "agents.example/log",
			"--timestamp", stamps.Serve(), "--metrics", "127.0.0.1:0",
		}, args...)...)
	}
	s, url := serving("--drain", "1h")
	log := opened(t, file)
	verify := func(threads ...string) {
		t.Helper()
		wantWhole(t, verified(t, "sqlite:"+file, key+".pub.pem", "--trust", trusted), threads...)
	}
	for n := range int64(3) {
		appendRun(t, url, "appended", fmt.Sprint(n))
		awaitSeal(t, log, "appended", 4*(n+1))
		verify("appended")
	}
	handed := filepath.Join(dir, "checkpoint")
	testkit.Write(t, handed, []byte(checkpointOf(t, url, "appended")))
	startRun(t, url, "r").want(t, "2 "+testkit.Started)
	response, err := http.Post(url+"/threads/t/runs/r/cancel", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	awaitSeal(t, log, "t", 4) // request, RUN_STARTED, RUN_FINISHED of the server, end
	verify("t")
	startRun(t, url, "r2").want(t, "6 "+testkit.Started)
	metrics := metricsOf(t, s)
	for _, want := range []string{"p20export_seals_total 4\n", "p20export_seal_backlog 0\n", "p20export_seal_errors_total 0\n", "p20export_seal_behind_seconds 0\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	s.kill(t, syscall.SIGTERM)
	s.await(t, `"msg":"draining"`)
	close(a.release)
	if status, said := s.wait(t); status != 0 || strings.Count(said, `"msg":"thread sealed"`) != 5 || strings.Contains(said, "correct horse") {
		t.Errorf("exit status %d\n%s", status, said)
	}
	verify("t", "appended")

	a.release = make(chan struct{})
	s, url = serving("--drain", "0s")
	startRun(t, url, "r3").want(t, "11 "+testkit.Started)
	s.kill(t, syscall.SIGTERM)
	// The server may seal the request by itself: when it starts, it seals what has no seal.
	const sealed = `"msg":"thread sealed"`
	if status, said := s.wait(t); status != 143 || strings.Count(said, sealed) > 2 || strings.Count(said, sealed+`,"thread":"t","entries":13}`) != 1 {
		t.Errorf("exit status %d\n%s", status, said)
	}
	rows := verified(t, "sqlite:"+file, key+".pub.pem", "--trust", trusted, "--against", handed)
	wantWhole(t, rows, "t", "appended")
	if row := rows["t"]; row.Signature == nil || row.Signature.NotLaterThan == nil {
		t.Errorf("the seal has no time: %+v", row)
	}
}

// TestServeSealKilled kills a server that seals, again and again. All seals that it has handed
// out stay valid, and the next one seals what was left.
func TestServeSealKilled(t *testing.T) {
	t.Parallel()
	private, public := sealKey(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "events.db")
	k := startKillable(t, "--store", "sqlite:"+file, "--allow-append", "--seal", private)
	log := opened(t, file)
	killSealing(t, log, "sqlite:"+file, public, k)
}

// killSealing appends runs to the threads of a log while its servers are killed and started
// again.
func killSealing(t *testing.T, log store.Log, address, public string, ks ...*killable) {
	t.Helper()
	const rounds, threads = 8, 5
	ctx, cancel := context.WithTimeout(t.Context(), patience) // only if it hangs
	defer cancel()
	dir, handed := t.TempDir(), []string{}
	var names []string
	for n := range threads {
		names = append(names, fmt.Sprint("t", n))
	}
	for round := range rounds {
		for _, k := range ks {
			url, err := k.address(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for n := range 1 + rand.IntN(10) {
				appendRun(t, url, names[rand.IntN(threads)], fmt.Sprint(url, round, n))
			}
			for i, thread := range names {
				if th, err := log.Thread(ctx, store.Key{Thread: thread}); err == nil && th.Sealed > 0 {
					name := filepath.Join(dir, fmt.Sprint(round, i, len(handed)))
					testkit.Write(t, name, []byte(checkpointOf(t, url, thread)))
					handed = append(handed, "--against", name)
				}
			}
		}
		k := ks[round%len(ks)]
		time.Sleep(rand.N(2 * 250 * time.Millisecond)) // so that it is killed before, while and after it seals
		k.kill(t, syscall.SIGKILL)
		for thread, row := range verified(t, address, public, handed...) {
			if row.Verdict != seal.Unchanged && row.Verdict != seal.Unsealed {
				t.Errorf("round %d, thread %s: %+v", round, thread, row)
			}
		}
		k.start(t)
	}
	for _, thread := range names {
		if th, err := log.Thread(ctx, store.Key{Thread: thread}); err == nil {
			awaitSeal(t, log, thread, th.Last)
		}
	}
	rows := verified(t, address, public, handed...)
	wantWhole(t, rows, names...)
	if len(handed) == 0 || len(rows) != threads {
		t.Errorf("%d seals were handed out of %d threads", len(handed)/2, len(rows))
	}
}

// A witness that is down, or does not answer, delays nothing. The thread is sealed when it is
// there again.
func TestServeSealWitness(t *testing.T) {
	t.Parallel()
	secret, vkey, err := note.GenerateKey(nil, "witness.example")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := cosignature.NewSignerForCosignatureV1(secret)
	if err != nil {
		t.Fatal(err)
	}
	// The key of cosignatures has another number of the algorithm.
	vkey, err = cosignature.VKeyToCosignatureV1(vkey)
	if err != nil {
		t.Fatal(err)
	}
	var up atomic.Bool
	asked := make(chan struct{}, 100)
	witness := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- struct{}{}
		if !up.Load() {
			<-r.Context().Done() // does not answer
			return
		}
		_, checkpoint, _ := bytes.Cut(body, []byte("\n\n"))
		text, _, _ := bytes.Cut(checkpoint, []byte("\n\n"))
		signed, err := note.Sign(&note.Note{Text: string(text) + "\n"}, signer)
		if err != nil {
			t.Error(err)
		}
		_, lines, _ := bytes.Cut(signed, []byte("\n\n"))
		_, _ = w.Write(lines)
	}))
	t.Cleanup(witness.Close)
	down := httptest.NewServer(nil)
	down.Close()
	private, public := sealKey(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "events.db")
	serving := func(witness string) (*server, string) {
		return startServer(t, "serve", "--store", "sqlite:"+file, "--allow-append", "--seal", private, "--witness", witness, "--witness-key", vkey, "--metrics", "127.0.0.1:0")
	}

	s, url := serving(down.URL)
	appendRun(t, url, "t", "r1")
	s.await(t, `"msg":"thread not sealed; this is tried again","thread":"t","reason":"witness_refused: .*connection refused"`)
	if m := metricsOf(t, s); !strings.Contains(m, "p20export_seals_total 0\n") || !strings.Contains(m, "p20export_seal_backlog 1\n") || strings.Contains(m, "p20export_seal_errors_total 0\n") {
		t.Errorf("the metrics are %s", m)
	}
	if status, said := func() (int, string) { s.kill(t, syscall.SIGTERM); return s.wait(t) }(); status != 0 || !strings.Contains(said, "the next start seals them") {
		t.Errorf("exit status %d\n%s", status, said)
	}

	s, url = serving(witness.URL)
	<-asked // about the run before
	for n := range 20 {
		appendRun(t, url, "t", fmt.Sprint("during", n)) // while it does not answer
	}
	up.Store(true)
	witness.CloseClientConnections()
	s.await(t, `"msg":"thread sealed","thread":"t","entries":84`)
	s.stop(t)
	wantWhole(t, verified(t, "sqlite:"+file, public, "--witness-key", vkey, "--require-witnesses", "1", "--origin", "p20export"), "t")
}

// A thread that somebody has rewritten is not sealed any more, and the server says so once.
// Others are.
func TestServeSealRewritten(t *testing.T) {
	t.Parallel()
	private, public := sealKey(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "events.db")
	s, url := startServer(t, "serve", "--store", "sqlite:"+file, "--allow-append", "--seal", private, "--metrics", "127.0.0.1:0")
	log := opened(t, file)
	for _, thread := range []string{"t", "other"} {
		appendRun(t, url, thread, "r1")
		awaitSeal(t, log, thread, 4)
	}
	handed := filepath.Join(dir, "checkpoint")
	testkit.Write(t, handed, []byte(checkpointOf(t, url, "t")))
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		`DROP TRIGGER entries_update`,
		`UPDATE entries SET data = CAST(replace(CAST(data AS TEXT), 'RUN_STARTED', 'RUN_STARTER') AS BLOB) WHERE position = 2 AND thread_id = (SELECT id FROM threads WHERE thread = 't')`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	const said = `"msg":"THE THREAD WAS REWRITTEN: `
	appendRun(t, url, "t", "r2")
	if line := s.await(t, said); !strings.Contains(line, `"level":"ERROR"`) || !strings.Contains(line, `"thread":"t","code":"thread_rewritten"`) {
		t.Errorf("the log has %s", line)
	}
	if response, err := http.Get(url + "/threads/t/proof?at=2"); err != nil || response.StatusCode != http.StatusConflict {
		t.Errorf("a proof of the thread: %v, %v", response, err)
	} else {
		response.Body.Close()
	}
	appendRun(t, url, "t", "r3")
	appendRun(t, url, "other", "r2")
	awaitSeal(t, log, "other", 8)
	if m := metricsOf(t, s); !strings.Contains(m, "p20export_seal_threads_rewritten_total 1\n") || !strings.Contains(m, "p20export_seals_total 3\n") || !strings.Contains(m, "p20export_seal_backlog 0\n") {
		t.Errorf("the metrics are %s", m)
	}
	if all := s.stop(t); strings.Count(all, said) != 1 {
		t.Errorf("the log has\n%s", all)
	}
	rows := verified(t, "sqlite:"+file, public, "--against", handed)
	wantWhole(t, rows, "other")
	if row := rows["t"]; row.Verdict != seal.Rewritten || row.Entries != 12 {
		t.Errorf("%+v", row)
	}
}

// A proxy seals the threads of its log when a run has ended, and when the next proxy has
// completed what a killed one left. One descriptor has the passphrase of both its keys, and
// records and seals have the time of the same authority.
func TestProxySeals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	phrase, captures, file, out := filepath.Join(dir, "phrase"), filepath.Join(dir, "captures"), filepath.Join(dir, "events.db"), filepath.Join(dir, "frozen")
	testkit.Write(t, phrase, []byte("correct horse\n"))
	for _, name := range []string{"seals", "records"} {
		if status, said := ran("keygen", filepath.Join(dir, name), "--encrypt", "--passphrase-file", phrase); status != 0 {
			t.Fatal(said)
		}
	}
	stamps := authority.New(t)
	trusted := filepath.Join(dir, "authority.pem")
	testkit.Write(t, trusted, stamps.Root.PEM())
	a, tsa := newAgent(t), stamps.Serve()
	proxying := func() (*server, string) {
		f, err := os.Open(phrase)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd := program(t, "proxy", "--listen", "127.0.0.1:0", "--upstream", a.URL, "--captures", captures, "--store", "sqlite:"+file, "--freeze", out,
			"--sign", filepath.Join(dir, "records.key.pem"), "--seal", filepath.Join(dir, "seals.key.pem"), "--passphrase-fd", "3", "--timestamp", tsa)
		cmd.ExtraFiles = []*os.File{f}
		return startCommand(t, cmd)
	}
	s, url := proxying()
	_, body := post(t, url)
	for { // the events are there before the response ends
		if _, err := os.Stat(file); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	log := opened(t, file)
	for {
		if th, err := log.Thread(t.Context(), store.Key{Thread: "t"}); err == nil && th.Last >= 2 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	s.kill(t, syscall.SIGKILL)
	s.wait(t)
	_, _ = io.Copy(io.Discard, body)
	close(a.release)

	s, url = proxying() // completes the stream
	awaitSeal(t, log, "t", 3)
	_, body = post(t, url)
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Fatal(err)
	}
	awaitSeal(t, log, "t", 8)
	s.await(t, `"msg":"run frozen"`)
	if said := s.stop(t); strings.Contains(said, "correct horse") {
		t.Errorf("the log has the passphrase\n%s", said)
	}
	rows := verified(t, "sqlite:"+file, filepath.Join(dir, "seals.pub.pem"), "--trust", trusted)
	wantWhole(t, rows, "t")
	if row := rows["t"]; row.Signature == nil || row.Signature.NotLaterThan == nil {
		t.Errorf("the seal has no time: %+v", row)
	}
	found, err := filepath.Glob(filepath.Join(captures, "*"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"verify", out, "--trust", filepath.Join(dir, "records.pub.pem"), "--trust", trusted, "--require-timestamp"}
	for _, name := range found {
		if !strings.HasSuffix(name, ".unfinished") {
			args = append(args, "--capture", name)
		}
	}
	if status, said := ran(args...); status != 0 {
		t.Errorf("the records: exit status %d: %s", status, said)
	}
}
