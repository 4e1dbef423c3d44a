//go:build dist || roots

package packaging_test

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"github.com/p20export/p20export/internal/testkit"
)

// index serves what was published as the package indexes of pip and npm do.
func index(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.Handle("GET /files/", http.StripPrefix("/files/", http.FileServer(http.Dir(dist))))
	mux.HandleFunc("GET /simple/p20export/", func(w http.ResponseWriter, _ *http.Request) { // PEP 503
		files, _ := os.ReadDir(dist)
		w.Header().Set("Content-Type", "text/html")
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".whl") || f.Name() == "p20export-"+version+".tar.gz" {
				fmt.Fprintf(w, "<a href=\"/files/%s\">%[1]s</a>\n", f.Name())
			}
		}
	})
	mux.HandleFunc("GET /simple/p20export-vectors/", func(w http.ResponseWriter, _ *http.Request) {
		found, _ := filepath.Glob(published("p20export_vectors-*.whl"))
		w.Header().Set("Content-Type", "text/html")
		for _, f := range found {
			fmt.Fprintf(w, "<a href=\"/files/%s\">%[1]s</a>\n", filepath.Base(f))
		}
	})
	packages := map[string]string{"/p20export": "p20export-" + version + ".tgz", "/@p20export/client": "p20export-client-" + version + ".tgz"}
	for _, system := range []string{"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64", "win32-arm64"} {
		packages["/@p20export/"+system] = "p20export-" + system + "-" + version + ".tgz"
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, q *http.Request) { // npm's registry
		name, ok := packages[q.URL.Path]
		if !ok {
			http.NotFound(w, q)
			return
		}
		data := testkit.Read(t, published("%s", name))
		sum := sha512.Sum512(data)
		var manifest map[string]jsontext.Value
		if err := json.Unmarshal(entries(t, published("%s", name))["package/package.json"].data, &manifest); err != nil {
			t.Error(err)
			return
		}
		manifest["dist"] = jsontext.Value(fmt.Sprintf(`{"tarball":%q,"integrity":"sha512-%s"}`, server.URL+"/files/"+name, base64.StdEncoding.EncodeToString(sum[:])))
		_ = json.MarshalWrite(w, map[string]any{"name": strings.TrimPrefix(q.URL.Path, "/"), "dist-tags": map[string]string{"latest": version}, "versions": map[string]any{version: manifest}})
	})
	return server
}

// recorded answers as recorded runs of an integration did, and returns its URL.
func recorded(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "p20export")
	name := "p20export_" + version + "_" + host()
	testkit.Write(t, bin, entries(t, published("%s.tar.gz", name))[name+"/p20export"].data)
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	return listening(t, bin, "replay", "../discovery/captures/adk", "--match", "input", "--speed", "0", "--ids", "request")
}

