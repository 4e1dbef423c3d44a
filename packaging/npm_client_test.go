//go:build dist

package packaging_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
)

// The package @p20export/client has its sources as they are committed, and asks for the
// packages with the program of its release.
func TestNpmClientFiles(t *testing.T) {
	t.Parallel()
	list := entries(t, published("p20export-client-%s.tgz", version))
	want := []string{"LICENSE", "README.md", "package.json"}
	for _, name := range strings.Fields(output(t, exec.Command("git", "-C", "../clients/typescript", "ls-files", "src"))) {
		want = append(want, name)
		if got := list["package/"+name]; string(got.data) != string(testkit.Read(t, "../clients/typescript/"+name)) || got.mode != 0o644 {
			t.Errorf("%s differs, or has the mode %v", name, got.mode)
		}
	}
	for i := range want {
		want[i] = "package/" + want[i]
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(list))); diff != "" {
		t.Errorf("the files, wanted (-) and published (+): %s", diff)
	}
	type manifest struct {
		Name, Version        string
		Exports              map[string]string
		OptionalDependencies map[string]string
	}
	read := func(tarball string) (m manifest) {
		if err := json.Unmarshal(entries(t, published("%s", tarball))["package/package.json"].data, &m, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		return m
	}
	client, program := read("p20export-client-"+version+".tgz"), read("p20export-"+version+".tgz")
	if client.Name != "@p20export/client" || client.Version != version || len(client.Exports) < 3 {
		t.Errorf("%+v", client)
	}
	if diff := cmp.Diff(program.OptionalDependencies, client.OptionalDependencies); diff != "" || len(client.OptionalDependencies) != len(systems) {
		t.Errorf("the packages with the program, those of p20export (-) and of the client (+): %s", diff)
	}
	for _, name := range client.Exports {
		declared := strings.TrimSuffix(name, ".js") + ".d.ts"
		for _, file := range []string{name, declared} {
			if _, ok := list["package/"+strings.TrimPrefix(file, "./")]; !ok {
				t.Errorf("%s is missing", file)
			}
		}
	}
}

// A project is one of a user of @p20export/client.
type project struct{ dir string }

// newProject installs @p20export/client into a project, which has a recorded run, the packages
// of clients/typescript/test/newest, and files.
func newProject(t *testing.T, files map[string]string) project {
	t.Helper()
	newest := os.Getenv("P20EXPORT_TYPESCRIPT")
	if newest == "" {
		t.Fatal("P20EXPORT_TYPESCRIPT is not set; make packages sets it and runs this test")
	}
	p, server := project{t.TempDir()}, index(t)
	output(t, exec.Command("cp", "-R", newest+"/.", p.dir))
	if err := os.CopyFS(filepath.Join(p.dir, "captures", "one-turn"), os.DirFS("../discovery/captures/agent-framework/one-turn")); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		testkit.Write(t, filepath.Join(p.dir, name), text)
	}
	// To choose a version of a peer, npm would ask the registry, which does not have it. The one
	// that is installed fits, or npm ls fails.
	output(t, command(t, p.dir, "npm", "install", "--legacy-peer-deps", "--registry", server.URL, "@p20export/client"))
	server.Close() // nothing else is downloaded
	contains(t, output(t, command(t, p.dir, "npm", "ls", "@ag-ui/client")), "@p20export/client@"+version, "@ag-ui/client@1.0.0 deduped")
	return p
}

// run returns a command that the project has.
func (p project) run(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	return command(t, p.dir, filepath.Join(p.dir, "node_modules", ".bin", name), args...)
}

// program returns the path of the program that npm installed.
func (p project) program(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(p.dir, "node_modules", "@p20export", "*", "bin", "p20export"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the programs: %q, %v", found, err)
	}
	return found[0]
}

// examples returns the blocks of a page in a language that contain a text.
func examples(page []byte, language, text string) (found []string) {
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], text) {
			found = append(found, block[1])
		}
	}
	return found
}

// example returns the example of the page of the package that contains a text.
func example(t *testing.T, text string) string {
	t.Helper()
	found := examples(entries(t, published("p20export-client-%s.tgz", version))["package/README.md"].data, "js", text)
	if len(found) != 1 {
		t.Fatalf("%d examples have %s", len(found), text)
	}
	return found[0]
}

