package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/project/sign"
	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
	"github.com/p20export/p20export/store/seal"
)

// An operator seals threads.
type operator struct {
	seal.Settings
	policy seal.Policy
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	key, err := sign.NewPrivateKey(sign.Ed25519)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pub.pem")
	if err := os.WriteFile(file, key.Public().PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	trust, err := sign.ReadTrust(file)
	if err != nil {
		t.Fatal(err)
	}
	return &operator{seal.Settings{Name: "agents.example/log", Signers: []sign.Signer{key}}, seal.Policy{Trust: trust}}
}

// seal seals a thread and returns the checkpoint.
func (o *operator) seal(t *testing.T, log store.Log, key store.Key) string {
	t.Helper()
	sealed, err := o.Seal(t.Context(), log, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(sealed.Seal.Checkpoint)
}

// checked returns the positions of the entries of a proof, after it was checked.
func (o *operator) checked(t *testing.T, text string, key store.Key) (positions []int64) {
	t.Helper()
	p, err := seal.DecodeProof([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	c, _, found := o.policy.CheckProof(t.Context(), p)
	if finding.Failed(found) {
		t.Fatalf("%v", found)
	}
	if thread, tenant := c.IsOf(key); !thread || !tenant {
		t.Errorf("the proof is of another thread")
	}
	for _, e := range p.Entries {
		positions = append(positions, e.Position)
	}
	return positions
}

// The last seal of a thread is served as it is in the log, also after the thread was deleted.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	logs(t, func(t *testing.T, log store.Log) {
		key := store.Key{Thread: "a/b"}
		fill(t, log, key, "r1")
		p := start(t, log, nil, serve.Settings{Guard: serve.GuardSettings{AllowedOrigins: []string{"http://page.example"}}})
		const path = "/threads/a%2Fb/checkpoint"
		p.get(path).want(http.StatusNotFound, `"not_sealed"`)
		p.get("/threads/none/checkpoint").want(http.StatusNotFound, `"unknown_thread"`)
		first := o.seal(t, log, key)
		got := p.get(path, "Origin", "http://page.example")
		tag := got.header.Get("ETag")
		same(t, got.text(), first)
		same(t, got.header.Get("Content-Type"), "text/plain; charset=utf-8")
		same(t, got.header.Get("Cache-Control"), "private, no-cache")
		same(t, strings.Contains(got.header.Get("Access-Control-Expose-Headers"), "ETag"), true)
		p.get(path, "If-None-Match", tag).want(http.StatusNotModified, "")
		head := p.do(http.MethodHead, path, "")
		same(t, []string{head.text(), head.header.Get("ETag"), head.header.Get("Content-Length")}, []string{"", tag, fmt.Sprint(len(first))})
		p.get("/threads").want(http.StatusOK, `"sealed":5,`)

		if _, err := log.Append(t.Context(), key, 5, []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte("{}")}}); err != nil {
			t.Fatal(err)
		}
		last := o.seal(t, log, key)
		same(t, p.get(path, "If-None-Match", tag).text(), last)
		p.post(path, "{}").want(http.StatusMethodNotAllowed, "method_not_allowed")
		if _, err := log.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		same(t, p.get(path).text(), last)
		p.get("/threads/a%2Fb/proof?at=1").want(http.StatusGone, `"thread_deleted"`)
		fill(t, log, store.Key{Thread: "u"}, "r1")
		if _, err := log.Delete(t.Context(), store.Key{Thread: "u"}); err != nil {
			t.Fatal(err)
		}
		p.get("/threads/u/checkpoint").want(http.StatusGone, `"thread_deleted"`)
	})
}