// listening starts a server of the program, which ends with the test, and returns its URL.
func listening(t *testing.T, bin string, args ...string) string {
	t.Helper()
	cmd := exec.Command(bin, append(args, "--listen", "127.0.0.1:0", "--log-format", "json")...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	log := bufio.NewScanner(stderr)
	for log.Scan() {
		var line struct{ Msg, Address string }
		if json.Unmarshal(log.Bytes(), &line, json.MatchCaseInsensitiveNames(true)) == nil && line.Address != "" {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return "http://" + line.Address
		}
	}
	t.Fatalf("%s %s does not listen", bin, args[0])
	return ""
}

// agent serves a recorded run, and returns its URL.
func agent(t *testing.T) string {
	t.Helper()
	stream := testkit.Read(t, "../discovery/captures/adk/one-turn/response.sse")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(stream)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// pip installs the wheel into an empty environment, in a project that has neither Go nor this
// repository. The program, the module and its rows work, and nothing else is downloaded.
func TestPip(t *testing.T) {
	t.Parallel()
	dir, server := t.TempDir(), index(t)
	python := os.Getenv("P20EXPORT_PACKAGES_PYTHON")
	output(t, command(t, dir, python, "-m", "venv", "venv"))
	in := func(name string, args ...string) *exec.Cmd {
		return command(t, dir, filepath.Join(dir, "venv", "bin", name), args...)
	}
	output(t, in("pip", "install", "--quiet", "--index-url", server.URL+"/simple/", "p20export"))
	server.Close() // everything works offline from here
	contains(t, output(t, in("p20export", "--version")), "p20export "+version+" (commit ")
	contains(t, output(t, in("python", "-m", "p20export", "version")), "p20export "+version)
	contains(t, output(t, in("python", "-I", "-c", "import p20export; print(p20export.binary(), p20export.__version__)")), filepath.Join(dir, "venv", "bin", "p20export")+" "+version)
	const rows = `
import sys, p20export
for row in p20export.rows("lint", sys.argv[1]):
    print(row.type, row["verdict"], row.passed, row.nothing, [f.code for f in row.findings])
try:
    list(p20export.rows("lint", "missing.sse"))
except p20export.CommandError as error:
    print("status", error.status)
print(p20export.run("explain", "NOSUCH", capture_output=True).returncode)
print([row.verdict for row in p20export.rows("lint", "--", "-x.sse")])`
	testkit.Write(t, filepath.Join(dir, "-x.sse"), testkit.SSE(`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`, `{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`))
	contains(t, output(t, in("python", "-c", rows, agent(t))), "lint accepted True None [", "status 3\n2\n", "['accepted']\n")
	contains(t, output(t, in("pip", "check")), "No broken requirements")
	contains(t, output(t, in("pip", "show", "--files", "p20export")), "License", "bin/p20export", "p20export/py.typed", "licenses/THIRD-PARTY-NOTICES.txt", "sboms/p20export.cdx.json")
	failing(t, 1, in("python", "-m", "p20export", "lint", "/dev/null"))
	older := filepath.Join(dir, ".local", "bin", "p20export")
	if err := os.MkdirAll(filepath.Dir(older), 0o755); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, older, "#!/bin/sh\necho older\n")
	contains(t, output(t, in("python", "-m", "p20export", "version")), "p20export "+version)
	if err := os.Rename(filepath.Join(dir, "venv", "bin", "p20export"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(older); err != nil {
		t.Fatal(err)
	}
	contains(t, failing(t, 3, in("python", "-m", "p20export", "version")), "install the package again")
	if err := os.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "venv", "bin", "p20export")); err != nil {
		t.Fatal(err)
	}
	output(t, in("pip", "uninstall", "--quiet", "--yes", "p20export"))
	if left, _ := filepath.Glob(filepath.Join(dir, "venv", "*", "p20export*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// The other ways of pip to install find the program, too.
func TestPipElsewhere(t *testing.T) {
	t.Parallel()
	python := os.Getenv("P20EXPORT_PACKAGES_PYTHON")
	for _, test := range []struct {
		name string
		args []string
		path string
	}{
		{"target", []string{"--target", "lib"}, "lib"},
		{"prefix", []string{"--prefix", "prefix"}, "prefix/lib/python*/site-packages"},
		{"user", []string{"--user"}, ""},
	} {
		dir := t.TempDir()
		install := command(t, dir, python, append([]string{"-m", "pip", "install", "--quiet", "--no-warn-script-location", "--break-system-packages", "--no-index", "--find-links", dist, "p20export"}, test.args...)...)
		if test.name == "user" {
			install.Args[0], install.Path = systemPython(t), systemPython(t)
		}
		output(t, install)
		run := command(t, dir, install.Path, "-m", "p20export", "--version")
		if test.path != "" {
			found, _ := filepath.Glob(filepath.Join(dir, test.path))
			if len(found) != 1 {
				t.Fatalf("%s: %q", test.name, found)
			}
			run.Env = append(run.Env, "PYTHONPATH="+found[0])
		}
		contains(t, output(t, run), "p20export "+version)
	}
}

// systemPython returns the path of a Python that is not in a virtual environment.
func systemPython(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(output(t, exec.Command(os.Getenv("P20EXPORT_PACKAGES_PYTHON"), "-c", "import os, sys; print(os.path.realpath(sys.executable))")))
}

// The source distribution installs the release with Go, and says what is needed without it.
func TestPipWithoutWheel(t *testing.T) {
	t.Parallel()
	dir, server := t.TempDir(), index(t)
	install := func() *exec.Cmd {
		return command(t, dir, os.Getenv("P20EXPORT_PACKAGES_PYTHON"), "-m", "pip", "install", "--target", "lib", "--index-url", server.URL+"/simple/", "--no-binary", ":all:", "p20export")
	}
	without := install()
	without.Env = append(without.Env, "PATH="+dir)
	contains(t, failing(t, 1, without), "has no wheel for", "go install github.com/p20export/p20export/cmd/p20export@v"+version)
	with := install()
	with.Env = append(with.Env, "PATH="+filepath.Join(goEnv(t, "GOROOT"), "bin")+":/usr/bin:/bin", "GOMODCACHE="+filepath.Join(dir, "modules"), "GOCACHE="+goEnv(t, "GOCACHE"), "GOFLAGS=-modcacherw", "GONOSUMDB=*", "GONOSUMCHECK=1",
		"GOPROXY=file://"+goProxy(t)+",file://"+goEnv(t, "GOMODCACHE")+"/cache/download,"+goEnv(t, "GOPROXY"))
	output(t, with)
	run := command(t, dir, os.Getenv("P20EXPORT_PACKAGES_PYTHON"), "-m", "p20export", "--version")
	run.Env = append(run.Env, "PYTHONPATH="+filepath.Join(dir, "lib"))
	contains(t, output(t, run), "p20export "+version+" (module sum h1:")
}

// The tests of the Python package pass with the wheel: in scripts, in pytest with a FastAPI app,
// and against serve. Type checkers know its functions.
func TestPipClient(t *testing.T) {
	t.Parallel()
	wheels, err := filepath.Glob(published("p20export-%s-py3-none-manylinux*_x86_64.whl", version))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("%q, %v", wheels, err)
	}
	output(t, exec.Command("../clients/python/test.sh", os.Getenv("P20EXPORT_CLIENTS_PYTHON"), wheels[0], "-k", "not every_event"))
}

// uvx runs the program without installing it.
func TestUvx(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	uvx := filepath.Join(filepath.Dir(os.Getenv("P20EXPORT_PACKAGES_PYTHON")), "uvx")
	cmd := command(t, dir, uvx, "--python", os.Getenv("P20EXPORT_PACKAGES_PYTHON"), "--no-index", "--find-links", dist, "p20export", "lint", agent(t), "--off", "W20")
	contains(t, output(t, cmd), "accepted ")
}

// npm installs the program for this system, and npx runs it, in a project that has neither Go
// nor this repository. Nothing is downloaded when it runs.
func TestNpm(t *testing.T) {
	t.Parallel()
	dir, server := t.TempDir(), index(t)
	testkit.Write(t, filepath.Join(dir, "package.json"), `{"name":"project","private":true}`)
	output(t, command(t, dir, "npm", "install", "--save-dev", "--registry", server.URL, "p20export"))
	server.Close()
	contains(t, output(t, command(t, dir, "npx", "--offline", "p20export", "--version")), "p20export "+version+" (commit ")
	contains(t, output(t, command(t, dir, "npx", "--offline", "p20export", "lint", agent(t), "--off", "W20")), "accepted ")
	failing(t, 1, command(t, dir, "npx", "--offline", "p20export", "lint", "/dev/null"))
	contains(t, output(t, command(t, dir, "node", "-p", `require("child_process").execFileSync(require("p20export").binary, ["version"]).toString()`)), version)
	if found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "@p20export", "*")); len(found) != 1 {
		t.Errorf("installed: %q", found)
	}
	// A signal to the launcher alone ends the program.
	serve := command(t, dir, "node", filepath.Join(dir, "node_modules", "p20export", "bin", "p20export.js"), "replay", filepath.Join(root(t), "discovery/captures/adk/one-turn"), "--listen", "127.0.0.1:0")
	stderr, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 1<<10)
	n, _ := stderr.Read(line)
	contains(t, string(line[:n]), "listening")
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = new(bytes.Buffer).ReadFrom(stderr) }()
	if err := serve.Wait(); err != nil {
		t.Errorf("after a signal: %v", err)
	}
	// Without the package for the system, it says what to do.
	if err := os.RemoveAll(filepath.Join(dir, "node_modules", "@p20export")); err != nil {
		t.Fatal(err)
	}
	contains(t, failing(t, 3, command(t, dir, "npx", "--offline", "p20export", "--version")), "is not installed", "--omit=optional")
}

