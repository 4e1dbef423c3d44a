package serve_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/serve"
	"github.com/p20export/p20export/store"
	"github.com/p20export/p20export/store/memory"
)

// ask sends a request with headers, each as "NAME: VALUE", and returns the response.
func (p *process) ask(method, path, body string, headers ...string) (status int, text string, header http.Header) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(response.Body); err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, b.String(), response.Header
}

// What the guard refuses is answered with a problem document, and counted.
func TestGuarded(t *testing.T) {
	p := start(t, memory.New(), newAgent(t), serve.Settings{Guard: serve.GuardSettings{MaxRequestBytes: 100}})
	for _, test := range []struct {
		method, path, body string
		headers            []string
		status             int
		code               serve.Refusal
	}{
		{"POST", "/agents/a", "{}", []string{"Content-Type: text/plain"}, 415, serve.MediaType},
		{"POST", "/agents/a", strings.Repeat(" ", 101), []string{"Content-Type: application/json"}, 413, serve.BodyTooLarge},
		{"GET", "/threads", "", []string{"Host: evil.example"}, 421, serve.HostRefused},
		{"GET", "/threads", "", []string{"Origin: http://evil.example"}, 403, serve.OriginRefused},
	} {
		status, text, header := p.ask(test.method, test.path, test.body, test.headers...)
		want := fmt.Sprintf(`"code":%q`, test.code)
		if status != test.status || !strings.Contains(text, want) || header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s %v: status %d, want %d and %s\n%s", test.method, test.path, test.headers, status, test.status, want, text)
		}
	}
}

// The tenant of a token has only its own threads.
func TestTenants(t *testing.T) {
	log, file := memory.New(), filepath.Join(t.TempDir(), "tokens")
	for _, tenant := range []string{"ann", "bob"} {
		key := store.Key{Tenant: tenant, Thread: "of-" + tenant}
		if _, err := log.Append(t.Context(), key, 0, []store.Entry{{Stream: "s", Kind: store.Event, Data: []byte(`{}`)}}); err != nil {
			t.Fatal(err)
		}
	}
	line := func(tenant, token string) string {
		return fmt.Sprintf("%s sha256:%x\n", tenant, sha256.Sum256([]byte(token)))
	}
	if err := os.WriteFile(file, []byte("# tokens\n"+line("ann", "secret-of-ann")+line("bob", "secret-of-bob")), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, log, nil, serve.Settings{Guard: serve.GuardSettings{TokenFile: file}})
	if status, text, header := p.ask("GET", "/threads", ""); status != 401 || header.Get("WWW-Authenticate") == "" || strings.Contains(text, "of-") {
		t.Errorf("without a token: status %d\n%s", status, text)
	}
	for _, who := range []string{"ann", "bob"} {
		token := "Authorization: Bearer secret-of-" + who
		if status, text, _ := p.ask("GET", "/threads", "", token); status != 200 || strings.Count(text, `"of-`) != 1 || !strings.Contains(text, `"of-`+who) {
			t.Errorf("%s: status %d\n%s", who, status, text)
		}
		theirs, _, _ := p.ask("GET", "/threads/of-ann/runs", "", token)
		none, _, _ := p.ask("GET", "/threads/none/runs", "", token)
		if none != 404 || who == "ann" && theirs != 200 || who == "bob" && theirs != none {
			t.Errorf("%s: status %d for the thread of ann, %d for none", who, theirs, none)
		}
	}
	if err := os.WriteFile(file, []byte("ann secret-of-ann"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := serve.New(serve.Settings{Log: log, Guard: serve.GuardSettings{TokenFile: file}}); !errors.Is(err, serve.ErrTokens) || strings.Contains(err.Error(), "secret") {
		t.Errorf("a line without a hash: %v", err)
	}
}

// A reader beyond the limit is refused, and takes the place of one that has left.
func TestMaxReaders(t *testing.T) {
	p := start(t, memory.New(), nil, serve.Settings{Guard: serve.GuardSettings{MaxReaders: 1}})
	first, err := http.Get(p.url + "/threads/t/events")
	if err != nil {
		t.Fatal(err)
	}
	if status, text, header := p.ask("GET", "/threads/t/events", ""); status != 503 || header.Get("Retry-After") == "" || !strings.Contains(text, string(serve.TooManyReaders)) {
		t.Errorf("a second reader: status %d\n%s", status, text)
	}
	first.Body.Close()
	for {
		if status, _, _ := p.ask("GET", "/threads/t/events?follow=false", ""); status == 200 {
			return
		}
	}
}
