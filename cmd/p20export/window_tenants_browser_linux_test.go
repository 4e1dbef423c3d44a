//go:build browser

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/internal/testkit/browser"
)

// tokensOf returns a token file with tokens of tenants.
func tokensOf(tenants ...string) (lines string) {
	for _, tenant := range tenants {
		sum := sha256.Sum256([]byte("token-of-" + tenant))
		lines += fmt.Sprintf("%s sha256:%s\n", tenant, hex.EncodeToString(sum[:]))
	}
	return lines
}

// secretOf is what only the threads of a tenant have.
func secretOf(tenant string) string { return "secret-of-" + tenant }

// runAs runs the agent in a thread of a tenant, whose secret everything has.
func (s *speaker) runAs(t *testing.T, url, tenant, thread, run string) {
	t.Helper()
	secret := secretOf(tenant)
	response := askAgent(t, url, "token-of-"+tenant, thread, run, secret)
	for _, event := range []string{begins, word(secret), textEnds, `{"type":"STATE_SNAPSHOT","snapshot":{"it":` + js(secret) + `}}`, done} {
		s.say <- event
	}
	if _, err := io.Copy(io.Discard, response); err != nil {
		t.Fatal(err)
	}
}

// keepReceived is JavaScript that keeps all that the page receives from the server.
const keepReceived = `window.received = [];
const ask = window.fetch;
window.fetch = async (...all) => {
	const response = await ask(...all);
	const n = received.push("") - 1;
	const reader = response.clone().body?.pipeThrough(new TextDecoderStream()).getReader();
	const read = () => reader?.read().then(({ value, done }) => { if (!done) { received[n] += value; return read(); } }).catch(() => {});
	read();
	return response;
};`

