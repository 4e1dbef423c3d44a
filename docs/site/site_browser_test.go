//go:build browser

// Package site_test uses the site of the documentation in a real Chromium.
package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/testkit/browser"
)

// open opens a page of the site, from its files.
func open(t *testing.T, b *browser.Browser, page string, width int64) *browser.Tab {
	t.Helper()
	tab := b.Open(t, "file://"+filepath.Join(os.Getenv("P20EXPORT_SITE"), page), width, "light")
	t.Cleanup(func() {
		for _, address := range tab.Loaded() {
			if !strings.HasPrefix(address, "file://") && !strings.HasPrefix(address, "data:") && !strings.HasPrefix(address, "blob:") {
				t.Errorf("%s loads %s", page, address)
			}
		}
		for _, p := range tab.Problems() {
			t.Errorf("%s: the browser says: %s", page, p)
		}
	})
	return tab
}

// The site works from files, without a network: search finds rules, the comparison is sorted by
// the column whose heading is used, and no page is wider than a phone.
func TestBrowserSite(t *testing.T) {
	b, err := browser.Launch()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const phone = 390
	tab := open(t, b, "comparison.html", phone)
	tab.Holds(`document.documentElement.scrollWidth <= 390`)
	const column = `[...document.querySelectorAll(".sortable tbody tr")].map((r) => r.cells[3].textContent).join()`
	tab.Holds(`document.querySelectorAll(".sortable tbody tr").length === 13`)
	tab.Click(`.sortable th:nth-child(4)`)
	tab.Holds(`document.querySelector(".sortable th:nth-child(4)").getAttribute("aria-sort") === "ascending"`)
	tab.Holds(column + ` === "18,19,20,20,20,20,20,21,21,21,22,22,22"`)
	tab.Focus(`.sortable th:nth-child(4)`)
	tab.Keys("\r")
	tab.Holds(column + ` === "22,22,22,21,21,21,20,20,20,20,20,19,18"`)
	tab.Close()

	for _, page := range []string{"index.html", "start/maintainer.html", "contract.html", "commands.html", "operations.html"} {
		tab := open(t, b, page, phone)
		tab.Holds(`document.documentElement.scrollWidth <= 390 && document.querySelector("h1") !== null`)
		tab.Close()
	}

	tab = open(t, b, "index.html", 1280)
	tab.Holds(`document.querySelector("img[src='images/window.png']").naturalWidth > 0`)
	tab.Focus(`[data-md-component=search-query]`)
	tab.Keys("lone_surrogate")
	tab.Until(`document.querySelectorAll(".md-search-result__item").length > 0`)
	tab.Holds(`document.querySelector(".md-search-result__list").textContent.includes("lone_surrogate")`)
}