// In a project with ES modules, the first example and those of the page for new users are valid
// TypeScript in strict mode, and get the answer from an agent behind serve, or from a recording.
func TestNpmClientTypeScript(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	agent := listening(t, p.program(t), "replay", filepath.Join(p.dir, "captures"), "--match", "input", "--speed", "0", "--ids", "request")
	serve := listening(t, p.program(t), "serve", "--store", "sqlite:"+filepath.Join(p.dir, "events.db"), "--upstream", "guide="+agent)
	start := examples(testkit.Read(t, "../docs/start/typescript.md"), "ts", "")
	if len(start) != 2 {
		t.Fatalf("docs/start/typescript.md has %d examples", len(start))
	}
	compile := []string{"--strict", "--module", "nodenext", "--target", "es2022", "--types", "node"}
	names := []string{"first", "second", "third"}
	for i, text := range append(start, example(t, "agent.connectAgent")) {
		text = strings.NewReplacer("http://127.0.0.1:8080", serve, "captures/one", "captures/one-turn", "thread-1", names[i]).Replace(text)
		testkit.Write(t, filepath.Join(p.dir, names[i]+".ts"), text)
		compile = append(compile, names[i]+".ts")
	}
	output(t, p.run(t, "tsc", compile...))
	for _, name := range names {
		if got := output(t, command(t, p.dir, "node", name+".js")); got != "The capital of France is Paris.\n" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// In a project with CommonJS, the example for node:test compares a recording with goldens, and
// Node.js can require what it imports.
func TestNpmClientCommonJS(t *testing.T) {
	t.Parallel()
	text := example(t, `require("node:test")`)
	const imported = `await import("@p20export/client/testing")`
	p := newProject(t, map[string]string{
		"agent.test.js":    text,
		"required.test.js": strings.ReplaceAll(text, imported, `require("@p20export/client/testing")`),
	})
	output(t, command(t, p.dir, "npm", "pkg", "delete", "type"))
	test := func(file string, env ...string) *exec.Cmd {
		cmd := command(t, p.dir, "node", "--test", file)
		cmd.Env = append(cmd.Env, env...)
		return cmd
	}
	contains(t, failing(t, 1, test("agent.test.js")), `P20EXPORT_WRITE_GOLDEN="why they change"`)
	output(t, test("agent.test.js", "P20EXPORT_WRITE_GOLDEN=the first goldens"))
	contains(t, output(t, test("agent.test.js")), "pass 1\n", "fail 0\n")
	contains(t, output(t, test("required.test.js")), "pass 1\n", "fail 0\n")
	if err := os.Rename(filepath.Join(p.dir, "captures"), filepath.Join(p.dir, "former")); err != nil {
		t.Fatal(err)
	}
	other := os.DirFS("../discovery/captures/agent-framework/unicode")
	if err := os.CopyFS(filepath.Join(p.dir, "captures", "one-turn"), other); err != nil {
		t.Fatal(err)
	}
	contains(t, failing(t, 1, test("agent.test.js")), "TEXT_MESSAGE_CONTENT")
}

// Playwright's example shows a page what a recorded run says.
func TestNpmClientPlaywright(t *testing.T) {
	t.Parallel()
	const page = `<!doctype html><p></p><script>
fetch(new URLSearchParams(location.search).get("agent"), {method: "POST", headers: {"Content-Type": "application/json"}, body: "{}"})
  .then((response) => response.text())
  .then((text) => document.querySelector("p").append(...[...text.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta)));
</script>`
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) }))
	t.Cleanup(pages.Close)
	chromium := strings.TrimSpace(output(t, exec.Command("../discovery/report/chromium.sh")))
	settings, err := json.Marshal(map[string]any{"reporter": "line", "workers": 1, "use": map[string]any{
		"baseURL":       pages.URL,
		"launchOptions": map[string]any{"executablePath": chromium, "args": []string{"--no-sandbox"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p := newProject(t, map[string]string{
		"page.spec.js":         example(t, "@playwright/test"),
		"playwright.config.js": "export default " + string(settings),
	})
	contains(t, output(t, p.run(t, "playwright", "test")), "1 passed")
}