// routes returns the paths of the interface that are about a thread, each with its method, as
// JavaScript can ask for them.
func routes(t *testing.T) (list [][2]string) {
	t.Helper()
	var description struct {
		Paths map[string]map[string]json.RawMessage
	}
	text, err := os.ReadFile("../../docs/serve.openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &description); err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{"facts": "?run=2", "fork": "?run=2&run_id=new", "capture": "?run=2", "report": "?run=2", "events": "?follow=false", "streams/{thread}": "?offset=-1", "proof": "?position=2"}
	for path, methods := range description.Paths {
		if !strings.Contains(path, "{thread}") {
			continue
		}
		for method := range methods {
			query := ""
			for end, q := range queries {
				if method == "get" && strings.HasSuffix(path, end) {
					query = q
				}
			}
			list = append(list, [2]string{strings.ToUpper(method), strings.NewReplacer("{run}", "r1", "{position}", "3", "{index}", "1").Replace(strings.TrimPrefix(path, "/")) + query})
		}
	}
	if len(list) < 18 {
		t.Fatalf("only %d routes", len(list))
	}
	return list
}

// A page with the token of a tenant shows and receives nothing of another tenant: not in the list, not
// through a link to a thread that only the other has, not from a thread whose id both have, and not
// on any route. When the token is removed, the page forgets what it showed.
func TestBrowserWindowTenants(t *testing.T) {
	a := newSpeaker(t)
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	testkit.Write(t, tokens, tokensOf("acme", "umbrella"))
	w := openThreadWindow(t, "serve", "--store", "sqlite:"+filepath.Join(dir, "events.db"), "--token-file", tokens, "--upstream", "guide="+a.URL, "--captures", filepath.Join(dir, "captures"))
	for _, tenant := range []string{"acme", "umbrella"} {
		a.runAs(t, w.url, tenant, "both", "r1")
		a.runAs(t, w.url, tenant, "only-of-"+tenant, "r1")
	}
	open := func(query, tenant string) *browser.Tab {
		t.Helper()
		b := w.browser.Open(t, w.url+"/"+query, 1280, "light", browser.Command(cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: keepReceived}))
		b.Until(`document.activeElement?.id === "token"`)
		b.Keys("token-of-"+tenant, kb.Enter)
		return b
	}
	other := map[string]string{"acme": "umbrella", "umbrella": "acme"}
	// alone checks that the page has nothing of another tenant, and not even received it.
	alone := func(b *browser.Tab, tenant string) {
		t.Helper()
		secret := js(secretOf(other[tenant]))
		b.Holds(`!document.documentElement.outerHTML.includes(` + secret + `)`)
		b.Holds(`!received.some((text) => text.includes(` + secret + `))`)
	}
	openAll := func(b *browser.Tab) {
		t.Helper()
		b.Until(complete)
		b.Script(`for (const d of document.querySelectorAll("details")) d.open = true`)
		b.Until(`document.querySelector(".picture") && document.querySelector(".entry-row") && document.querySelector(".command")`)
	}

	tabs := make(map[string]*browser.Tab)
	for tenant, another := range other {
		list := open("", tenant)
		list.Until(rowIDs + `.toSorted().join() === ` + js("both,only-of-"+tenant))
		find(list, "of-"+another, "0 of 2 threads")
		find(list, "", "2 threads")
		alone(list, tenant)
		list.Holds(`!received.join().includes(` + js("only-of-"+another) + `)`)

		// The thread of another is as one that does not exist.
		link := open("?thread=only-of-"+another, tenant)
		link.Until(`document.querySelector(".failure")`)
		missing := open("?thread=nowhere", tenant)
		missing.Until(`document.querySelector(".failure")`)
		const failure = `document.querySelector(".failure").textContent`
		if got, want := browser.Evaluate[string](link, failure), browser.Evaluate[string](missing, failure); got != strings.ReplaceAll(want, "nowhere", "only-of-"+another) {
			t.Errorf("of a thread of another the page says %q, of one that does not exist %q", got, want)
		}
		alone(link, tenant)

		both := open("?thread=both", tenant)
		openAll(both)
		both.Holds(spoken + ` === ` + js(secretOf(tenant)))
		alone(both, tenant)
		served := 0
		for _, route := range routes(t) {
			// The status and the text of an answer. Some routes wait for events.
			answer := func(thread string) string {
				path := strings.ReplaceAll(route[1], "{thread}", thread)
				return browser.Evaluate[string](both, fmt.Sprintf(`(async () => {
					const stop = new AbortController();
					const response = await fetch(%s, {method: %s, body: %[2]s === "POST" ? JSON.stringify({threadId: %[3]s, runId: "x", messages: [], tools: [], context: [], state: {}, forwardedProps: {}}) : undefined, signal: stop.signal, headers: {"Content-Type": "application/json", Authorization: "Bearer token-of-" + %[4]s}});
					const waits = /event-stream/.test(response.headers.get("Content-Type")) && !%[1]s.includes("follow=false");
					const text = waits ? "" : await response.text();
					stop.abort();
					return response.status + " " + text.replace(/"(ticket|expires)":"[^"]+"/g, ""); // differ in any case
				})()`, js(path), js(route[0]), js(thread), js(tenant)))
			}
			if got, want := answer("only-of-"+another), answer("nowhere"); strings.ReplaceAll(got, "only-of-"+another, "nowhere") != want {
				t.Errorf("%s %s of a thread of another: %.300s, want %.300s", route[0], route[1], got, want)
			}
			if route[0] == "GET" && strings.HasPrefix(answer("both"), "200 ") {
				served++
			}
		}
		if served < 14 {
			t.Errorf("only %d routes have something of the thread", served)
		}
		alone(both, tenant)
		tabs[tenant] = both
	}

	// What happens in the thread of another is not seen in the open page.
	acme := tabs["acme"]
	before := browser.Evaluate[int](acme, position)
	a.runAs(t, w.url, "umbrella", "both", "r2")
	tabs["umbrella"].Until(`document.querySelectorAll(".run-row").length === 2 && document.querySelector(".where code").textContent === "r2"`)
	acme.Holds(fmt.Sprintf(`%s === %d && document.querySelectorAll(".run-row").length === 1`, position, before))
	a.runAs(t, w.url, "acme", "both", "r3")
	acme.Until(`document.querySelectorAll(".run-row").length === 2 && document.querySelector(".where code").textContent === "r3"`)
	alone(acme, "acme")
	alone(tabs["umbrella"], "umbrella")

	// The token is removed while the page and a list are open.
	list := open("", "acme")
	list.Until(rowIDs + `.length === 2`)
	testkit.Write(t, tokens, tokensOf("umbrella"))
	for _, b := range []*browser.Tab{acme, list} {
		b.Until(`document.querySelector(".login")?.textContent.includes("The server does not accept this token.")`)
		b.Holds(`!document.documentElement.outerHTML.includes(` + js(secretOf("acme")) + `) && document.querySelectorAll(".thread").length === 0 && !document.querySelector(".tenant")`)
	}
	// Whoever has another token sees only what that one may see.
	acme.Script(`received.length = 0; document.getElementById("token").value = ""; document.getElementById("token").focus()`)
	acme.Keys("token-of-umbrella", kb.Enter)
	openAll(acme)
	acme.Holds(spoken + ` === ` + js(secretOf("umbrella")) + ` && document.querySelector(".tenant").textContent === "Tenant umbrella"`)
	alone(acme, "umbrella")
	list.Script(`document.getElementById("token").value = ""; document.getElementById("token").focus()`)
	list.Keys("token-of-umbrella", kb.Enter)
	list.Until(rowIDs + `.toSorted().join() === "both,only-of-umbrella"`)
}
