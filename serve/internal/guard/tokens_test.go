package guard

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTokenFiles(t *testing.T) {
	t.Parallel()
	hash := hashOf("t")
	for name, test := range map[string]struct{ text, want string }{
		"carriage returns":       {"# c\r\nacme " + hash + "\r\n", ""},
		"capitals":               {"acme sha256:" + strings.ToUpper(hash[len("sha256:"):]), ""},
		"empty":                  {"", "it has no token; a line is TENANT sha256:HEX"},
		"comments":               {"# acme " + hash + "\n\n", "it has no token; a line is TENANT sha256:HEX"},
		"no tenant":              {"\n" + hash, "line 2: it is not TENANT sha256:HEX"},
		"no hash":                {"acme", "line 1: it is not TENANT sha256:HEX"},
		"a token":                {"acme secret", "line 1: the hash is not sha256: and 64 hexadecimal digits"},
		"another hash":           {"acme sha512:" + hash[7:] + hash[7:], "line 1: the hash is not sha256: and 64 hexadecimal digits"},
		"a short hash":           {"acme " + hash[:len(hash)-2], "line 1: the hash is not sha256: and 64 hexadecimal digits"},
		"a long hash":            {"acme " + hash + "00", "line 1: the hash is not sha256: and 64 hexadecimal digits"},
		"an odd digit":           {"acme " + hash[:len(hash)-1], "line 1: the hash is not sha256: and 64 hexadecimal digits"},
		"spaces":                 {"two words " + hash, "line 1: a tenant with spaces must be in quotation marks"},
		"a comment at the end":   {"acme " + hash + " # mine", "line 1: a tenant with spaces must be in quotation marks"},
		"half a quotation":       {`"acme ` + hash, "line 1: the tenant in quotation marks is not a string"},
		"two quotations":         {`"a" "b" ` + hash, "line 1: the tenant in quotation marks is not a string"},
		"a null byte":            {"ac\x00me " + hash, "line 1: the tenant has control characters or is not UTF-8"},
		"a quoted null byte":     {`"ac\x00me" ` + hash, "line 1: the tenant has control characters or is not UTF-8"},
		"a quoted line feed":     {`"a\nb" ` + hash, "line 1: the tenant has control characters or is not UTF-8"},
		"other bytes":            {"ac\xffme " + hash, "line 1: the tenant has control characters or is not UTF-8"},
		"a long tenant":          {strings.Repeat("x", MaxTenantBytes+1) + " " + hash, "line 1: the tenant has more than 1024 bytes"},
		"one token, two tenants": {"a " + hash + "\nb " + hash, "line 2: the hash is that of line 1"},
		"UTF-16":                 {"a\x00c\x00m\x00e\x00 \x00" + hash, "line 1: the tenant has control characters or is not UTF-8"},
	} {
		_, err := parseTokens([]byte(test.text))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Editors on Windows begin a file with a byte order mark. It is not part of a tenant.
func TestTokenFileMark(t *testing.T) {
	t.Parallel()
	tokens, err := parseTokens([]byte("\ufeffacme " + hashOf("t") + "\r\n"))
	if err != nil || len(tokens) != 1 || tokens[0].tenant != "acme" {
		t.Errorf("%+v, %v", tokens, err)
	}
}

// What is not a file that only its owner can change is refused at the start.
func TestTokenFileRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writable := writeTokens(t, "acme "+hashOf("t"))
	if err := os.Chmod(writable, 0o620); err != nil {
		t.Fatal(err)
	}
	large := writeTokens(t, strings.Repeat("#", maxTokenFile+1))
	for path, want := range map[string]string{
		dir:                           "not a regular file",
		filepath.Join(dir, "missing"): "no such file",
		os.DevNull:                    "not a regular file",
		writable:                      "users other than its owner can change",
		large:                         "more than 1048576 bytes",
	} {
		if _, err := New(Settings{TokenFile: path}); !errors.Is(err, ErrTokens) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// A file that has changed is read again. If it cannot be used, the old tokens stay valid, and
// the log says so once.
func TestTokenFileChanges(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	path := writeTokens(t, "acme "+hashOf("old"))
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	g := open(t, Settings{TokenFile: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	later := func() { g.tokens.read = g.tokens.read.Add(-2 * rereadAfter) }
	check := func(step, token, tenant string) {
		t.Helper()
		got := ""
		if found := g.tokens.find(token); found != nil {
			got = found.tenant
		}
		if got != tenant {
			t.Errorf("%s: token %s is that of %q", step, token, got)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check("at first", "old", "acme")
	write("other " + hashOf("new"))
	check("within a second", "new", "")
	later()
	check("later", "new", "other")
	check("later", "old", "")
	write("other")
	for range 3 {
		later()
		check("broken", "new", "other")
	}
	write("other " + hashOf("new"))
	later()
	check("mended", "new", "other")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	later()
	check("removed", "new", "other")
	write("third " + hashOf("third"))
	later()
	check("written again", "third", "third")
	text := log.String()
	if strings.Count(text, "level=ERROR") != 2 || !strings.Contains(text, "line 1: it is not TENANT sha256:HEX") || strings.Count(text, "everybody on this machine can read") != 2 || strings.Contains(text, hashOf("new")[10:]) {
		t.Errorf("the log is\n%s", text)
	}
}

// While the file is being read, requests use the tokens that are known.
func TestTokenFileHangs(t *testing.T) {
	t.Parallel()
	g := open(t, Settings{TokenFile: writeTokens(t, "acme "+hashOf("t"))})
	g.tokens.read = time.Time{}
	g.tokens.mu.Lock()
	defer g.tokens.mu.Unlock()
	if found := g.tokens.find("t"); found == nil || found.tenant != "acme" {
		t.Errorf("%+v", found)
	}
}

// When a token is removed from the file, the responses to its requests break off. Others go
// on.
func TestRevokedTokens(t *testing.T) {
	t.Parallel()
	path := writeTokens(t, "a "+hashOf("ta"), "b "+hashOf("tb"))
	g := open(t, Settings{TokenFile: path})
	server := httptest.NewServer(g.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})))
	defer server.Close()
	var bodies []io.ReadCloser
	for _, token := range []string{"ta", "tb"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		bodies = append(bodies, response.Body)
	}
	recheck := func(lines string) {
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		g.tokens.read = g.tokens.read.Add(-2 * rereadAfter)
		g.bearers.recheck()
	}
	held := func() int {
		g.bearers.mu.Lock()
		defer g.bearers.mu.Unlock()
		return len(g.bearers.open)
	}
	recheck("c " + hashOf("tc") + "\na " + hashOf("ta") + "\nb " + hashOf("tb"))
	if n := held(); n != 2 {
		t.Errorf("%d requests are open", n)
	}
	recheck("b " + hashOf("tb"))
	if _, err := io.ReadAll(bodies[0]); err != io.ErrUnexpectedEOF {
		t.Errorf("the response ended with %v", err)
	}
	recheck("broken")
	if n := held(); n != 1 {
		t.Errorf("%d requests are open", n)
	}
	recheck("c " + hashOf("tc"))
	if _, err := io.ReadAll(bodies[1]); err != io.ErrUnexpectedEOF {
		t.Errorf("the response ended with %v", err)
	}
	if n := held(); n != 0 || g.bearers.timer != nil {
		t.Errorf("%d requests are open", n)
	}
}
