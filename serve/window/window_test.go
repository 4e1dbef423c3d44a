package window

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
)

// Every file that the page and its modules name is served, as what it is, and the page may
// load nothing else.
func TestHandler(t *testing.T) {
	h := Handler()
	get := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w
	}
	for path, mediaType := range map[string]string{
		"/": "text/html", "/window/app.js": "text/javascript", "/window/style.css": "text/css",
		"/window/preact.mjs": "text/javascript", "/window/hooks.mjs": "text/javascript", "/window/htm.mjs": "text/javascript",
	} {
		w := get(http.MethodGet, path)
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != mediaType+"; charset=utf-8" || w.Body.Len() == 0 {
			t.Errorf("%s: status %d, %s, %d bytes", path, w.Code, got, w.Body.Len())
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; script-src 'self' 'sha256-") || !strings.Contains(policy, "trusted-types 'none'") {
			t.Errorf("%s: %s", path, policy)
		}
		again := httptest.NewRequest(http.MethodGet, path, nil)
		again.Header.Set("If-None-Match", w.Header().Get("ETag"))
		w = httptest.NewRecorder()
		if h.ServeHTTP(w, again); w.Code != http.StatusNotModified {
			t.Errorf("%s: status %d for the file that the browser has", path, w.Code)
		}
	}
	// All modules are loaded at once, not only when the one that imports them is there.
	page := get(http.MethodGet, "/").Body.String()
	names := []string{"shared.js"}
	for _, pattern := range []string{"*.js", "modules/*.mjs"} {
		found, err := fs.Glob(files, pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		if strings.Count(page, `="window/`+path.Base(name)+`"`) != 1 {
			t.Errorf("the page does not load %s", name)
		}
	}
	for _, path := range []string{"/window/", "/window/page.html", "/window/package.json", "/window/preact.LICENSE", "/window/../page.html", "/window/modules/htm.mjs"} {
		if w := get(http.MethodGet, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	if w := get(http.MethodPost, "/"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}
