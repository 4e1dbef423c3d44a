// Package window has the files of the window: the pages with which people look at the threads
// of a log.
//
// The pages ask the HTTP interface of package serve, as any client does, and have no rules of
// AG-UI: messages and states are what the server restored. They have the design of package look,
// and use preact and htm, whose files are in modules as they were published; make window compares
// them. There is no build step.
//
// The files have nothing of a log, so everybody who can connect may load them.
package window

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/p20export/p20export/internal/look"
)

//go:embed page.html *.js *.css modules/*.mjs
var files embed.FS

// dir is the directory of all files but the page.
const dir = "/window/"

// A file is what a path serves.
type file struct {
	mediaType string
	text      []byte
	tag       string // ETag
}

func newFile(name string, text []byte) file {
	sum := sha256.Sum256(text)
	return file{mediaType(name), text, `"` + hex.EncodeToString(sum[:8]) + `"`}
}

// Handler returns a handler that serves the page at / and its files below /window/.
func Handler() http.Handler {
	all := make(map[string]file)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if name == "page.html" {
			all["/"] = newFile(name, text)
		} else {
			all[dir+path.Base(name)] = newFile(name, text)
		}
		return nil
	})
	if err != nil {
		panic(err) // the files are in the program
	}
	all[dir+"base.css"] = newFile("base.css", []byte(look.Style()))
	all[dir+"shared.js"] = newFile("shared.js", []byte(look.Module()))
	policy := policy(string(all["/"].text))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := all[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "the page is only read", http.StatusMethodNotAllowed)
			return
		}
		h.Set("Content-Type", f.mediaType)
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache") // the browser asks whether the program was replaced
		h.Set("ETag", f.tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.text))
	})
}

// Has reports whether Handler serves a path.
func Has(path string) bool { return path == "/" || strings.HasPrefix(path, dir) }

// mediaType returns the media type of a file.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	}
	return "text/javascript; charset=utf-8"
}

// policy returns the Content-Security-Policy of the page. Its only inline script is the import
// map.
func policy(page string) string {
	_, rest, _ := strings.Cut(page, `<script type="importmap">`)
	text, _, _ := strings.Cut(rest, "</script>")
	sum := sha256.Sum256([]byte(text))
	return "default-src 'none'; script-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" +
		"; require-trusted-types-for 'script'; trusted-types 'none'"
}
