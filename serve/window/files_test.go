package window

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/p20export/p20export/internal/look"
)

// forbidden matches what could turn text into markup or code, and addresses of other servers. The
// page's policy forbids the first as well, but a browser may not know it.
var forbidden = regexp.MustCompile(`(?i)(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\b|\bnew\s+Function\b|createContextualFragment|DOMParser|srcdoc|setHTML|import\s*\(|javascript:|<script\b[^>]*>[^<{]|\sstyle\s*=|setAttribute\(\s*["']style|\son[a-z]+\s*=\s*["']|\b(https?|wss?|ftp)://|["'(=]//`)

// No file of the window has anything of forbidden. The modules are as they were published; what
// they have is dangerouslySetInnerHTML of preact, which no file uses.
func TestFiles(t *testing.T) {
	texts := map[string]string{"look: base.css": look.Style(), "look: shared.js": look.Module()}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Dir(name) == "modules" {
			return err
		}
		text, err := files.ReadFile(name)
		texts[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 10 {
		t.Fatalf("only %d files", len(texts))
	}
	for name, text := range texts {
		for i, line := range strings.Split(text, "\n") {
			if found := forbidden.FindString(line); found != "" {
				t.Errorf("%s:%d has %q", name, i+1, found)
			}
		}
	}
	for _, bad := range []string{
		`e.innerHTML = text`, `<p dangerouslySetInnerHTML=${x} />`, `e.insertAdjacentHTML("x", y)`, `document.write(x)`, `eval(x)`, `new Function(x)`,
		`<p style="color: red">`, `<p style=${x}>`, `e.setAttribute("style", x)`, `fetch("https://p20export.example/")`, `fetch("//p20export.example/")`, `url(//p20export.example)`,
		`import("x")`, `<a href="javascript:x">`, `<b onclick="x">`, `<script src="x">x`,
	} {
		if !forbidden.MatchString(bad) {
			t.Errorf("%s is not forbidden", bad)
		}
	}
}

// make window compares all files of the modules.
func TestModulesCompared(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	compared := regexp.MustCompile(`[ /][a-zA-Z./]+:([a-z]+\.(?:mjs|LICENSE))\b`).FindAllStringSubmatch(string(makefile), -1)
	var names []string
	for _, m := range compared {
		names = append(names, m[1])
	}
	paths, err := filepath.Glob("modules/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if name := filepath.Base(p); !strings.HasPrefix(name, "package") && !slices.Contains(names, name) {
			t.Errorf("make window does not compare %s", name)
		}
	}
	if len(names) < 5 {
		t.Errorf("make window compares %q", names)
	}
}