// Each entry and each run that a seal covers can be proved.
func TestProof(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	logs(t, func(t *testing.T, log store.Log) {
		key := store.Key{Thread: "t"}
		fill(t, log, key, "r1", "r2")
		p := start(t, log, nil, serve.Settings{})
		p.get("/threads/t/proof?at=1").want(http.StatusNotFound, "no seal covers position 1")
		o.seal(t, log, key)
		for at := range int64(10) {
			got := p.get(fmt.Sprint("/threads/t/proof?at=", at+1))
			same(t, got.header.Get("Content-Type"), "text/plain; charset=utf-8")
			same(t, o.checked(t, got.text(), key), []int64{at + 1})
		}
		got := p.get("/threads/t/proof?run=r2")
		same(t, got.header.Get("Content-Type"), "application/json")
		same(t, o.checked(t, got.text(), key), []int64{6, 7, 8, 9})
		// The last of several runs with an id.
		if _, err := log.Append(t.Context(), key, 10, []store.Entry{
			{Stream: "s", Kind: store.Event, Data: []byte(started("t", "r2"))}, {Stream: "s", Kind: store.Event, Data: []byte(finished("t", "r2"))},
		}); err != nil {
			t.Fatal(err)
		}
		p.get("/threads/t/proof?run=r2").want(http.StatusNotFound, `"not_sealed"`)
		o.seal(t, log, key)
		same(t, o.checked(t, p.get("/threads/t/proof?run=r2").text(), key), []int64{11, 12})
		same(t, p.do(http.MethodHead, "/threads/t/proof?at=1", "").text(), "")
		for query, want := range map[string]string{
			"": "400 invalid_query", "?": "400 invalid_query", "?at=": "400 invalid_query", "?run=": "400 invalid_query", "?at=1&run=r1": "400 invalid_query",
			"?at=0": "400 invalid_query", "?at=-1": "400 invalid_query", "?at=x": "400 invalid_query", "?at=1e1": "400 invalid_query", "?at=1&at=2": "400 invalid_query",
			"?at=9223372036854775808": "400 invalid_query", "?at=13": "400 invalid_query", "?at=9223372036854775807": "400 invalid_query", "?at=%00": "400 invalid_query",
			"?run=none": "404 unknown_run", "?run=%23" + "1": "404 unknown_run", "?run=%00": "400 invalid_id", "?run=%FF": "400 invalid_id", "?run=" + strings.Repeat("r", 5000): "400 invalid_id",
		} {
			status, code, _ := strings.Cut(want, " ")
			answer := p.get("/threads/t/proof" + query)
			if text := answer.text(); fmt.Sprint(answer.status) != status || !strings.Contains(text, `"`+code+`"`) {
				t.Errorf("%.40s: status %d, want %s: %s", query, answer.status, want, text)
			}
		}
		p.get("/threads/none/proof?at=1").want(http.StatusNotFound, `"unknown_thread"`)
		p.get("/threads/none/proof?run=r").want(http.StatusNotFound, `"unknown_thread"`)
	})
}

// A tenant gets no seal and no proof of another's thread, and does not learn that there is one.
func TestSealsOfTenants(t *testing.T) {
	t.Parallel()
	o, log, file := newOperator(t), memory.New(), filepath.Join(t.TempDir(), "tokens")
	ann := store.Key{Tenant: "ann", Thread: "t"}
	fill(t, log, ann, "r")
	checkpoint := o.seal(t, log, ann)
	var lines []byte
	for _, tenant := range []string{"ann", "bob"} {
		lines = fmt.Appendf(lines, "%s sha256:%x\n", tenant, sha256.Sum256([]byte("secret-of-"+tenant)))
	}
	if err := os.WriteFile(file, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, log, nil, serve.Settings{Guard: serve.GuardSettings{TokenFile: file}})
	for _, path := range []string{"/threads/t/checkpoint", "/threads/t/proof?at=1", "/threads/t/proof?run=r"} {
		p.get(path).want(http.StatusUnauthorized, `"unauthorized"`)
		p.get(path, "Authorization", "Bearer secret-of-ann").want(http.StatusOK, "agents.example/log/")
		got := p.get(path, "Authorization", "Bearer secret-of-bob")
		same(t, got.status, http.StatusNotFound)
		none := p.get(strings.Replace(path, "/t/", "/none/", 1), "Authorization", "Bearer secret-of-bob")
		same(t, got.text(), none.text())
	}
	same(t, p.get("/threads/t/checkpoint", "Authorization", "Bearer secret-of-ann").text(), checkpoint)
}