// root returns the root of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// shellBlock matches a block of commands.
var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// commands returns the commands of a page of docs/start.
func commands(t *testing.T, page string) (script string) {
	t.Helper()
	for _, block := range shellBlock.FindAllStringSubmatch(string(testkit.Read(t, filepath.Join("..", "docs", "start", page+".md"))), -1) {
		script += block[1]
	}
	return script
}

// goProxy returns a directory that is a module proxy which has the module of HEAD as a release.
func goProxy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	const module = "github.com/p20export/p20export"
	at := filepath.Join(dir, module, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	commit := strings.TrimSpace(output(t, exec.Command("git", "rev-parse", "HEAD")))
	testkit.Write(t, filepath.Join(at, "v"+version+".info"), fmt.Sprintf(`{"Version":"v%s","Time":"2026-11-28T00:00:00Z"}`, version))
	testkit.Write(t, filepath.Join(at, "list"), "v"+version+"\n")
	testkit.Write(t, filepath.Join(at, "v"+version+".mod"), testkit.Read(t, "../go.mod"))
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	files := output(t, exec.Command("git", "-C", "..", "ls-tree", "-r", "-z", "--name-only", commit))
	nested := map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimSuffix(files, "\x00"), "\x00") {
		if path.Base(name) == "go.mod" && path.Dir(name) != "." {
			nested[path.Dir(name)] = true
		}
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(files, "\x00"), "\x00") {
		skip := false
		for d := path.Dir(name); d != "."; d = path.Dir(d) {
			skip = skip || nested[d]
		}
		if skip {
			continue
		}
		w, err := z.Create(module + "@v" + version + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(testkit.Read(t, filepath.Join("..", name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.Write(t, filepath.Join(at, "v"+version+".zip"), out.Bytes())
	return dir
}

// goEnv returns the value of a variable of the go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(output(t, exec.Command("go", "env", name)))
}

// go install by version makes a program that says its version and the sum of its module. The
// other commands of the page for Go developers are run as they are printed.
func TestGoInstall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := "set -ex\n" + commands(t, "go")
	script = strings.NewReplacer("0.2.0", version, "http://127.0.0.1:8000", recorded(t)).Replace(script)
	run := exec.Command("bash", "-c", script)
	run.Dir = filepath.Join(dir, "new")
	if err := os.Mkdir(run.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run.Env = append(os.Environ(), "GOPATH="+filepath.Join(dir, "go"), "GOBIN=", "GOMODCACHE="+filepath.Join(dir, "modules"), "GOFLAGS=-modcacherw -trimpath", "GONOSUMDB=*", "GONOSUMCHECK=1",
		"GOPROXY=file://"+goProxy(t)+",file://"+goEnv(t, "GOMODCACHE")+"/cache/download,"+goEnv(t, "GOPROXY"))
	if out := output(t, run); !strings.HasSuffix(out, "\nfrozen\n") {
		t.Error(out)
	}
	got := output(t, exec.Command(filepath.Join(dir, "go", "bin", "p20export"), "--version"))
	contains(t, got, "p20export "+version+" (module sum h1:")
}

// The package of the vectors has a runner and a reference, which agree.
func TestVectorsPackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	output(t, command(t, dir, os.Getenv("P20EXPORT_PACKAGES_PYTHON"), "-m", "venv", "venv"))
	in := func(name string, args ...string) *exec.Cmd {
		return command(t, dir, filepath.Join(dir, "venv", "bin", name), args...)
	}
	output(t, in("pip", "install", "--quiet", "--no-index", "--find-links", dist, "p20export-vectors"))
	contains(t, output(t, in("python", "-m", "p20export_vectors", "run", "--jobs", "2", "--server", filepath.Join(dir, "venv", "bin", "python")+" -m p20export_vectors validate --serve")), "passed")
	contains(t, failing(t, 2, in("python", "-m", "p20export_vectors")), "tests a validator")
	found, _ := filepath.Glob(published("p20export-vectors_*.tar.zst"))
	if len(found) != 1 {
		t.Fatalf("%q", found)
	}
	r, err := zstd.NewReader(bytes.NewReader(testkit.Read(t, found[0])))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	inside := map[string][]byte{}
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if inside[h.Name], err = io.ReadAll(a); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range inside {
		if path.Base(name) != "manifest.json" {
			continue
		}
		var manifest struct {
			Files []struct{ Name, SHA256 string }
		}
		if err := json.Unmarshal(data, &manifest, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		for _, f := range manifest.Files {
			sum := sha256.Sum256(inside[path.Join(path.Dir(name), f.Name)])
			if hex.EncodeToString(sum[:]) != f.SHA256 {
				t.Errorf("%s has another digest", f.Name)
			}
		}
		if len(manifest.Files) != len(inside)-1 || len(inside) < 1700 {
			t.Errorf("the manifest has %d files of %d", len(manifest.Files), len(inside))
		}
	}
}
