//go:build browser

package report

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/p20export/p20export/internal/testkit/browser"
)

var chromium struct {
	sync.Once
	*browser.Browser
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.Browser != nil {
		chromium.Close()
	}
	os.Exit(code)
}

// tab is an open page in the browser, which all tests share.
type tab struct{ *browser.Tab }

// open opens a page in a window of a width, with a colour scheme. At the end of the test,
// open checks that the page loaded nothing but itself and logged nothing.
func open(t *testing.T, page string, width int64, scheme string, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	chromium.Do(func() { chromium.Browser, chromium.err = browser.Launch() })
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	address := (&url.URL{Scheme: "file", Path: page}).String()
	b := &tab{chromium.Open(t, address, width, scheme, before...)}
	t.Cleanup(func() {
		b.Close()
		if loaded := b.Loaded(); len(loaded) != 1 || loaded[0] != address {
			t.Errorf("the page loaded %v", loaded)
		}
		for _, p := range b.Problems() {
			t.Errorf("the browser says: %s", p)
		}
	})
	return b
}

// pageOf writes a page about captures and returns its path.
func pageOf(t *testing.T, paths ...string) string {
	t.Helper()
	s := Settings{Tool: tool, Out: filepath.Join(t.TempDir(), "report.html")}
	rows, err := Write(context.Background(), paths, s)
	if err != nil || rows[0].Report == nil {
		t.Fatalf("%v %v", rows, err)
	}
	return s.Out
}
