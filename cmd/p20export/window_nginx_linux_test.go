//go:build browser

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile are ids of threads that a careless page would interpret.
var hostile = []string{
	"a/../b", "../../threads", "a%2Fb", "?thread=t&at=1#x", "<img src=x onerror=document.title=1>", `" onmouseover="alert(1)`, "javascript:alert(1)",
	"__proto__", "constructor", "toString", "\u202egnp.exe", "zero\u200bwidth", "a\tb\nc", "😀 ü", strings.Repeat("long", 250),
}

// Ids are shown as texts in which every character is visible, and lead to their threads.
func TestBrowserWindowHostile(t *testing.T) {
	_, url := startServer(t, "serve", "--store", "sqlite:"+filepath.Join(t.TempDir(), "events.db"), "--allow-append")
	for _, id := range hostile {
		appendRun(t, url, id, "r")
	}
	w := openWindow(t, url)
	for _, width := range []int64{390, 1280} {
		b := w.tab("/", width, "dark")
		b.Until(rowIDs + `.length === ` + js(len(hostile)))
		b.Holds(`JSON.stringify(` + rowIDs + `.toSorted()) === JSON.stringify(` + js(hostile) + `.toSorted())`)
		b.Holds(`document.documentElement.scrollWidth <= innerWidth`)
		b.Holds(`document.querySelectorAll(".threads img, .threads script").length === 0`)
		// Nothing invisible is left, in texts, titles and names.
		b.Holds(`[...document.querySelectorAll(".threads a")].every((a) => !/[\u202e\u200b\t\n]/.test(a.textContent + a.title))`)
		b.Holds(`document.querySelectorAll(".threads b.x").length === 4`)
		b.Holds(`document.querySelectorAll(".thread").length === 15 && new Set([...document.querySelectorAll(".thread")].map((row) => row.getBoundingClientRect().height)).size === 1`)
		b.Judge()
		b.Close()
	}
	b := w.tab("/", 1280, "light", "404 (Not Found)")
	for _, id := range hostile {
		b.Until(rowIDs + `.length === ` + js(len(hostile)))
		b.Script(`[...document.querySelectorAll(".threads a")].find((a) => a.dataset.thread === ` + js(id) + `).click()`)
		b.Until(`new URLSearchParams(location.search).get("thread") === ` + js(id) + ` && document.title.endsWith(" – p20export") && document.title !== "Threads – p20export"`)
		b.Script(`history.back()`)
	}
	find := w.tab("/?find=__proto__", 1280, "light")
	find.Until(rowIDs + `.join() === "__proto__"`)
}

// The window works below a path, behind nginx with the configuration of its document.
func TestBrowserWindowNginx(t *testing.T) {
	nginx := os.Getenv("P20EXPORT_NGINX")
	if nginx == "" {
		t.Fatal("P20EXPORT_NGINX is not set; make browser sets it and runs these tests")
	}
	_, url := startServer(t, "serve", "--store", "sqlite:"+filepath.Join(t.TempDir(), "events.db"), "--allow-append")
	for _, id := range hostile {
		appendRun(t, url, id, "r")
	}
	configuration := blocks(t, "../../docs/window.md", "```nginx")[0].text
	w := openWindow(t, nginxBelow(t, nginx, configuration, strings.TrimPrefix(url, "http://"))+"/p20export/")
	b := w.tab("", 1280, "light", "404 (Not Found)")
	b.Until(rowIDs + `.length === ` + js(len(hostile)))
	b.Holds(`location.pathname === "/p20export/"`)
	// Ids arrive as they were sent.
	for _, id := range hostile {
		if id == "../../threads" { // nginx takes it for another path, as the document says
			continue
		}
		b.Holds(`fetch("threads/" + encodeURIComponent(` + js(id) + `) + "/runs").then((r) => r.json()).then((list) => list.runs.length === 1 && list.runs[0].run_id === "r")`)
	}
	b.Script(`[...document.querySelectorAll(".threads a")].find((a) => a.dataset.thread === "a/../b").click()`)
	b.Until(`document.title === "a/../b – p20export" && location.pathname + location.search === "/p20export/?thread=a%2F..%2Fb"`)
	b.Script(`document.querySelector(".top a").click()`)
	b.Until(`location.href === ` + js(w.url))
	b.Until(rowIDs + `.length === ` + js(len(hostile)))
	// What the browser kept of a thread leads there again.
	again := w.tab("?thread=a%2F..%2Fb", 390, "dark", "404 (Not Found)")
	again.Until(`document.title === "a/../b – p20export"`)
	again.Holds(`performance.getEntriesByType("resource").every((r) => r.name.startsWith(` + js(w.url) + `))`)
}

// nginxBelow starts nginx with a configuration of the document, before a server, and returns its URL.
func nginxBelow(t *testing.T, program, configuration, server string) string {
	t.Helper()
	dir, address := nginxDir(t)
	configureNginx(t, dir, adapt(t, configuration, map[string]string{"listen 80;": "listen " + address + ";", "127.0.0.1:8080": server}))
	runNginx(t, program, dir, address)
	return "http://" + address
}