// A rewritten thread gives no proof, and the log says so.
func TestProofRewritten(t *testing.T) {
	t.Parallel()
	o, log := newOperator(t), &failing{Log: newMemory(t)}
	fill(t, log, store.Key{Thread: "t"}, "r")
	o.seal(t, log, store.Key{Thread: "t"})
	said := &text{}
	p := start(t, log, nil, serve.Settings{Logger: slog.New(slog.NewTextHandler(said, nil))})
	p.get("/threads/t/proof?at=3").want(http.StatusOK, "tlog-proof")
	log.rewritten.Store(true)
	for _, query := range []string{"at=3", "run=r"} {
		p.get("/threads/t/proof?"+query).want(http.StatusConflict, `"thread_rewritten"`)
	}
	if !strings.Contains(said.String(), "a thread was rewritten") {
		t.Errorf("the log has %s", said)
	}
}

// The proof of a run that is too large for memory is refused.
func TestProofTooLarge(t *testing.T) {
	t.Parallel()
	o, log, key := newOperator(t), memory.New(), store.Key{Thread: "t"}
	entries := []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte(started("t", "r"))}}
	large := append(bytes.Repeat([]byte(" "), 1<<20), "{}"...)
	for range 33 {
		entries = append(entries, store.Entry{Stream: "s", Kind: store.Event, Data: large})
	}
	if _, err := log.Append(t.Context(), key, 0, entries); err != nil {
		t.Fatal(err)
	}
	o.seal(t, log, key)
	p := start(t, log, nil, serve.Settings{})
	p.get("/threads/t/proof?run=r").want(http.StatusUnprocessableEntity, `"thread_too_large"`)
	same(t, o.checked(t, p.get("/threads/t/proof?at=9").text(), key), []int64{9})
}

// waiting is a log whose readers wait until nobody wants what they read.
type waiting struct {
	*memory.Log
	reading, left chan struct{}
}

func (w *waiting) Read(ctx context.Context, _ store.Key, _ int64) iter.Seq2[*store.Entry, error] {
	return func(yield func(*store.Entry, error) bool) {
		close(w.reading)
		<-ctx.Done()
		close(w.left)
		yield(nil, ctx.Err())
	}
}

// A request whose client leaves reads no more.
func TestProofCancelled(t *testing.T) {
	t.Parallel()
	o, log := newOperator(t), newMemory(t)
	fill(t, log, store.Key{Thread: "t"}, "r")
	o.seal(t, log, store.Key{Thread: "t"})
	w := &waiting{log, make(chan struct{}), make(chan struct{})}
	p := start(t, w, nil, serve.Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/threads/t/proof?at=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if response, err := http.DefaultClient.Do(r); err == nil {
			response.Body.Close()
		}
	}()
	<-w.reading
	cancel()
	<-w.left
}

// slowBlocks is a log whose Blocks waits until the request ends.
type slowBlocks struct {
	store.Log
	entered chan struct{}
}

func (l slowBlocks) Blocks(ctx context.Context, _ store.Key) ([]byte, error) {
	l.entered <- struct{}{}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Proofs that are slow do not take the places of conversations.
func TestProofsLeaveRoom(t *testing.T) {
	t.Parallel()
	log, o, key := memory.New(), newOperator(t), store.Key{Thread: "t"}
	fill(t, log, key, "r1")
	o.seal(t, log, key)
	slow := slowBlocks{log, make(chan struct{})}
	p := start(t, slow, nil, serve.Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const places = 8
	for range places {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/threads/t/proof?at=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if response, err := http.DefaultClient.Do(r); err == nil {
				response.Body.Close()
			}
		}()
		<-slow.entered
	}
	p.get("/threads/t/restore").want(http.StatusOK, `"messages"`)
}
