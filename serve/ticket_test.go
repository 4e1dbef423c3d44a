package serve_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// bearer is the header of a request with the token of the tests.
var bearer = []string{"Authorization", "Bearer " + token}

// issue gets a ticket.
func (p *process) issue(thread string, headers ...string) (ticket string, expires time.Time) {
	p.t.Helper()
	answer := p.post("/threads/"+url.PathEscape(thread)+"/ticket", "", headers...)
	var got struct {
		Ticket  string
		Expires time.Time
	}
	if err := json.Unmarshal([]byte(answer.text()), &got); err != nil || answer.status != http.StatusOK {
		p.t.Fatalf("status %d, %v", answer.status, err)
	}
	return got.Ticket, got.Expires
}

// A ticket is enough to read the events of one thread, and for nothing else.
func TestTicket(t *testing.T) {
	t.Parallel()
	log := memory.New()
	t.Cleanup(func() { log.Close() })
	var said text
	guard := serve.GuardSettings{TokenFile: tokens(t), TicketKey: bytes.Repeat([]byte("k"), serve.MinTicketKey)}
	p := start(t, log, nil, serve.Settings{Guard: guard, Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	same(t, p.post("/threads/a%2Fb/ticket", "").status, http.StatusUnauthorized)
	before := time.Now()
	ticket, expires := p.issue("a/b", bearer...)
	if least := before.Add(serve.DefaultTicketTTL - time.Second); expires.Before(least) || expires.After(least.Add(time.Minute)) {
		t.Errorf("it expires at %s", expires)
	}
	fill(t, log, store.Key{Tenant: "alice", Thread: "a/b"}, "r1")
	events := "/threads/a%2Fb/events?follow=false&ticket="
	p.get(events+ticket).want(http.StatusOK, `"runId":"r1"`)
	p.get(events+"x", bearer...).want(http.StatusOK, `"runId":"r1"`)
	twin := start(t, log, nil, serve.Settings{Guard: guard})
	twin.get(events+ticket).want(http.StatusOK, `"runId":"r1"`)

	refused := func(by *process, method, path string) {
		t.Helper()
		if status := by.do(method, path, input("a/b", "x")).status; status != http.StatusUnauthorized {
			t.Errorf("%s %s: status %d", method, path, status)
		}
	}
	for _, path := range []string{"/threads?ticket=", "/threads/a/events?ticket=", "/threads/a%2Fb/runs?ticket=", "/threads/a%2Fb/restore?ticket=", "/threads/a%2Fb/events/?ticket=", events + "&ticket=", events + "x&ticket="} {
		refused(p, http.MethodGet, path+ticket)
	}
	refused(p, http.MethodHead, events+ticket)
	for _, path := range []string{"/threads/a%2Fb/ticket?ticket=", "/threads/a%2Fb/connect?ticket=", "/threads/a%2Fb/runs/r1/cancel?ticket=", "/agents/a?ticket=", "/threads/a%2Fb/events?ticket="} {
		refused(p, http.MethodPost, path+ticket)
	}
	raw, err := base64.RawURLEncoding.DecodeString(ticket)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	for i := range raw {
		changed := bytes.Clone(raw)
		changed[i] ^= 1
		refused(p, http.MethodGet, events+encode(changed))
		refused(p, http.MethodGet, events+encode(raw[:i]))
	}
	for _, bad := range []string{"", ticket + "A", ticket + "=", encode(append(raw, 'x')), encode(make([]byte, 40)), strings.Repeat("A", 9000)} {
		refused(p, http.MethodGet, events+bad)
	}
	other := guard
	other.TicketKey = nil
	refused(start(t, log, nil, serve.Settings{Guard: other}), http.MethodGet, events+ticket)
	late := guard
	late.TicketTTL = time.Nanosecond
	old, _ := start(t, log, nil, serve.Settings{Guard: late}).issue("a/b", bearer...)
	refused(p, http.MethodGet, events+old)
	// A ticket ends with its token.
	without := guard
	without.TokenFile = filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(without.TokenFile, fmt.Appendf(nil, "alice sha256:%x\n", sha256.Sum256([]byte("another token"))), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(start(t, log, nil, serve.Settings{Guard: without}), http.MethodGet, events+ticket)
	if strings.Contains(said.String(), ticket) {
		t.Error("the log has the ticket")
	}
	if _, err := serve.New(serve.Settings{Log: log, Guard: serve.GuardSettings{TicketKey: []byte("short")}}); err == nil {
		t.Error("a short key is accepted")
	}
}
